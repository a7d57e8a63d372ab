//! The oBIX client against the stand-in station, compared with the station's own model.

mod mock;

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use mock::{Frozen, scope, start};
use mock_station::model::accounts::{self, Account};
use mock_station::model::component::Handle;
use mock_station::model::{Station, value::Value};
use mock_station::switches::{ObixLocale, ObixMode};
use niagara_bridge::station::obix::display::{FlagTranslations, Quality};
use niagara_bridge::station::obix::folder::WalkOptions;
use niagara_bridge::station::obix::history::HistoryReadOptions;
use niagara_bridge::station::obix::{ObixClient, ObixPath, Scalar, ValueReading};
use niagara_bridge::station::status::StatusBits;

const POINTS: &str = "slot:/Drivers/BacnetNetwork/AHU_1/points";

impl Frozen {
    fn obix(&self, account: Account) -> ObixClient {
        ObixClient::new(self.session(account))
    }
}

fn object(slot_path: &str) -> ObixPath {
    ObixPath::of_slot_path(slot_path).expect("a slot path")
}

fn model_points(station: &Station) -> Vec<(String, Handle)> {
    let all = station.descendants(station.root());
    all.filter(|component| component.ty().is("control:ControlPoint"))
        .map(|component| (station.slot_path(component.handle()), component.handle()))
        .collect()
}

/// The value as oBIX writes it: enumerations by tag, null when the status says so.
fn expected_scalar(value: &Value) -> Scalar {
    match value {
        Value::Boolean(flag) => Scalar::Bool(*flag),
        Value::DynamicEnum(member) => Scalar::Tag(member.tag()),
        Value::String(text) => Scalar::Text(text.to_string()),
        other => Scalar::Real(other.as_f64().expect("a number")),
    }
}

fn same(read: &Scalar, expected: &Scalar) -> bool {
    match (read, expected) {
        (Scalar::Real(read), Scalar::Real(expected)) => {
            read == expected || (read.is_nan() && expected.is_nan())
        }
        (read, expected) => read == expected,
    }
}

fn assert_reading(path: &str, reading: &ValueReading, station: &Station, handle: Handle) {
    let (value, status) = station.out(handle).expect("an output");
    assert_eq!(reading.status.bits(), status.bits, "{path}");
    assert_eq!(
        reading.active_level.map(|level| level
            .priority()
            .map_or(17, |priority| i32::from(priority.level()))),
        status.active_level(),
        "{path}"
    );
    if status.has(mock_station::model::status::Status::NULL) {
        assert_eq!(reading.value, Scalar::Null, "{path}");
    } else {
        let expected = expected_scalar(&value);
        assert!(
            same(&reading.value, &expected),
            "{path}: {:?} is not {expected:?}",
            reading.value
        );
    }
    let unit = station
        .facets(handle)
        .unit()
        .map(|unit| unit.name.to_string());
    assert_eq!(reading.unit, unit, "{path}");
    assert_eq!(
        reading.quality == Quality::Good,
        status.is_valid(),
        "{path}"
    );
}

#[tokio::test]
async fn every_point_reads_alike_alone_in_a_batch_and_in_the_model() {
    let mock = start().await;
    for account in [accounts::OBIX, accounts::ADMIN] {
        let client = mock.obix(account);
        let points = model_points(&mock.station.station().read());
        assert!(points.len() > 15, "{}", points.len());
        let paths: Vec<ObixPath> = points.iter().map(|(path, _)| object(path)).collect();
        let batch = client.read_values(&scope(), &paths).await.expect("read");
        for ((path, handle), answer) in points.iter().zip(batch) {
            let alone = client
                .read_value(&scope(), &object(path))
                .await
                .expect("read");
            let batched = answer.expect("a value");
            let station = mock.station.station().read();
            assert_reading(path, &alone, &station, *handle);
            assert_reading(path, &batched, &station, *handle);
            assert_eq!(alone.path.slot_path().as_deref(), Some(path.as_str()));
        }
    }
}

