//! renderTrend draws what the histories of the station and the store hold, and tells what it drew.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use mock_station::model::history::trend_flags;
use mock_station::model::sample::AHU1_POINTS;
use mock_station::model::status::Status;
use mock_station::model::{HistoryRecord, Station};
use serde_json::{Value, json};

use crate::support::{Bench, NOW};
use crate::ways::WAYS;

const FROM: &str = "2026-10-24T00:00:00Z";

fn point(name: &str) -> Value {
    json!({"ord": format!("station:|{AHU1_POINTS}/{name}")})
}

fn usable(station: &Station, id: &str) -> (usize, usize) {
    let instant = |text: &str| text.parse::<DateTime<Utc>>().expect("a time");
    let history = station.histories.get(id).expect("a history");
    let records = history.records(instant(FROM), instant(NOW), station.now());
    let is_usable = |record: &&HistoryRecord| {
        let value = record.value.as_f64();
        let is_hidden = record.trend_flags & trend_flags::HIDDEN != 0;
        let is_valid = Status::from_bits(record.status).is_valid();
        is_valid && !is_hidden && value.is_none_or(f64::is_finite)
    };
    let usable = records.iter().filter(is_usable).count();
    (usable, records.len() - usable)
}

/// The picture of a call.
async fn picture(bench: &Bench, arguments: Value) -> (Vec<u8>, Value) {
    let result = bench.call("renderTrend", arguments.clone()).await;
    assert_eq!(result["isError"], json!(false), "{arguments}: {result}");
    let told = bench.answer("renderTrend", arguments).await;
    let block = &result["content"][1];
    assert_eq!(block["type"], json!("image"));
    assert_eq!(block["mimeType"], told["mimeType"]);
    let data = block["data"].as_str().expect("data");
    let bytes = STANDARD.decode(data).expect("Base64");
    assert_eq!(told["bytes"], json!(bytes.len()));
    (bytes, told)
}

/// A decoded PNG: its width and its pixels.
fn decoded(bytes: &[u8]) -> (u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .expect("a PNG");
    let mut buffer = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut buffer).expect("pixels");
    let pixels = buffer.chunks_exact(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]);
    (info.width, pixels.collect())
}

fn colour(text: &Value) -> [u8; 3] {
    let text = text.as_str().expect("a colour");
    [1, 3, 5].map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("#rrggbb"))
}

/// Columns that hold a colour below the legend.
fn columns(bytes: &[u8], wanted: [u8; 3], tolerance: u8) -> Vec<u32> {
    let (width, pixels) = decoded(bytes);
    let height = pixels.len() as u32 / width;
    let near = |pixel: &[u8; 3]| {
        let mut pairs = pixel.iter().zip(wanted);
        pairs.all(|(one, other)| one.abs_diff(other) <= tolerance)
    };
    (0..width)
        .filter(|x| (60..height).any(|y| near(&pixels[(y * width + x) as usize])))
        .collect()
}

#[tokio::test]
async fn a_live_history_is_drawn_over_every_interface() {
    for (way, switch) in &WAYS {
        let bench = Bench::with_switches(switch).await;
        let arguments = json!({"points": [point("SupplyTemp")], "from": FROM, "to": NOW, "width": 480, "height": 300});
        let (bytes, told) = picture(&bench, arguments).await;
        let drawn = &told["points"][0];
        assert_eq!(drawn["label"], json!("AHU_1 SupplyTemp"), "{way}");
        assert_eq!(drawn["source"], json!("live"));
        assert_eq!(drawn["historyId"], json!("/Sample/SupplyTemp"));
        assert_eq!(drawn["statusAvailable"], json!(*way != "oBIX"), "{way}");
        assert_eq!(told["timeAxis"], json!("Europe/Paris"));
        assert_eq!(told["from"], json!("2026-10-24T02:00:00.000+02:00"));
        if *way != "oBIX" {
            let (samples, excluded) = usable(&bench.model(), "/Sample/SupplyTemp");
            assert_eq!(
                (&drawn["samples"], &drawn["excluded"]),
                (&json!(samples), &json!(excluded)),
                "{way}"
            );
            assert_eq!(drawn["units"], json!("°C"), "{way}");
        }
        let line = columns(&bytes, colour(&drawn["color"]), 0);
        assert!(line.len() > 300, "{way}: {}", line.len());
    }
}

