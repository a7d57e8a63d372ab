use http::StatusCode;

use super::browser::{BRIDGE, Browser, p2, text};
use super::fixture::Fixture;
use crate::switches::{CsvDialect, ExportLocale, MachineMode, Switches};

const POINTS: &str = "station:|slot:/Points|bql:select name, out, out.value from control:ControlPoint where name != 'Inner'";

fn csv(ord: &str, edit: impl FnOnce(&mut Switches)) -> String {
    let fixture = Fixture::new();
    fixture.change(edit);
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let answer = user.csv(ord);
    assert_eq!(answer.status, StatusCode::OK, "{ord}: {}", text(&answer));
    assert_eq!(answer.headers["content-type"], "text/csv;charset=utf-8");
    text(&answer)
}

fn bare(edit: impl FnOnce(&mut Switches)) -> String {
    csv(&format!("{POINTS}|view:file:ITableToCsv"), edit)
}

#[test]
fn the_plain_exporter_writes_display_texts_behind_a_mark() {
    assert_eq!(
        bare(|_| {}),
        "\u{FEFF}Name,Out,Value\n\
         AHU1_SAT,\"1,072.6 {ok} @ def\",\"1,072.6\"\n\
         OAT, -5.0 {ok} @ 10, -5.0\n\
         Fan,\"On, running {ok} @ 8\",\"On, running\"\n\
         Mode,not occupied {ok} @ def,not occupied\n\
         Zone$201,\"say \"\"hi\"\" {x} {ok} @ def\",\"say \"\"hi\"\" {x}\"\n"
    );
}

#[test]
fn defaults_of_mark_line_end_units_guard_and_locale_are_switches() {
    assert!(bare(|s| s.export.byte_order_mark = false).starts_with("Name,"));
    assert_eq!(bare(|s| s.export.crlf = true).matches("\r\n").count(), 6);
    assert!(bare(|s| s.export.units_in_cells = true).contains("\"1,072.6 °F {ok} @ def\""));
    assert!(bare(|s| s.export.injection_guard = false).contains("OAT,-5.0 {ok}"));
    let german = bare(|s| s.export.locale = Some(ExportLocale::German));
    assert!(
        german.contains("AHU1_SAT,\"1.072,6 {ok} @ def\",\"1.072,6\""),
        "{german}"
    );
}

#[test]
fn the_legacy_dialect_quotes_all_but_plain_values() {
    let legacy = bare(|s| s.export.dialect = CsvDialect::Legacy);
    assert!(legacy.contains("\"AHU1_SAT\",\"1,072.6 {ok} @ def\",\"1,072.6\"\n"));
    assert!(legacy.contains("\"OAT\",\" -5.0 {ok} @ 10\", -5.0\n"));
    assert!(legacy.contains("\"say \"hi\" {x} {ok} @ def\""));
}

#[test]
fn parameters_override_the_defaults() {
    let with = |parameters: &str| {
        csv(
            &format!("{POINTS}|view:file:ITableToCsv?{parameters}"),
            |_| {},
        )
    };
    assert!(with("includeHeaders=false;includeBOM=false").starts_with("AHU1_SAT,"));
    assert!(with("useCRLF=true").contains("\r\n"));
    assert!(with("delimiter=;").contains("Name;Out;Value\n"));
    assert!(with("delimiter=\t").contains("Name\tOut\tValue\n"));
    assert!(with("facets=precision=i:0").contains("\"1,073 {ok} @ def\""));
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let named = user.csv(&format!("{POINTS}|view:file:ITableToCsv?fileName=a\"b.csv"));
    assert_eq!(
        named.headers["content-disposition"],
        "attachment; filename=\"a_b.csv\""
    );
    let wrong = user.csv(&format!(
        "{POINTS}|view:file:ITableToCsv?includeBOM=perhaps"
    ));
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
}

