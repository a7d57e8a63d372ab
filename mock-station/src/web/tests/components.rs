use super::browser::BRIDGE;
use super::fixture::Fixture;
use crate::web::bql::{self, QueryError};
use crate::web::table::Cell;

/// The rows of a query as texts, without units.
fn rows(ord: &str) -> Vec<Vec<String>> {
    try_rows(ord).unwrap_or_else(|error| panic!("{ord}: {error}"))
}

fn try_rows(ord: &str) -> Result<Vec<Vec<String>>, QueryError> {
    let fixture = Fixture::new();
    let station = fixture.context.station.read();
    let user = station.users.get(BRIDGE.user).expect("the account exists");
    let table = bql::run(&station, user, ord)?;
    let reader = crate::model::DisplayContext::of(user, &station).without_units();
    Ok(table
        .rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| match cell {
                    Cell::Missing => String::new(),
                    Cell::Null => "null".to_owned(),
                    Cell::Value { value, facets } => {
                        crate::model::display::display(value, facets, &reader)
                    }
                })
                .collect()
        })
        .collect())
}

fn names(condition: &str) -> Vec<String> {
    rows(&format!(
        "station:|slot:/Points|bql:select name from control:ControlPoint {condition}"
    ))
    .into_iter()
    .map(|mut row| row.remove(0))
    .collect()
}

#[test]
fn identity_columns_are_read() {
    assert_eq!(
        rows(
            "station:|slot:/Points|bql:select name, displayName, type, slotPath, navOrd, \
             parent.name, parent.slotPath, toPathString, toDisplayPathString \
             from control:StringWritable"
        ),
        [[
            "Zone$201",
            "Zone 1",
            "control:StringWritable",
            "slot:/Points/Zone$201",
            "local:|station:|slot:/Points/Zone$201",
            "Points",
            "slot:/Points",
            "/Points/Zone$201",
            "/Test/Points/Zone 1",
        ]]
    );
}

#[test]
fn handles_resolve_back_to_their_component() {
    let handle = rows("slot:/Points|bql:select handle from control:BooleanWritable").remove(0);
    assert!(handle[0].starts_with("h:"));
    assert_eq!(
        rows(&format!("station:|{}|bql:select name from *", handle[0]))[0],
        ["Fan"]
    );
}

#[test]
fn point_columns_show_value_status_and_level() {
    assert_eq!(
        rows(
            "station:|slot:/Points|bql:select name, out, out.value, out.status, status, \
             out.status.overridden from control:ControlPoint"
        ),
        [
            [
                "AHU1_SAT",
                "1,072.6 {ok} @ def",
                "1,072.6",
                "{ok}",
                "{ok}",
                "false"
            ],
            ["Inner", "- {null}", "0.0", "{null}", "{null}", "false"],
            ["OAT", "-5.0 {ok} @ 10", "-5.0", "{ok}", "{ok}", "false"],
            [
                "Fan",
                "On, running {ok} @ 8",
                "On, running",
                "{ok}",
                "{ok}",
                "false"
            ],
            [
                "Mode",
                "not occupied {ok} @ def",
                "not occupied",
                "{ok}",
                "{ok}",
                "false"
            ],
            [
                "Zone$201",
                "say \"hi\" {x} {ok} @ def",
                "say \"hi\" {x}",
                "{ok}",
                "{ok}",
                "false"
            ],
        ]
    );
}

#[test]
fn a_missing_slot_is_an_empty_cell_and_an_unknown_type_an_error() {
    assert_eq!(
        rows("slot:/Points|bql:select nothing, in8.value, a.b.c from control:StringWritable"),
        [["", "", ""]]
    );
    for query in [
        "select name from no:Type",
        "select name from control:ControlPoint where type = no:Type",
        "select name from control:ControlPoint where x = alarm:SourceState.nonsense",
        "select name",
        "select name from openAlarms",
        "select name from control:ControlPoint order",
        "select name from control:ControlPoint where t in bqltime.someday",
        "select name, COUNT(*) from control:ControlPoint",
    ] {
        let outcome = try_rows(&format!("station:|slot:/|bql:{query}"));
        assert!(
            matches!(outcome, Err(QueryError::Invalid(_))),
            "{query}: {outcome:?}"
        );
    }
}

#[test]
fn the_base_is_included_and_bounds_the_subtree() {
    let at = "station:|slot:/Points/AHU1_SAT|bql:select name from control:ControlPoint";
    assert_eq!(rows(at), [["AHU1_SAT"], ["Inner"]]);
    assert_eq!(rows(&format!("{at} stop")), [["AHU1_SAT"]]);
    assert_eq!(
        rows("station:|slot:/|bql:select stationName from baja:Station"),
        [["Test"]]
    );
    assert_eq!(
        rows("station:|bql:select stationName from baja:Station"),
        [["Test"]]
    );
    assert!(rows("slot:/|bql:select name from *").len() > 20);
}

