//! What a caller of `renderTrend` asks for: points, window, spans, size.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde_json::{Map, Value};

use super::capability::CapabilityAccess;
use super::{Arguments, ToolError};
use crate::plot::trend::MOST_SERIES;
use crate::plot::{Span, TimeAxis};
use crate::station::ord::{Ord, unescape};
use crate::station::time::parse_client_time;
use crate::trends::site_time::SiteClock;
use crate::trends::store::wall_clock::parse_bound;

/// Nanoseconds of a millisecond.
pub(super) const MILLISECOND: i64 = 1_000_000;

/// Beginning of the ord of a history.
const HISTORY: &str = "history:";

/// Where the samples of a point are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// The history that a component records into; the text as it was given.
    Point { text: String, ord: Ord },
    /// A history by its id, `/station/name`.
    History { id: String },
    /// A stored trend; without a facility that of the station.
    Stored {
        facility: Option<String>,
        equip: String,
        role: String,
    },
}

/// One point of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WantedPoint {
    pub source: Source,
    pub label: String,
}

/// A request whose arguments make sense together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrendRequest {
    pub points: Vec<WantedPoint>,
    pub title: String,
    from: String,
    to: Option<String>,
    /// Start, end, label.
    spans: Vec<(String, String, String)>,
}

/// Which times the axis has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Axis {
    /// Instants, in the station's zone.
    Instants(Tz),
    /// The wall clock of a facility, whose zone may be unknown.
    WallClock(Option<Tz>),
}

/// The window and the spans, in milliseconds of the axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    pub axis: TimeAxis,
    pub spans: Vec<Span>,
}

impl TrendRequest {
    /// Reads the arguments.
    ///
    /// # Errors
    /// −32602 for a point that is none or several things at once, −32006 for a text that is no ord.
    pub fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let list = |name: &str| {
            let items = arguments.get(name).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(Value::as_object)
        };
        let points = list("points")
            .enumerate()
            .map(|(place, point)| wanted_point(place, point))
            .collect::<Result<Vec<_>, _>>()?;
        if points.is_empty() || points.len() > MOST_SERIES {
            return Err(ToolError::invalid_params(format!(
                "Give 1 to {MOST_SERIES} points, not {}.",
                points.len()
            ))
            .with("argument", "points"));
        }
        let filled = |name: &str| {
            let text = arguments.optional_string(name);
            text.filter(|text| !text.trim().is_empty())
                .map(str::to_owned)
        };
        Ok(Self {
            points,
            title: filled("title").unwrap_or_default(),
            from: arguments.string("from")?.to_owned(),
            to: filled("to"),
            spans: list("spans")
                .map(|span| (text(span, "start"), text(span, "end"), text(span, "label")))
                .collect(),
        })
    }

    /// Whether the station is asked.
    pub fn has_live_points(&self) -> bool {
        let is_live = |point: &WantedPoint| !matches!(point.source, Source::Stored { .. });
        self.points.iter().any(is_live)
    }

    /// The one facility of all stored points; none when there are none.
    ///
    /// # Errors
    /// −32602 for two facilities, or when the station's own is unknown.
    pub fn facility(&self, access: &CapabilityAccess) -> Result<Option<String>, ToolError> {
        let mut found: Option<String> = None;
        for (place, point) in self.points.iter().enumerate() {
            let Source::Stored { facility, .. } = &point.source else {
                continue;
            };
            let argument = format!("points/{place}/facility");
            let own = own_facility(facility.as_deref(), access)
                .ok_or_else(|| unknown_facility(&argument))?;
            match &found {
                Some(other) if *other != own => {
                    return Err(ToolError::invalid_params(format!(
                        "One picture shows stored trends of one facility, not of '{other}' and '{own}'; draw two \
                         pictures."
                    ))
                    .with("argument", argument));
                }
                _ => found = Some(own),
            }
        }
        Ok(found)
    }

    /// The window and the spans on an axis.
    ///
    /// # Errors
    /// −32602 for a text that is no time, or a window that ends before it begins.
    pub fn window(&self, axis: Axis, now: DateTime<Utc>) -> Result<Window, ToolError> {
        let from = axis.time("from", &self.from)?;
        let now = axis.of_instant(now);
        let to = match &self.to {
            Some(text) => axis.time("to", text)?,
            None => now,
        };
        if from >= to {
            return Err(ToolError::invalid_params(format!(
                "The window from '{}' to '{}' has no length; choose an earlier 'from'.",
                self.from,
                self.to.as_deref().unwrap_or("now")
            ))
            .with("argument", "from"));
        }
        let spans = self.spans.iter().enumerate().map(|(place, span)| {
            let (start, end, label) = span;
            let name = |member: &str| format!("spans/{place}/{member}");
            let (from, to) = (
                axis.time(&name("start"), start)?,
                axis.time(&name("end"), end)?,
            );
            if from > to {
                return Err(ToolError::invalid_params(format!(
                    "The span from '{start}' to '{end}' runs backwards; exchange the two."
                ))
                .with("argument", name("start")));
            }
            Ok(Span {
                from,
                to,
                label: label.clone(),
            })
        });
        Ok(Window {
            spans: spans.collect::<Result<Vec<_>, ToolError>>()?,
            axis: match axis {
                Axis::Instants(zone) => TimeAxis::of_instants(from, to, zone),
                Axis::WallClock(zone) => {
                    TimeAxis::of_wall_clock(from, to, zone.map(|zone| zone.name()))
                }
            },
        })
    }
}