#[test]
fn machine_mode_encodes_simples_and_leaves_structs_as_text() {
    let ord = "station:|slot:/Points|bql:select name, out, out.value, out.status, facets from control:ControlPoint where name != 'Inner'|view:file:ITableToCsv?encodeToString=true;includeBOM=false";
    let lines: Vec<String> = csv(ord, |_| {}).lines().map(str::to_owned).collect();
    assert!(lines[1].starts_with(
        "AHU1_SAT,\"1,072.6 {ok} @ def\",1072.56,0;activeLevel=e:17@control:PriorityLevel,"
    ));
    assert!(lines[1].contains("units=u:fahrenheit;°F;"));
    assert!(
        lines[2].starts_with("OAT, -5.0 {ok} @ 10, -5.0,0;activeLevel=e:10@control:PriorityLevel,")
    );
    assert!(lines[3].starts_with("Fan,\"On, running {ok} @ 8\",true,"));
    assert!(lines[4].contains(",\"1@{off=0,not$20occupied=1}\","));
}

#[test]
fn a_station_without_machine_mode_refuses_parameters_and_takes_the_bare_exporter() {
    let fixture = Fixture::new();
    fixture.change(|s| s.export.machine_mode = MachineMode::Refused);
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let with = format!("{POINTS}|view:file:ITableToCsv?encodeToString=true;includeBOM=false");
    assert_eq!(user.csv(&with).status, StatusCode::BAD_REQUEST);
    assert_eq!(
        user.csv(&format!("{POINTS}|view:file:ITableToCsv")).status,
        StatusCode::OK
    );
}

#[test]
fn the_csv_exporter_can_be_missing_and_html_remains() {
    let fixture = Fixture::new();
    fixture.change(|s| s.export.csv_exporter = false);
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let csv = user.csv(&format!("{POINTS}|view:file:ITableToCsv"));
    assert_eq!(csv.status, StatusCode::NOT_FOUND);
    for view in ["view:file:ITableToHtml", "view:?fullScreen=true"] {
        let page = text(&user.get(&p2(&format!("{POINTS}|{view}"))));
        assert!(page.contains("<table class='fill'>"), "{view}");
        assert!(page.contains("<th>Name</th><th>Out</th><th>Value</th><th class='fill'></th>"));
        assert!(page.contains(
            "<td>AHU1_SAT</td><td>1,072.6 °F {ok} @ def</td><td>1,072.6 °F</td><td class='fill'></td>"
        ));
    }
}

#[test]
fn an_empty_result_is_the_header_line() {
    let ord = "station:|slot:/|bql:select name, type from baja:Component where name = 'nothing'|view:file:ITableToCsv?includeBOM=false";
    assert_eq!(csv(ord, |_| {}), "Name,Type\n");
}

#[test]
fn times_follow_the_reader_or_the_switch() {
    let ord = "history:/Test/Fan|bql:select top 1 timestamp, value|view:file:ITableToCsv?includeBOM=false;includeHeaders=false";
    assert_eq!(csv(ord, |_| {}), "12-Mar-24 9:00:00 AM EDT,On\n");
    assert_eq!(
        csv(ord, |s| s.export.time_zone = Some(chrono_tz::UTC)),
        "12-Mar-24 1:00:00 PM UTC,On\n"
    );
}

#[test]
fn special_numbers_are_words() {
    let fixture = Fixture::new();
    {
        let mut station = fixture.context.station.write();
        let point = station
            .resolve_component("slot:/Points/OAT")
            .expect("the point exists");
        for (level, number) in [
            ("in1", f64::NAN),
            ("in2", f64::INFINITY),
            ("in3", f64::NEG_INFINITY),
        ] {
            let value = crate::model::Value::status_numeric(number, crate::model::Status::ok());
            station.set(point, level, value).expect("the input exists");
        }
    }
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let ord = "station:|slot:/Points/OAT|bql:select in1.value, in2.value, in3.value, in3 from control:NumericWritable|view:file:ITableToCsv?includeBOM=false;includeHeaders=false";
    assert_eq!(text(&user.csv(ord)), "nan, +inf, -inf, -inf {ok}\n");
}