#[tokio::test]
async fn states_are_steps_with_their_texts_and_histories_have_ids() {
    let bench = Bench::new().await;
    let arguments = json!({
        "points": [point("FanStatus"), point("Mode"), {"history": "/Annex/Oat"}, {"ord": "history:/Annex/Oat", "label": "Imported"}],
        "from": FROM, "to": NOW,
    });
    let (_, told) = picture(&bench, arguments).await;
    let points = told["points"].as_array().expect("points");
    let texts = |place: usize| -> Vec<&str> {
        let states = points[place]["states"].as_array().expect("states");
        states
            .iter()
            .map(|state| state["text"].as_str().expect("text"))
            .collect()
    };
    assert_eq!(
        (texts(0), &points[0]["line"]),
        (vec!["Not running", "Running"], &json!("steps"))
    );
    assert!(texts(1).len() >= 2, "{points:?}");
    assert_eq!(points[2]["label"], json!("Oat"));
    assert_eq!(points[3]["label"], json!("Imported"));
    assert_eq!(points[2]["samples"], points[3]["samples"]);
    // Imported histories keep the last five records.
    assert_eq!(points[2]["samples"], json!(5));
    assert_eq!(told["panels"], json!(2));
    let axes: Vec<(&Value, &Value, &Value)> = told["axes"]
        .as_array()
        .expect("axes")
        .iter()
        .map(|axis| (&axis["panel"], &axis["side"], &axis["units"]))
        .collect();
    assert_eq!(axes[1], (&json!(0), &json!("right"), &json!("state")));
}

#[tokio::test]
async fn stored_trends_have_the_wall_clock_of_their_facility_and_shaded_spans() {
    let bench = Bench::new().await.with_capabilities();
    let stored = |role: &str| json!({"facility": "harborview", "equip": "AHU-1", "role": role});
    let arguments = json!({
        "points": [stored("supply_air_temp"), stored("cool_valve")],
        "from": "2026-03-01", "to": "2026-03-02",
        "spans": [{"start": "2026-03-01T06:00:00", "end": "2026-03-01T12:00:00", "label": "leak & <b>more</b>"}],
        "width": 800, "height": 400,
    });
    let (bytes, told) = picture(&bench, arguments.clone()).await;
    assert_eq!(told["timeAxis"], json!("wall clock of America/New_York"));
    assert_eq!(
        (&told["from"], &told["to"]),
        (&json!("2026-03-01T00:00:00"), &json!("2026-03-02T00:00:00"))
    );
    let [supply, valve] = [&told["points"][0], &told["points"][1]];
    assert_eq!(
        (&supply["samples"], &supply["min"], &supply["max"]),
        (&json!(96), &json!(0.0), &json!(95.0))
    );
    assert_eq!(
        (&supply["units"], &supply["axis"]),
        (&json!("degF"), &json!("left"))
    );
    assert_eq!(
        (&valve["units"], &valve["axis"]),
        (&json!("percent"), &json!("right"))
    );
    assert_eq!(supply["gaps"], json!(0), "{supply}");
    // Both rise alike, so the second line covers the first; the span lies between a quarter and a half of the day.
    let line = columns(&bytes, colour(&valve["color"]), 0);
    let (left, right) = (line[0], line[line.len() - 1]);
    assert!(right - left > 600, "{left} {right}");
    let shade = colour(&told["spans"][0]["color"]);
    let mixed = shade.map(|value| (255.0 - (255.0 - f64::from(value)) * 0.22).round() as u8);
    let shaded = columns(&bytes, mixed, 3);
    let day = f64::from(right - left) * 96.0 / 95.0;
    let hour = |column: u32| f64::from(column - left) / day * 24.0;
    assert!((hour(shaded[0]) - 6.0).abs() < 0.3, "{}", hour(shaded[0]));
    let end = shaded[shaded.len() - 1];
    assert!((hour(end) - 12.0).abs() < 0.3, "{}", hour(end));

    let mut as_svg = arguments;
    as_svg["format"] = json!("svg");
    let (bytes, told) = picture(&bench, as_svg).await;
    let svg = String::from_utf8(bytes).expect("UTF-8");
    assert!(
        svg.contains("leak &amp; &lt;b&gt;more&lt;/b&gt;") && !svg.contains("<b>"),
        "{svg}"
    );
    assert!(svg.contains("AHU-1 supply_air_temp (degF, left)"));
    assert_eq!(told["mimeType"], json!("image/svg+xml"));
}

