//! What `renderTrend` answers: the picture, and what it shows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value, json};

use super::schema::{self, ObjectSchema, object};
use super::trend_samples::Drawn;
use crate::plot::{Gap, ImageFormat, Picture, SeriesReport, TimeAxis, TrendChart, TrendReport};

/// Gaps of a point that are listed, the longest ones; all are counted.
const LISTED_GAPS: usize = 20;

/// The picture as content of the protocol. SVG is for people: models mostly take pixels only.
pub(super) fn image_block(picture: &Picture) -> Value {
    let audience = match picture.format {
        ImageFormat::Png => json!(["user", "assistant"]),
        ImageFormat::Svg => json!(["user"]),
    };
    json!({
        "type": "image",
        "data": STANDARD.encode(&picture.bytes),
        "mimeType": picture.format.mime_type(),
        "annotations": {"audience": audience},
    })
}

/// The structured content.
pub(super) fn answer(
    chart: &TrendChart,
    drawn: &[Drawn],
    picture: &Picture,
    report: &TrendReport,
) -> Map<String, Value> {
    let clock = Clock(&chart.axis);
    let points = drawn.iter().zip(&report.series);
    let points: Vec<Value> = points
        .map(|(drawn, series)| point_json(drawn, series, &clock))
        .collect();
    let axes = report.axes.iter().map(|axis| {
        json!({
            "panel": axis.panel,
            "side": axis.side.name(),
            "units": axis.units,
            "min": axis.low,
            "max": axis.high,
        })
    });
    let spans = chart.spans.iter().zip(&report.spans).map(|(span, shown)| {
        json!({
            "start": clock.text(span.from),
            "end": clock.text(span.to),
            "label": span.label,
            "color": shown.colour,
            "visible": shown.is_visible,
        })
    });
    let sum = |count: fn(&SeriesReport) -> usize| report.series.iter().map(count).sum::<usize>();
    let told = json!({
        "from": clock.text(chart.axis.from),
        "to": clock.text(chart.axis.to),
        "timeAxis": chart.axis.zone_name,
        "panels": report.panels,
        "points": points,
        "axes": axes.collect::<Vec<_>>(),
        "spans": spans.collect::<Vec<_>>(),
        "notes": notes(drawn, report),
    });
    let counts = (sum(|series| series.samples), sum(|series| series.drawn));
    let mut answer = picture_json("trend", picture, counts);
    if let Value::Object(told) = told {
        answer.extend(told);
    }
    answer
}

/// What is told of every picture; what a kind does not have is empty.
pub(super) fn picture_json(
    kind: &str,
    picture: &Picture,
    (samples, drawn): (usize, usize),
) -> Map<String, Value> {
    let told = json!({
        "kind": kind,
        "format": picture.format.name(),
        "mimeType": picture.format.mime_type(),
        "width": picture.size.width(),
        "height": picture.size.height(),
        "bytes": picture.bytes.len(),
        "panels": 1,
        "points": [],
        "axes": [],
        "spans": [],
        "decimation": {"columns": picture.size.width(), "samples": samples, "drawn": drawn},
        "notes": [],
    });
    match told {
        Value::Object(told) => told,
        _ => Map::new(),
    }
}

/// A time of an axis as answers write it.
pub(super) fn clock_text(axis: &TimeAxis, time: i64) -> String {
    Clock(axis).text(time)
}

/// How times of the axis are written: instants with the offset, wall-clock times without.
struct Clock<'a>(&'a TimeAxis);

impl Clock<'_> {
    fn text(&self, time: i64) -> String {
        let Some(instant) = DateTime::from_timestamp_millis(time) else {
            return time.to_string();
        };
        if self.0.is_wall_clock() {
            return instant.naive_utc().format("%Y-%m-%dT%H:%M:%S").to_string();
        }
        instant
            .with_timezone(&self.0.zone)
            .to_rfc3339_opts(SecondsFormat::Millis, false)
    }
}

