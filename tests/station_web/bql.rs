//! Queries: URL forms, limits, errors, and values equal to what the station holds.

use mock_station::server::RequestEntry;
use mock_station::switches::{OrdForms, Switches};
use niagara_bridge::station::ord::SlotPath;
use niagara_bridge::station::web::ord_url::UrlForm;
use niagara_bridge::station::web::query::literal;
use niagara_bridge::station::web::{Bql, LoginScheme, TableEnd, TableQuery};

use crate::{Bench, SCHEMES, scope};

const NONE: OrdForms = OrdForms {
    encoded_path: false,
    literal_path: false,
    query: false,
};

fn folder_query() -> TableQuery {
    TableQuery::new(
        "slot:/",
        "select slotPath from baja:Component where name like 'AHU*'",
    )
    .unwrap()
}

#[tokio::test]
async fn each_url_form_alone_is_found_and_remembered() {
    let alone = [
        (
            UrlForm::PathLiteral,
            OrdForms {
                literal_path: true,
                ..NONE
            },
        ),
        (
            UrlForm::PathEncoded,
            OrdForms {
                encoded_path: true,
                ..NONE
            },
        ),
        (
            UrlForm::Query,
            OrdForms {
                query: true,
                ..NONE
            },
        ),
    ];
    for scheme in SCHEMES {
        for (form, forms) in alone {
            let mut switches = Switches::default();
            switches.ord.forms = forms;
            let bench = Bench::new(scheme, switches).await;
            let bql = Bql::new(bench.session.clone());
            let table = bql.query(&folder_query(), &scope()).await.unwrap();
            let path = |row: &niagara_bridge::station::web::Row| row.cell(0).text().to_owned();
            let paths: Vec<String> = table.rows.iter().map(path).collect();
            assert!(
                paths.contains(&"slot:/Drivers/BacnetNetwork/AHU_1".to_owned()),
                "{scheme:?} {form}: {paths:?}"
            );
            assert_eq!(
                bql.dialect(&scope()).await.unwrap().form,
                form,
                "{scheme:?}"
            );
            bench.mock.clear_logs();
            let history = TableQuery::new(
                "history:/Sample/SupplyTemp?period=timeRange;start=2025-11-02T00:00:00.000+01:00",
                "select timestamp, value",
            );
            let table = bql.query(&history.unwrap(), &scope()).await.unwrap();
            assert!(table.rows.len() > 10, "{scheme:?} {form}");
            let refused = bench
                .mock
                .requests()
                .iter()
                .filter(|r| r.status == 400)
                .count();
            assert_eq!(refused, 0, "{scheme:?} {form}: the form is not tried again");
        }
    }
}

#[tokio::test]
async fn a_station_without_any_form_lacks_the_interface() {
    let mut switches = Switches::default();
    switches.ord.forms = NONE;
    let bench = Bench::new(LoginScheme::FormScram, switches).await;
    let error = Bql::new(bench.session.clone())
        .query(&folder_query(), &scope())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "interface-missing", "{error}");
    bench.mock.switches().change(|s| {
        s.ord.forms = OrdForms::ALL;
        s.export.csv_exporter = false;
    });
    let error = Bql::new(bench.session.clone())
        .query(&folder_query(), &scope())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "interface-missing", "{error}");
}

#[tokio::test]
async fn a_query_the_station_cannot_read_is_sent_once_and_named() {
    let bench = Bench::usual().await;
    let bql = Bql::new(bench.session.clone());
    bql.query(&folder_query(), &scope()).await.unwrap();
    bench.mock.clear_logs();
    let wrong = TableQuery::new("slot:/", "select slotPath from nonsense:Type").unwrap();
    let error = bql.query(&wrong, &scope()).await.unwrap_err();
    assert_eq!(error.kind(), "bad-query", "{error}");
    assert!(error.to_string().contains("nonsense:Type"), "{error}");
    let requests = bench.mock.requests();
    let sent = |request: &&RequestEntry| request.target.contains("nonsense");
    assert_eq!(requests.iter().filter(sent).count(), 1);
    // The other one asks whether the station still takes this form at all.
    assert_eq!(requests.len(), 2);
    let missing =
        TableQuery::new("slot:/No/Such/Place", "select name from baja:Component").unwrap();
    let error = bql.query(&missing, &scope()).await.unwrap_err();
    assert_eq!(error.kind(), "not-found", "{error}");
}

#[tokio::test]
async fn rows_equal_the_station_whole_tree() {
    let bench = Bench::usual().await;
    let bql = Bql::new(bench.session.clone());
    let query =
        TableQuery::new("slot:/", "select slotPath, type from control:ControlPoint").unwrap();
    let table = bql
        .query(&query, &scope())
        .await
        .unwrap()
        .complete()
        .unwrap();
    let station = bench.mock.station().read();
    let user = station.users.get("bridge").unwrap();
    let point = mock_station::model::registry::find("control:ControlPoint").unwrap();
    let expected: Vec<(String, String)> = station
        .descendants(station.root())
        .filter(|component| station.can_read(user, component.handle()))
        .filter(|component| component.ty().is_a(point))
        .map(|component| {
            (
                station.slot_path(component.handle()),
                component.ty().spec().to_string(),
            )
        })
        .collect();
    let got: Vec<(String, String)> = table
        .rows
        .iter()
        .map(|row| (row.cell(0).text().to_owned(), row.cell(1).text().to_owned()))
        .collect();
    assert_eq!(got, expected);
    for (path, _) in &got {
        let parsed: SlotPath = path.parse().unwrap();
        assert_eq!(&parsed.to_string(), path);
    }
}

#[tokio::test]
async fn the_row_limit_closes_the_connection_and_is_only_said_when_it_cut() {
    let bench = Bench::usual().await;
    let bql = Bql::new(bench.session.clone());
    let all = TableQuery::new("slot:/", "select slotPath from baja:Component").unwrap();
    let total = bql.query(&all, &scope()).await.unwrap().rows.len();
    let table = bql.query(&all.clone().rows(3), &scope()).await.unwrap();
    assert_eq!((table.rows.len(), table.end), (3, TableEnd::RowLimit));
    let table = bql.query(&all.clone().rows(total), &scope()).await.unwrap();
    assert_eq!((table.rows.len(), table.end), (total, TableEnd::Complete));
    let table = bql.query(&all.top(5), &scope()).await.unwrap();
    assert_eq!((table.rows.len(), table.end), (5, TableEnd::Complete));
}

#[tokio::test]
async fn an_empty_result_is_a_table_without_rows() {
    let bench = Bench::usual().await;
    let bql = Bql::new(bench.session.clone());
    let text = literal("It's \\ none").unwrap();
    let query = TableQuery::new(
        "slot:/",
        &format!("select name from baja:Component where name = {text}"),
    )
    .unwrap();
    let table = bql.query(&query, &scope()).await.unwrap();
    assert_eq!(
        (table.header.len(), table.rows.len(), table.end),
        (1, 0, TableEnd::Complete)
    );
}