#[tokio::test]
async fn a_writable_shows_its_inputs_facets_and_operations() {
    let mock = start().await;
    let client = mock.obix(accounts::ADMIN);
    let path = format!("{POINTS}/SupplyTempSp");
    let point = client
        .read_point(&scope(), &object(&path))
        .await
        .expect("a point");
    assert_eq!(point.problems, Vec::<String>::new());
    assert_eq!(point.type_spec.as_deref(), Some("control:NumericWritable"));
    assert!(point.is_writable());
    let station = mock.station.station().read();
    let handle = station.resolve_component(&path).expect("mounted");
    assert_eq!(point.facets.to_string(), station.facets(handle).encode());
    assert_eq!(point.inputs.len(), 16);
    for (priority, input) in &point.inputs {
        let held = station.value(handle, &priority.slot()).expect("an input");
        let (value, status) = held.as_status_value().expect("a status value");
        let expected = if status.is_valid() {
            expected_scalar(value)
        } else {
            Scalar::Null
        };
        assert_eq!(input.value, expected, "{priority}");
    }
}

#[tokio::test]
async fn an_enumeration_gets_its_ordinal_from_the_facets() {
    let mock = start().await;
    let path = format!("{POINTS}/Mode");
    let point = mock
        .obix(accounts::ADMIN)
        .read_point(&scope(), &object(&path))
        .await
        .expect("a point");
    let station = mock.station.station().read();
    let (value, _) = station
        .out(station.resolve_component(&path).expect("mounted"))
        .expect("an output");
    let Value::DynamicEnum(member) = value else {
        panic!("an enumeration")
    };
    assert_eq!(
        (point.out.value, point.out.ordinal),
        (Scalar::Tag(member.tag()), Some(member.ordinal))
    );
}

#[tokio::test]
async fn the_tree_is_walked_as_the_model_holds_it() {
    let mock = start().await;
    let client = mock.obix(accounts::ADMIN);
    let options = WalkOptions {
        enters_extensions: true,
        max_depth: 20,
        ..WalkOptions::default()
    };
    let walk = client
        .walk(&scope(), &object("slot:/"), &options)
        .await
        .expect("walked");
    assert!(walk.components.iter().all(|item| item.problem.is_none()));
    let mut walked: Vec<(String, String)> = walk
        .components
        .iter()
        .map(|item| {
            let component = &item.component;
            (
                component.path.slot_path().expect("in the tree"),
                component.type_spec.clone().unwrap_or_default(),
            )
        })
        .collect();
    let station = mock.station.station().read();
    let mut held: Vec<(String, String)> = station
        .descendants(station.root())
        .filter(|component| component.handle() != station.root())
        .map(|component| {
            (
                station.slot_path(component.handle()),
                component.ty().spec().to_owned(),
            )
        })
        .collect();
    walked.sort();
    held.sort();
    let missing: Vec<_> = held
        .iter()
        .filter(|component| !walked.contains(component))
        .collect();
    let surplus: Vec<_> = walked
        .iter()
        .filter(|component| !held.contains(component))
        .collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "missing {missing:?}, surplus {surplus:?}"
    );
    assert_eq!(walked.len(), held.len());
}