#[test]
fn conditions_filter_rows() {
    for (condition, expected) in [
        ("where name like 'AHU*'", vec!["AHU1_SAT"]),
        ("where name like 'ahu*'", vec![]),
        (
            "where out.value < 0 and type = control:NumericWritable",
            vec!["OAT"],
        ),
        ("where out.value = true", vec!["Fan"]),
        ("where out.value = 'not$20occupied'", vec!["Mode"]),
        ("where out.status.null", vec!["Inner"]),
        (
            "where not out.status.null and out.value > 0",
            vec!["AHU1_SAT", "Mode"],
        ),
        (
            "where overrideExpiration = null and out.value < 0",
            vec!["OAT"],
        ),
        ("where parent.name = 'AHU1_SAT'", vec!["Inner"]),
        ("where type = 'control:BooleanWritable'", vec!["Fan"]),
        ("where out.value + 10 * 2 = 15", vec!["OAT"]),
        (
            "where slotExists('in8') and name != 'Fan' and type = control:EnumWritable",
            vec!["Mode"],
        ),
        ("where name = 'Fan' or name = 'Mode'", vec!["Fan", "Mode"]),
    ] {
        assert_eq!(names(condition), expected, "{condition}");
    }
}

#[test]
fn order_top_and_distinct_shape_the_result() {
    assert_eq!(
        names("order by name desc"),
        ["Zone$201", "OAT", "Mode", "Inner", "Fan", "AHU1_SAT"]
    );
    assert_eq!(
        rows("slot:/Points|bql:select top 2 name as 'N' from control:ControlPoint order by N"),
        [["AHU1_SAT"], ["Fan"]]
    );
    assert_eq!(
        rows("slot:/Points|bql:select top 1 name from control:ControlPoint"),
        [["AHU1_SAT"]]
    );
    assert_eq!(
        rows("slot:/Points|bql:select distinct type from control:ControlPoint order by type"),
        [
            ["control:BooleanWritable"],
            ["control:EnumWritable"],
            ["control:NumericWritable"],
            ["control:StringWritable"]
        ]
    );
    assert_eq!(
        rows(
            "slot:/Points|bql:select name from control:NumericWritable order by out.value desc, name"
        ),
        [["AHU1_SAT"], ["Inner"], ["OAT"]]
    );
}

#[test]
fn aggregates_run_over_all_rows() {
    assert_eq!(
        rows(
            "slot:/Points|bql:select COUNT(*), SUM(in10.value), MIN(out.value), max(out.value), \
             AVG(in10.value) from control:NumericWritable"
        ),
        [["3", "-5.00", "-5.00", "1,072.56", "-1.67"]]
    );
    assert_eq!(
        rows("slot:/Points|bql:select COUNT(nothing) from control:NumericWritable"),
        [["0"]]
    );
    let having = |limit: usize| {
        rows(&format!(
            "slot:/Points|bql:select COUNT(*) from control:NumericWritable having COUNT(*) > {limit}"
        ))
    };
    assert_eq!(having(2), [["3"]]);
    assert!(having(3).is_empty());
}

#[test]
fn the_longest_and_deepest_accepted_condition_runs_on_a_small_stack() {
    let chain = vec!["name = 'x'"; 5_000].join(" or ");
    let sum = vec!["1"; 60].join(" + ");
    let nested = format!("{}name = 'Fan'{}", "(".repeat(28), ")".repeat(28));
    let tower = (0..4).fold("0".to_owned(), |inner, _| format!("({inner}) + {sum}"));
    let condition = format!("where {nested} and ({tower}) = 240 or {chain}");
    assert_eq!(names(&condition), ["Fan"]);
}

#[test]
fn headers_come_from_the_alias_or_the_last_step() {
    let fixture = Fixture::new();
    let station = fixture.context.station.read();
    let user = station.users.get(BRIDGE.user).expect("the account exists");
    let ord = "slot:/Points|bql:select slotPath as 'My, path', out.value, out.status from control:NumericPoint";
    let table = bql::run(&station, user, ord).expect("a table");
    let described: Vec<(&str, &str, &str)> = table
        .columns
        .iter()
        .map(|c| (c.name.as_str(), c.display.as_str(), c.type_spec.as_str()))
        .collect();
    assert_eq!(
        described,
        [
            ("slotPath", "My, path", "baja:String"),
            ("out.value", "Value", "baja:Double"),
            ("out.status", "Status", "baja:Status"),
        ]
    );
}