fn point_json(drawn: &Drawn, series: &SeriesReport, clock: &Clock<'_>) -> Value {
    let mut map = Map::new();
    map.insert("label".to_owned(), json!(drawn.label));
    let is_live = drawn.history_id.is_some();
    let source = if is_live { "live" } else { "stored" };
    map.insert("source".to_owned(), json!(source));
    for (key, text) in [
        ("ord", &drawn.ord),
        ("historyId", &drawn.history_id),
        ("facility", &drawn.facility),
        ("equip", &drawn.equip),
        ("role", &drawn.role),
        ("units", &drawn.units),
    ] {
        if let Some(text) = text {
            map.insert(key.to_owned(), json!(text));
        }
    }
    if !drawn.states.is_empty() {
        let states = drawn.states.iter();
        let states: Vec<Value> = states
            .map(|(value, text)| json!({"value": value, "text": text}))
            .collect();
        map.insert("states".to_owned(), json!(states));
    }
    if let Some(available) = drawn.status_available {
        map.insert("statusAvailable".to_owned(), json!(available));
    }
    map.insert("color".to_owned(), json!(series.colour));
    map.insert("panel".to_owned(), json!(series.panel));
    map.insert("axis".to_owned(), json!(series.side.name()));
    let line = if series.is_held { "steps" } else { "straight" };
    map.insert("line".to_owned(), json!(line));
    map.insert("samples".to_owned(), json!(series.samples));
    map.insert("drawn".to_owned(), json!(series.drawn));
    map.insert("excluded".to_owned(), json!(series.excluded));
    if let (Some(first), Some(last)) = (series.first, series.last) {
        map.insert("first".to_owned(), json!(clock.text(first)));
        map.insert("last".to_owned(), json!(clock.text(last)));
    }
    if let Some((min, max)) = series.extremes {
        map.insert("min".to_owned(), json!(min));
        map.insert("max".to_owned(), json!(max));
    }
    map.insert("gaps".to_owned(), json!(series.gaps.len()));
    let listed = longest(&series.gaps).into_iter().map(|gap| {
        json!({
            "start": clock.text(gap.from),
            "end": clock.text(gap.to),
            "hours": hours(gap),
        })
    });
    map.insert("gapList".to_owned(), json!(listed.collect::<Vec<_>>()));
    if let Some(truncation) = &drawn.truncated {
        map.insert("truncated".to_owned(), json!(true));
        if let Some(next) = &truncation.next_from {
            map.insert("nextFrom".to_owned(), json!(next));
        }
    }
    Value::Object(map)
}

/// Hours of a gap, rounded to a hundredth.
fn hours(gap: Gap) -> f64 {
    let millis = gap.to.saturating_sub(gap.from) as f64;
    (millis / 36_000.0).round() / 100.0
}

/// The longest gaps in order of time.
fn longest(gaps: &[Gap]) -> Vec<Gap> {
    let mut longest = gaps.to_vec();
    longest.sort_by_key(|gap| std::cmp::Reverse(gap.to.saturating_sub(gap.from)));
    longest.truncate(LISTED_GAPS);
    longest.sort_by_key(|gap| gap.from);
    longest
}

fn notes(drawn: &[Drawn], report: &TrendReport) -> Vec<String> {
    let mut notes = Vec::new();
    for (drawn, series) in drawn.iter().zip(&report.series) {
        if series.samples == 0 {
            notes.push(format!(
                "'{}' has no sample with a usable value in this window.",
                drawn.label
            ));
        }
        if let Some(truncation) = &drawn.truncated {
            let why = match truncation.by_time {
                true => "the time was over",
                false => "the window has more records than one picture reads",
            };
            notes.push(format!(
                "'{}' is drawn only up to a point because {why}; draw a shorter window.",
                drawn.label
            ));
        }
    }
    notes
}

/// The schema of [`answer`].
pub(super) fn output_schema() -> ObjectSchema {
    object()
        .required(
            "kind",
            schema::one_of("Kind of the picture.", &["trend", "drift", "changePoint"]),
        )
        .required("format", schema::one_of("Format of the picture.", &["png", "svg"]))
        .required("mimeType", schema::string("MIME type of the picture."))
        .required("width", schema::whole("Pixels."))
        .required("height", schema::whole("Pixels."))
        .required("bytes", schema::whole("Size of the picture's file."))
        .required("from", schema::string("Start of the time axis."))
        .required("to", schema::string("End of the time axis."))
        .required(
            "timeAxis",
            schema::string("Zone of the times, or the wall clock that they are of."),
        )
        .required("panels", schema::whole("Panels above each other; each has up to two units."))
        .required("points", schema::list("The points in the order of the call.", point_schema()))
        .required(
            "axes",
            schema::list(
                "The vertical axes.",
                object()
                    .required("panel", schema::whole("Panel from above, beginning with 0."))
                    .required("side", schema::one_of("Side of the panel.", &["left", "right"]))
                    .required(
                        "units",
                        schema::any_of_types("Unit, null when there is none.", &["string", "null"]),
                    )
                    .required("min", schema::number("Lower end."))
                    .required("max", schema::number("Upper end.")),
            ),
        )
        .required(
            "spans",
            schema::list(
                "The shaded spans in the order of the call.",
                object()
                    .required("start", schema::string("Start."))
                    .required("end", schema::string("End."))
                    .required("label", schema::string("Label as given."))
                    .required("color", schema::string("#rrggbb; it is mixed with what it shades."))
                    .required("visible", schema::boolean("Some of it lies in the window.")),
            ),
        )
        .required(
            "decimation",
            object()
                .required(
                    "columns",
                    schema::whole("Columns of the picture, each of which keeps first, least, greatest and last sample."),
                )
                .required("samples", schema::whole("Samples of all points."))
                .required("drawn", schema::whole("Samples that are drawn.")),
        )
        .required(
            "notes",
            schema::list("What should be known of the picture.", schema::string("Sentence.")),
        )
        .optional("drift", drift_schema())
        .optional("changePoint", change_point_schema())
}

