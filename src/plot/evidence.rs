//! The samples behind a finding: roles of one equipment over the site's wall clock, with the finding's times shaded.

use super::series::{Series, Shape};
use super::trend::{Span, TrendChart};
use super::{ImageFormat, ImageSize, PlotError, TimeAxis};

/// Nanoseconds of a millisecond.
const MILLISECOND: i64 = 1_000_000;

/// One role of an equipment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvidenceSeries<'a> {
    pub label: &'a str,
    pub units: Option<&'a str>,
    /// The values are 0 and 1.
    pub is_state: bool,
    /// Stamps of the store: nanoseconds of the wall clock.
    pub stamps: &'a [i64],
    /// One for each stamp; NaN where nothing is known.
    pub values: &'a [f64],
}

/// Draws roles as SVG, from the first to the last stamp; `spans` are start, end (both stamps) and label.
///
/// # Errors
/// More than eight roles, more spans or samples than a picture holds, or no two different stamps.
///
/// ```
/// use niagara_bridge::plot::{EvidenceSeries, ImageSize, evidence_svg};
/// const HOUR: i64 = 3_600_000_000_000;
/// let stamps: Vec<i64> = (0..24).map(|hour| hour * HOUR).collect();
/// let values: Vec<f64> = (0..24).map(|hour| 55.0 + f64::from(hour)).collect();
/// let supply = EvidenceSeries { label: "supply_air_temp", units: Some("degF"), is_state: false, stamps: &stamps, values: &values };
/// let spans = [(6 * HOUR, 9 * HOUR, "too warm")];
/// let svg = evidence_svg("AHU-1", Some("America/New_York"), &[supply], &spans, ImageSize::new(640, 300).unwrap()).unwrap();
/// assert!(svg.starts_with("<svg") && svg.contains("too warm"));
/// ```
pub fn evidence_svg(
    title: &str,
    zone_name: Option<&str>,
    series: &[EvidenceSeries<'_>],
    spans: &[(i64, i64, &str)],
    size: ImageSize,
) -> Result<String, PlotError> {
    let stamps = || series.iter().flat_map(|one| one.stamps.iter().copied());
    let millis = |stamp: i64| stamp.div_euclid(MILLISECOND);
    let from = stamps().min().map_or(0, millis);
    let to = stamps().max().map_or(0, millis);
    let chart = TrendChart {
        title: title.to_owned(),
        axis: TimeAxis::of_wall_clock(from, to, zone_name),
        series: series
            .iter()
            .map(|one| Series {
                label: one.label.to_owned(),
                units: one.units.map(str::to_owned),
                is_state: one.is_state,
                shape: Shape::ByInterval,
                times: one.stamps.iter().copied().map(millis).collect(),
                values: one.values.to_vec(),
            })
            .collect(),
        spans: spans
            .iter()
            .map(|(from, to, label)| Span {
                from: millis(*from),
                to: millis(*to),
                label: (*label).to_owned(),
            })
            .collect(),
    };
    let (picture, _) = chart.render(ImageFormat::Svg, size)?;
    String::from_utf8(picture.bytes).map_err(|error| PlotError::Drawing(error.to_string()))
}
