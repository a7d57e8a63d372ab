//! Cells read in every dialect of the exporter equal the station's own values.

use mock_station::model::{PointKind, Value};
use mock_station::switches::{CsvDialect, ExportLocale, MachineMode, Switches};
use niagara_bridge::station::ord::unescape;
use niagara_bridge::station::web::cell::DecimalSign;
use niagara_bridge::station::web::{Bql, CellFormat, LoginScheme, TableQuery};

use crate::{Bench, scope};

/// Every combination of the exporter's switches that changes the text of cells.
fn dialects() -> Vec<Switches> {
    let mut all = Vec::new();
    for dialect in [CsvDialect::Modern, CsvDialect::Legacy] {
        for locale in [ExportLocale::English, ExportLocale::German] {
            for machine_mode in [MachineMode::Honoured, MachineMode::Refused] {
                for variant in 0..4u8 {
                    let mut switches = Switches::default();
                    switches.export.dialect = dialect;
                    switches.export.locale = Some(locale);
                    switches.export.machine_mode = machine_mode;
                    switches.export.byte_order_mark = variant % 2 == 0;
                    switches.export.crlf = variant % 2 == 1;
                    switches.export.units_in_cells = variant >= 2;
                    switches.export.injection_guard = variant < 2;
                    all.push(switches);
                }
            }
        }
    }
    all
}

fn format_of(switches: &Switches) -> CellFormat {
    let decimal = match switches.export.locale {
        Some(ExportLocale::German) => DecimalSign::Comma,
        _ => DecimalSign::Point,
    };
    CellFormat {
        decimal,
        ..CellFormat::display(chrono_tz::UTC)
    }
}

#[tokio::test]
async fn point_values_read_alike_in_every_dialect() {
    for switches in dialects() {
        let account = format_of(&switches);
        let shown = format!("{:?}", switches.export);
        let bench = Bench::new(LoginScheme::FormScram, switches).await;
        let bql = Bql::new(bench.session.clone());
        let query = TableQuery::new(
            "slot:/",
            "select slotPath, out.value, out.status, out from control:NumericPoint",
        );
        let mut rows = bql.stream(&query.unwrap(), &scope()).await.unwrap();
        let format = rows.format(&account);
        let mut seen = 0;
        while let Some(row) = rows.next().await.unwrap() {
            let path = row.cell(0).text();
            let station = bench.mock.station().read();
            let handle = station.resolve_component(path).unwrap();
            let (value, status) = station.out(handle).unwrap();
            let expected = value.as_f64().unwrap();
            let precision = if format.machine { 1e-12 } else { 0.0501 };
            let close = |got: f64| {
                got.to_bits() == expected.to_bits()
                    || (got.is_nan() && expected.is_nan())
                    || (got - expected).abs() <= precision
            };
            let number = row
                .cell(1)
                .number(&format)
                .unwrap_or_else(|e| panic!("{path}: {e} in {shown}"));
            assert!(
                number.is_some_and(close),
                "{path}: {number:?} is not {expected} in {shown}"
            );
            let whole = row.cell(3).status_text(&format);
            let german = account.decimal == DecimalSign::Comma;
            if !german || format.machine {
                assert_eq!(
                    row.cell(2).status().unwrap().bits.bits(),
                    status.bits,
                    "{path} in {shown}"
                );
            }
            if status.is_valid() {
                assert!(
                    whole
                        .number
                        .is_some_and(|got| (got - expected).abs() <= 0.0501 || got.is_nan()),
                    "{path}: {whole:?} in {shown}"
                );
            }
            let level = status.active_level().map(|level| match level {
                17 => "def".to_owned(),
                level => level.to_string(),
            });
            assert_eq!(
                whole.level.map(|level| level.to_string()),
                level,
                "{path} in {shown}"
            );
            seen += 1;
        }
        assert!(seen > 8, "{seen} points in {shown}");
    }
}

#[tokio::test]
async fn texts_with_quotes_and_commas_survive_every_dialect() {
    for switches in dialects() {
        let shown = format!("{:?}", switches.export);
        let bench = Bench::new(LoginScheme::FormScram, switches).await;
        let bql = Bql::new(bench.session.clone());
        let query = TableQuery::new(
            "slot:/",
            "select slotPath, out.value from control:StringPoint",
        );
        let table = bql.query(&query.unwrap(), &scope()).await.unwrap();
        assert!(table.rows.len() >= 2, "{shown}");
        for row in &table.rows {
            let station = bench.mock.station().read();
            let handle = station.resolve_component(row.cell(0).text()).unwrap();
            let (value, _) = station.out(handle).unwrap();
            assert_eq!(row.cell(1).text(), value.as_str().unwrap(), "{shown}");
        }
    }
}