impl Window {
    /// Start and end in milliseconds of the axis.
    pub fn bounds(&self) -> (i64, i64) {
        (self.axis.from, self.axis.to)
    }
}

impl Axis {
    /// Milliseconds of a client's time.
    fn time(self, argument: &str, text: &str) -> Result<i64, ToolError> {
        if let Self::WallClock(_) = self
            && let Some(stamp) = parse_bound(text.trim())
        {
            return Ok(stamp.div_euclid(MILLISECOND));
        }
        let zone = match self {
            Self::Instants(zone) => zone,
            Self::WallClock(zone) => zone.unwrap_or(Tz::UTC),
        };
        let instant = parse_client_time(text, zone).map_err(|error| {
            ToolError::invalid_params(format!("Argument '{argument}': {error}."))
                .with("argument", argument)
        })?;
        Ok(self.of_instant(instant))
    }

    /// Milliseconds of an instant.
    fn of_instant(self, instant: DateTime<Utc>) -> i64 {
        let shown = match self {
            Self::Instants(_) => None,
            Self::WallClock(zone) => SiteClock::new(zone.unwrap_or(Tz::UTC)).stamp(instant),
        };
        shown.map_or_else(
            || instant.timestamp_millis(),
            |stamp| stamp.div_euclid(MILLISECOND),
        )
    }
}

/// The facility that is given, else that of the station.
pub(super) fn own_facility(given: Option<&str>, access: &CapabilityAccess) -> Option<String> {
    let given = given.filter(|given| !given.trim().is_empty());
    given
        .map(str::to_owned)
        .or_else(|| access.station_facility())
}

pub(super) fn unknown_facility(argument: &str) -> ToolError {
    ToolError::invalid_params(
        "Which facility stores this station's trends is not known; name it in 'facility' (the capability facilities lists \
         them).",
    )
    .with("argument", argument)
}