#[tokio::test]
async fn stored_and_live_points_share_one_axis_of_instants() {
    let bench = Bench::new().await.with_capabilities();
    let arguments = json!({
        "points": [{"facility": "harborview", "equip": "AHU-1", "role": "oat"}, point("SupplyTemp")],
        "from": "2026-02-28T23:00:00-05:00", "to": "2026-03-02T00:00:00-05:00",
    });
    let (_, told) = picture(&bench, arguments).await;
    assert_eq!(told["timeAxis"], json!("Europe/Paris"));
    let [stored, live] = [&told["points"][0], &told["points"][1]];
    // Midnight in New York.
    assert_eq!(stored["first"], json!("2026-03-01T06:00:00.000+01:00"));
    assert_eq!(stored["samples"], json!(96));
    assert_eq!(live["samples"], json!(0));
    let note = told["notes"][0].as_str().expect("a note");
    assert!(note.contains("AHU_1 SupplyTemp"), "{note}");
}

#[tokio::test]
async fn what_cannot_be_drawn_is_refused_as_by_other_tools() {
    let bench = Bench::new().await.with_capabilities();
    let refused = async |points: Value, more: Value| {
        let mut arguments = json!({"points": points, "from": FROM, "to": NOW});
        for (key, value) in more.as_object().expect("object") {
            arguments[key] = value.clone();
        }
        bench.failure("renderTrend", arguments).await
    };
    let none = json!({});
    let (code, message, _) = refused(json!([point("Message")]), none.clone()).await;
    assert_eq!(code, -32602, "{message}");
    assert!(message.contains("texts"), "{message}");
    let missing = json!([{"ord": "station:|slot:/Nowhere/x"}]);
    let (code, message, data) = refused(missing, none.clone()).await;
    assert_eq!(
        (code, &data["ord"]),
        (-32006, &json!("station:|slot:/Nowhere/x"))
    );
    assert!(
        message.contains("/Nowhere/x") && !message.contains("bql") && !message.contains("select"),
        "{message}"
    );
    let unlisted = refused(json!([{"history": "/Sample/Nothing"}]), none.clone()).await;
    assert_eq!(
        (unlisted.0, &unlisted.2["history"]),
        (-32006, &json!("/Sample/Nothing"))
    );
    let (code, _, data) = refused(
        json!([point("SupplyTemp"), {"equip": "AHU-1"}]),
        none.clone(),
    )
    .await;
    assert_eq!((code, &data["argument"]), (-32602, &json!("points/1")));
    let foreign = json!([{"facility": "elsewhere", "equip": "AHU-1", "role": "oat"}]);
    assert_eq!(refused(foreign, none.clone()).await.0, -32010);
    let role = json!([{"facility": "harborview", "equip": "AHU-1", "role": "no_such"}]);
    let (code, message, data) = refused(role, none.clone()).await;
    assert_eq!(
        (code, &data["argument"]),
        (-32602, &json!("role")),
        "{message}"
    );
    assert!(message.contains("supply_air_temp"), "{message}");
    let backwards = json!({"from": NOW, "to": FROM});
    let (code, _, data) = refused(json!([point("SupplyTemp")]), backwards).await;
    assert_eq!((code, &data["argument"]), (-32602, &json!("from")));
    let low = json!({"height": 200, "spans": []});
    let crowd =
        json!([point("SupplyTemp"), point("FanStatus"), point("Mode"), {"history": "/Annex/Oat"}]);
    let (code, message, data) = refused(crowd, low).await;
    assert_eq!(
        (code, &data["argument"]),
        (-32602, &json!("height")),
        "{message}"
    );
}

#[tokio::test]
async fn without_a_store_live_histories_are_drawn_and_stored_ones_refused() {
    let bench = Bench::new().await;
    let stored =
        json!({"points": [{"facility": "harborview", "equip": "A", "role": "oat"}], "from": FROM});
    let (code, _, data) = bench.failure("renderTrend", stored).await;
    assert_eq!(
        (code, &data["kind"]),
        (-32603, &json!("trends-unavailable"))
    );
    let unknown = json!({"points": [{"equip": "A", "role": "oat"}], "from": FROM});
    let (code, _, data) = bench.failure("renderTrend", unknown).await;
    assert_eq!(
        (code, &data["argument"]),
        (-32602, &json!("points/0/facility"))
    );
    let live = json!({"points": [point("SupplyTemp")], "from": FROM});
    let (_, told) = picture(&bench, live).await;
    assert_eq!(told["to"], json!("2026-10-25T13:07:30.000+01:00"));
}