/// The night on which the clocks of New York go back lies inside the sample's two days.
#[tokio::test]
async fn history_records_equal_the_stations_in_machine_and_display_mode() {
    for machine_mode in [MachineMode::Honoured, MachineMode::Refused] {
        for millis in [true, false] {
            let mut switches = Switches::default();
            switches.export.machine_mode = machine_mode;
            switches.export.millis_columns = millis;
            switches.export.time_zone = Some(chrono_tz::America::New_York);
            let bench = Bench::new(LoginScheme::FormScram, switches).await;
            let bql = Bql::new(bench.session.clone());
            let expected = {
                let station = bench.mock.station().read();
                let history = station.histories.get("/Sample/SupplyTemp").unwrap();
                let (first, last) = history.bounds(station.now()).unwrap();
                history.records(first, last, station.now())
            };
            let column = if millis {
                "timestamp.millis"
            } else {
                "timestamp"
            };
            let select = format!("select {column}, value, status, trendFlags");
            let query = TableQuery::new("history:/Sample/SupplyTemp", &select).unwrap();
            let rows = bql.stream(&query, &scope()).await.unwrap();
            let format = rows.format(&CellFormat::display(chrono_tz::America::New_York));
            assert_eq!(format.machine, machine_mode == MachineMode::Honoured);
            let table = rows.collect().await.unwrap().complete().unwrap();
            assert_eq!(table.rows.len(), expected.len());
            for (row, record) in table.rows.iter().zip(&expected) {
                let time = if millis {
                    row.cell(0).millis()
                } else {
                    row.cell(0).time(&format)
                };
                assert_eq!(time.unwrap(), Some(record.timestamp), "{:?}", row.cells);
                let value = row.cell(1).number(&format).unwrap().unwrap();
                assert!(
                    (value - record.value.as_f64().unwrap()).abs() < 0.06,
                    "{:?}",
                    row.cells
                );
                assert_eq!(
                    row.cell(2).status().unwrap().bits.bits(),
                    record.status,
                    "{:?}",
                    row.cells
                );
            }
        }
    }
}

#[tokio::test]
async fn boolean_and_enumeration_histories_are_typed_in_machine_mode() {
    let bench = Bench::usual().await;
    let bql = Bql::new(bench.session.clone());
    for (id, kind) in [
        ("/Sample/FanStatus", PointKind::Boolean),
        ("/Sample/Mode", PointKind::Enum),
    ] {
        let query = TableQuery::new(&format!("history:{id}"), "select timestamp, value").unwrap();
        let table = bql.query(&query, &scope()).await.unwrap();
        let station = bench.mock.station().read();
        let history = station.histories.get(id).unwrap();
        let (first, last) = history.bounds(station.now()).unwrap();
        let records = history.records(first, last, station.now());
        assert_eq!(table.rows.len(), records.len());
        for (row, record) in table.rows.iter().zip(&records) {
            match (&record.value, kind) {
                (Value::Boolean(expected), PointKind::Boolean) => {
                    assert_eq!(row.cell(1).boolean().unwrap(), Some(*expected));
                }
                (Value::DynamicEnum(expected), PointKind::Enum) => {
                    let choice = row.cell(1).choice().unwrap().unwrap();
                    assert_eq!(choice.ordinal, expected.ordinal);
                    assert_eq!(choice.tag(), Some(unescape(&expected.tag()).as_str()));
                }
                (other, _) => panic!("{id} holds {}", other.type_spec()),
            }
        }
    }
}

#[tokio::test]
async fn a_history_base_without_machine_mode_is_learnt_once() {
    let bench = Bench::usual().await;
    let bql = Bql::new(bench.session.clone());
    bql.dialect(&scope()).await.unwrap();
    bench.mock.clear_logs();
    bench
        .mock
        .switches()
        .change(|s| s.export.machine_mode = MachineMode::Refused);
    let query = TableQuery::new("history:/Sample/SupplyTemp", "select value").unwrap();
    bql.query(&query, &scope()).await.unwrap();
    assert_eq!(bench.mock.requests().len(), 2);
    bql.query(&query, &scope()).await.unwrap();
    assert_eq!(bench.mock.requests().len(), 3);
}