fn text(members: &Map<String, Value>, name: &str) -> String {
    let text = members.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn wanted_point(place: usize, point: &Map<String, Value>) -> Result<WantedPoint, ToolError> {
    let [ord, history, equip, role, facility, label] =
        ["ord", "history", "equip", "role", "facility", "label"].map(|name| text(point, name));
    let refuse = |message: &str| {
        Err(
            ToolError::invalid_params(format!("Point {}: {message}", place + 1))
                .with("argument", format!("points/{place}")),
        )
    };
    let stored = !equip.is_empty() || !role.is_empty() || !facility.is_empty();
    let given = [!ord.is_empty(), !history.is_empty(), stored];
    if given.iter().filter(|given| **given).count() != 1 {
        return refuse(
            "give either 'ord', or 'history', or 'equip' and 'role'; a live history and a stored trend are two points.",
        );
    }
    if stored && (equip.is_empty() || role.is_empty()) {
        return refuse(
            "a stored trend needs both 'equip' and 'role'; the capability points lists them.",
        );
    }
    let source = if stored {
        Source::Stored {
            facility: Some(facility).filter(|facility| !facility.is_empty()),
            equip,
            role,
        }
    } else if let Some(id) = history_id(&ord, &history) {
        if !id.starts_with('/') {
            return refuse("a history id is written /station/name, as listHistories shows it.");
        }
        Source::History { id: id.to_owned() }
    } else {
        Source::Point {
            ord: super::station_access::component_ord(&ord)?,
            text: ord,
        }
    };
    let label = match label.trim() {
        "" => usual_label(&source),
        given => given.to_owned(),
    };
    Ok(WantedPoint { source, label })
}

/// The id of the history that one of the two texts names.
fn history_id<'a>(ord: &'a str, history: &'a str) -> Option<&'a str> {
    if history.is_empty() {
        let id = ord.trim().strip_prefix("station:|").unwrap_or(ord.trim());
        return id.strip_prefix(HISTORY);
    }
    let id = history.trim();
    Some(id.strip_prefix(HISTORY).unwrap_or(id))
}

/// A point's equipment and name, in readable form.
fn usual_label(source: &Source) -> String {
    match source {
        Source::Stored { equip, role, .. } => format!("{equip} {role}"),
        Source::History { id } => unescape(id.rsplit('/').next().unwrap_or(id)),
        Source::Point { text, .. } => {
            let names: Vec<&str> = text
                .rsplit('/')
                // The folder of proxy points says nothing.
                .filter(|name| !name.is_empty() && *name != "points")
                .filter(|name| !name.contains(':'))
                .take(2)
                .collect();
            let names: Vec<String> = names.iter().rev().map(|name| unescape(name)).collect();
            match names.is_empty() {
                true => text.clone(),
                false => names.join(" "),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(arguments: Value) -> Result<TrendRequest, ToolError> {
        let Value::Object(values) = arguments else {
            panic!("object")
        };
        TrendRequest::of(&Arguments::new(values))
    }

    fn point(point: Value) -> Result<WantedPoint, ToolError> {
        request(json!({"points": [point], "from": "2026-03-01"}))
            .map(|mut request| request.points.pop().expect("a point"))
    }

    #[test]
    fn a_point_is_one_thing_with_a_readable_name() {
        let live = point(
            json!({"ord": "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/Supply$20Temp"}),
        );
        assert_eq!(live.expect("a point").label, "AHU_1 Supply Temp");
        for history in [
            json!({"ord": "history:/st/Supply$20Temp"}),
            json!({"history": "/st/Supply$20Temp"}),
            json!({"history": "history:/st/Supply$20Temp"}),
        ] {
            let history = point(history).expect("a history");
            assert_eq!(history.label, "Supply Temp");
            let id = "/st/Supply$20Temp".to_owned();
            assert_eq!(history.source, Source::History { id });
        }
        let stored = point(json!({"equip": "AHU-1", "role": "oat", "label": "Outdoors"}));
        assert_eq!(stored.expect("a trend").label, "Outdoors");
    }

    #[test]
    fn a_point_that_is_nothing_or_two_things_is_refused_with_its_place() {
        for wrong in [
            json!({}),
            json!({"label": "x"}),
            json!({"ord": "slot:/A", "history": "/st/a"}),
            json!({"ord": "slot:/A", "equip": "AHU-1"}),
            json!({"equip": "AHU-1"}),
            json!({"role": "oat"}),
            json!({"history": "a"}),
        ] {
            let error = point(wrong.clone()).expect_err("refused");
            assert_eq!(error.data["argument"], "points/0", "{wrong} {error}");
        }
        assert_eq!(
            point(json!({"ord": "no ord|"}))
                .expect_err("refused")
                .code
                .code(),
            -32006
        );
    }

    #[test]
    fn times_of_a_wall_clock_need_no_offset_even_where_the_clock_repeats_them() {
        let arguments = json!({
            "points": [{"equip": "A", "role": "oat"}],
            "from": "2026-11-01T01:30",
            "to": "2026-11-02T00:00:00-05:00",
            "spans": [{"start": "2026-11-01 06:00", "end": "2026-11-01 07:00", "label": "cold"}],
        });
        let request = request(arguments).expect("a request");
        let now = "2026-12-01T00:00:00Z".parse().expect("a time");
        let zone = chrono_tz::America::New_York;
        let hour = 3_600_000;
        let window = request
            .window(Axis::WallClock(Some(zone)), now)
            .expect("a window");
        let start = parse_bound("2026-11-01T01:30").expect("a time") / MILLISECOND;
        assert_eq!(
            (window.axis.from, window.axis.to),
            (start, start + 45 * hour / 2)
        );
        assert_eq!(window.spans[0].to - window.spans[0].from, hour);
        let error = request
            .window(Axis::Instants(zone), now)
            .expect_err("twice");
        assert_eq!(error.data["argument"], "from");
    }

    #[test]
    fn a_window_without_length_and_a_backward_span_are_refused() {
        let now = "2026-03-01T00:00:00Z".parse().expect("a time");
        let refused = |more: Value| {
            let mut arguments = json!({"points": [{"ord": "slot:/A"}]});
            for (key, value) in more.as_object().expect("object") {
                arguments[key] = value.clone();
            }
            let request = request(arguments).expect("a request");
            let error = request
                .window(Axis::Instants(Tz::UTC), now)
                .expect_err("refused");
            error.data["argument"].clone()
        };
        assert_eq!(refused(json!({"from": "2026-03-01"})), "from");
        assert_eq!(refused(json!({"from": "yesterday"})), "from");
        assert_eq!(refused(json!({"from": "2026-02-01", "to": "x"})), "to");
        let spans = json!([{"start": "2026-02-03", "end": "2026-02-02"}]);
        assert_eq!(
            refused(json!({"from": "2026-02-01", "spans": spans})),
            "spans/0/start"
        );
    }
}