fn drift_schema() -> ObjectSchema {
    let trace = object()
        .required("name", schema::string("What was measured."))
        .required("units", schema::string("Unit of the residuals."))
        .required(
            "samples",
            schema::whole("Residuals: measured less expected at that load."),
        )
        .required("drift", number_or_null("Median residual."))
        .required("sigma", number_or_null("Scatter of the baseline."))
        .optional(
            "alarmAt",
            schema::string("When a shift was certain to last; absent without an alarm."),
        );
    object()
        .required("facility", schema::string("Facility of the run."))
        .required("finding", schema::string("Id of the finding."))
        .required(
            "traces",
            schema::list("Metrics that the finding is made of, a panel each.", trace),
        )
}

fn change_point_schema() -> ObjectSchema {
    let model = object()
        .required(
            "kind",
            schema::string("Form of the model, for example 3P cooling."),
        )
        .required(
            "coefficients",
            schema::list("Base and slopes.", number_or_null("Coefficient.")),
        )
        .required(
            "changePoints",
            schema::list(
                "Where the model bends, degF.",
                schema::number("Temperature."),
            ),
        )
        .required("r2", number_or_null("Coefficient of determination."))
        .required("cvRmse", number_or_null("Scatter as a share of the mean."))
        .required("nmbe", number_or_null("Bias as a share of the mean."))
        .required(
            "accepted",
            schema::boolean("Whether the scatter is small enough for savings."),
        );
    object()
        .required("facility", schema::string("Facility of the meter."))
        .required("equip", schema::string("Equipment of the meter."))
        .required("role", schema::string("Role of the meter."))
        .required("energy", schema::string("What the vertical axis shows."))
        .required("baselineDays", schema::whole("Days that were fitted."))
        .required(
            "baselineDaysDropped",
            schema::whole("Days with too few samples."),
        )
        .optional("reportingDays", schema::whole("Days that are compared."))
        .optional(
            "reportingDaysDropped",
            schema::whole("Those with too few samples."),
        )
        .required("model", model)
}

fn number_or_null(description: &str) -> Value {
    schema::any_of_types(description, &["number", "null"])
}

fn point_schema() -> ObjectSchema {
    object()
        .required("label", schema::string("Name in the legend, in full."))
        .required("source", schema::one_of("Where the samples come from.", &["live", "stored"]))
        .optional("ord", schema::string("The ord as given."))
        .optional("historyId", schema::string("Id of the history, /station/name."))
        .optional("facility", schema::string("Facility of a stored trend."))
        .optional("equip", schema::string("Equipment of a stored trend."))
        .optional("role", schema::string("Role of a stored trend."))
        .optional("units", schema::string("Unit of the values."))
        .optional(
            "states",
            schema::list(
                "What the numbers of states mean.",
                object()
                    .required("value", schema::number("Number on the axis."))
                    .required("text", schema::string("State.")),
            ),
        )
        .optional(
            "statusAvailable",
            schema::boolean(
                "Whether the interface told the status of live records; without it bad ones are drawn like others.",
            ),
        )
        .required("color", schema::string("#rrggbb of the line."))
        .required("panel", schema::whole("Panel from above, beginning with 0."))
        .required("axis", schema::one_of("Side of the panel.", &["left", "right"]))
        .required(
            "line",
            schema::one_of(
                "Straight between samples at an interval; steps where values hold until the next sample.",
                &["straight", "steps"],
            ),
        )
        .required("samples", schema::whole("Samples with a usable value."))
        .required("drawn", schema::whole("Samples that are drawn."))
        .required(
            "excluded",
            schema::whole("Samples without a usable value: bad status, null, hidden, no finite number."),
        )
        .optional("first", schema::string("Time of the first sample."))
        .optional("last", schema::string("Time of the last sample."))
        .optional("min", schema::number("Smallest value."))
        .optional("max", schema::number("Largest value."))
        .required("gaps", schema::whole("Times without data, which are left open."))
        .required(
            "gapList",
            schema::list(
                "The longest of them in order of time.",
                object()
                    .required("start", schema::string("Last sample before it, or start of the window."))
                    .required("end", schema::string("First sample behind it, or end of the window."))
                    .required("hours", schema::number("Length in hours.")),
            ),
        )
        .optional("truncated", schema::boolean("Not the whole window was read."))
        .optional("nextFrom", schema::string("First record that was not read."))
}