#[tokio::test]
async fn every_history_is_listed_and_read_record_for_record() {
    let mock = start().await;
    let client = mock.obix(accounts::ADMIN);
    let list = client.histories(&scope()).await.expect("listed");
    assert_eq!(list.problems, vec![]);
    let ids: Vec<String> = list
        .histories
        .iter()
        .map(|history| format!("/{}/{}", history.device, history.name))
        .collect();
    let held: Vec<String> = {
        let station = mock.station.station().read();
        station
            .histories
            .devices()
            .iter()
            .flat_map(|device| {
                station
                    .histories
                    .of_device(device)
                    .map(|history| history.id.clone())
            })
            .collect()
    };
    assert_eq!(ids, held);
    let now = mock.station.station().now();
    let window: (DateTime<FixedOffset>, DateTime<FixedOffset>) = (
        (now - TimeDelta::days(400)).fixed_offset(),
        now.fixed_offset(),
    );
    for history in &list.histories {
        let id = format!("/{}/{}", history.device, history.name);
        let info = client
            .history_info(&scope(), &history.path)
            .await
            .expect("described");
        for page_limit in [7, 1000] {
            let options = HistoryReadOptions {
                page_limit,
                ..HistoryReadOptions::default()
            };
            let reading = client
                .read_history(&scope(), &history.path, window, options)
                .await
                .expect("read");
            assert_eq!(
                (
                    reading.unreadable,
                    reading.is_truncated,
                    reading.records_possibly_lost
                ),
                (0, false, false)
            );
            let station = mock.station.station().read();
            let held = station.histories.get(&id).expect("on file").records(
                window.0.to_utc(),
                window.1.to_utc(),
                now,
            );
            assert_eq!(info.count, Some(held.len() as u64), "{id}");
            let read: Vec<DateTime<Utc>> = reading
                .records
                .iter()
                .map(|record| record.timestamp.to_utc())
                .collect();
            assert_eq!(
                read,
                held.iter()
                    .map(|record| record.timestamp)
                    .collect::<Vec<_>>(),
                "{id} by {page_limit}"
            );
            for (record, held) in reading.records.iter().zip(&held) {
                let sample = record.sample().expect("a value");
                let offset = station.local(held.timestamp).offset().to_owned();
                assert_eq!(
                    *record.timestamp.offset(),
                    offset,
                    "{id} {}",
                    held.timestamp
                );
                if sample.status == StatusBits::OK {
                    let expected = expected_scalar(&held.value);
                    assert!(
                        same(&sample.value, &expected),
                        "{id} {}: {:?} is not {expected:?}",
                        held.timestamp,
                        sample.value
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_rollup_summarises_the_models_samples_and_leaves_gaps() {
    let mock = start().await;
    let client = mock.obix(accounts::ADMIN);
    let history = client
        .history_path(&scope(), "/Sample/SupplyTemp")
        .await
        .expect("a path");
    let now = mock.station.station().now();
    let window = (
        (now - TimeDelta::days(4)).fixed_offset(),
        now.fixed_offset(),
    );
    let buckets = client
        .rollup(&scope(), &history, window, TimeDelta::hours(6))
        .await
        .expect("rolled up");
    assert_eq!(buckets.len(), 16);
    let station = mock.station.station().read();
    let held = station
        .histories
        .get("/Sample/SupplyTemp")
        .expect("on file")
        .records(window.0.to_utc(), window.1.to_utc(), now);
    let counted: u64 = buckets
        .iter()
        .filter_map(|bucket| bucket.summary)
        .map(|summary| summary.count)
        .sum();
    let finite = held
        .iter()
        .filter(|record| record.value.as_f64().is_some_and(f64::is_finite))
        .count();
    assert!(
        counted > 0 && counted <= held.len() as u64 && counted + 16 >= finite as u64,
        "{counted} of {finite}"
    );
    assert!(
        buckets.iter().any(|bucket| bucket.summary.is_none()),
        "the first two days hold no sample"
    );
    for summary in buckets.iter().filter_map(|bucket| bucket.summary) {
        assert!(summary.min <= summary.average && summary.average <= summary.max);
        assert!((summary.average - summary.sum / summary.count as f64).abs() < 1e-9);
    }
}

#[tokio::test]
async fn about_names_station_version_zone_and_the_time_it_is_there() {
    let mock = start().await;
    let client = mock.obix(accounts::VIEWER);
    let about = client.about(&scope()).await.expect("about");
    assert_eq!(about.zone, Some(mock.station.station().read().zone()));
    assert_eq!(
        about.server_time.expect("a time").to_utc(),
        mock.station.station().now()
    );
    assert!(about.server_name.is_some() && about.product_version.is_some());
    mock.clock.advance(TimeDelta::hours(3));
    let later = client.read_about(&scope()).await.expect("about");
    assert_eq!(
        later.server_time.expect("a time").to_utc(),
        mock.station.station().now()
    );
    assert_ne!(later.server_time, about.server_time);
}

#[tokio::test]
async fn words_of_another_language_are_uncertain_until_they_are_configured() {
    let mock = start().await;
    mock.station.switches().change(|switches| {
        switches.obix.locale = ObixLocale::French;
        switches.obix.status_attribute = false;
    });
    let dead = object(&format!("{POINTS}/DeadSensor"));
    let reading = mock
        .obix(accounts::ADMIN)
        .read_value(&scope(), &dead)
        .await
        .expect("read");
    assert_ne!(reading.quality, Quality::Good);
    assert!(!reading.unknown_flags.is_empty(), "{reading:?}");
    let french = FlagTranslations::english()
        .with("vers le bas", StatusBits::DOWN)
        .with("alarme", StatusBits::ALARM)
        .with("alarme non acquittée", StatusBits::UNACKED_ALARM);
    let client = mock.obix(accounts::ADMIN).with_translations(french);
    let translated = client.read_value(&scope(), &dead).await.expect("read");
    assert!(
        translated.status.contains(StatusBits::DOWN),
        "{translated:?}"
    );
}

#[tokio::test]
async fn every_mode_of_the_server_has_its_own_diagnosis() {
    let mock = start().await;
    let dead = object(&format!("{POINTS}/DeadSensor"));
    for (mode, kind, words) in [
        (ObixMode::Disabled, "interface-missing", "Enabled=false"),
        (ObixMode::Unlicensed403, "interface-missing", "licen"),
        (ObixMode::Unlicensed500, "station-error", "export=\"true\""),
        (ObixMode::NoServlet, "interface-missing", "ObixNetwork"),
    ] {
        mock.station
            .switches()
            .change(|switches| switches.obix.mode = mode);
        let client = mock.obix(accounts::ADMIN);
        let error = client.lobby(&scope()).await.expect_err("no lobby");
        assert_eq!(error.kind(), kind, "{mode:?}: {error}");
        assert!(error.to_string().contains(words), "{mode:?}: {error}");
        assert!(
            client.read_value(&scope(), &dead).await.is_err(),
            "{mode:?}"
        );
    }
    for mode in [ObixMode::DigestOnly, ObixMode::RedirectLogin] {
        mock.station
            .switches()
            .change(|switches| switches.obix.mode = mode);
        let error = mock
            .obix(accounts::OBIX)
            .read_value(&scope(), &dead)
            .await
            .expect_err("refused");
        assert_eq!(error.kind(), "station-auth", "{mode:?}: {error}");
    }
    mock.station
        .switches()
        .change(|switches| switches.obix.mode = ObixMode::BasicOk);
    mock.obix(accounts::OBIX)
        .read_value(&scope(), &dead)
        .await
        .expect("works again");
}

#[tokio::test]
async fn unknown_and_invisible_points_are_refused_in_their_place() {
    let mock = start().await;
    let client = mock.obix(accounts::OPERATOR);
    let energy = "slot:/Drivers/ModbusTcpNetwork/Meter$20$231/points/Energy";
    let paths = [
        object(&format!("{POINTS}/SupplyTempSp")),
        object(&format!("{POINTS}/Nowhere")),
        object(energy),
        object(&format!("{POINTS}/$31st$20Floor$20CO2")),
    ];
    let answers = client.read_values(&scope(), &paths).await.expect("read");
    assert!(answers[0].is_ok() && answers[3].is_ok());
    assert_eq!(
        answers[1].as_ref().expect_err("unknown").kind(),
        "not-found"
    );
    assert!(matches!(
        answers[2].as_ref().expect_err("not his").kind(),
        "permission-denied" | "not-found"
    ));
}
