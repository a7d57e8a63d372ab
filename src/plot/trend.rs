//! Several points over time: axes by unit, shaded spans, open gaps.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Drawing, Failure, Picture, Sheet, paint, px};
pub use super::frame::Side;
use super::frame::{Axes, PALETTE, Panel, SHADES, Vertical, hex};
use super::legend::{Entry, Mark};
use super::lettering::{self, label};
use super::page::Page;
use super::scale::Scale;
use super::series::{Analysed, Gap, Series};
use super::thinning::thinned;
use super::{ImageFormat, ImageSize, PlotError, TimeAxis};

/// Points of one picture; more lines cannot be told apart.
pub const MOST_SERIES: usize = 8;

/// Shaded spans of one picture.
pub const MOST_SPANS: usize = 200;

/// Samples of one picture before they are thinned.
pub const MOST_SAMPLES: usize = 5_000_000;

/// Different labels of spans that the legend names.
const NAMED_SPANS: usize = 6;

/// A time to shade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub from: i64,
    pub to: i64,
    /// Spans of one label have one colour; empty for none.
    pub label: String,
}

/// What is to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendChart {
    /// Above the picture; empty for none.
    pub title: String,
    pub axis: TimeAxis,
    pub series: Vec<Series>,
    pub spans: Vec<Span>,
}

/// What a picture shows of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesReport {
    /// `#rrggbb`.
    pub colour: String,
    /// Which panel from above, beginning with 0, and which of its axes.
    pub panel: usize,
    pub side: Side,
    /// Whether values hold until the next sample, or a line joins samples.
    pub is_held: bool,
    /// Samples with a value in the window, and those that are drawn.
    pub samples: usize,
    pub drawn: usize,
    /// Samples without a value to draw.
    pub excluded: usize,
    pub first: Option<i64>,
    pub last: Option<i64>,
    /// Smallest and largest value.
    pub extremes: Option<(f64, f64)>,
    pub gaps: Vec<Gap>,
}

/// One vertical axis of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisReport {
    pub panel: usize,
    pub side: Side,
    pub units: Option<String>,
    pub low: f64,
    pub high: f64,
}

/// What a picture shows of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanReport {
    /// `#rrggbb`.
    pub colour: String,
    /// Some of it lies in the window.
    pub is_visible: bool,
}

/// What a picture shows.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendReport {
    pub panels: usize,
    pub axes: Vec<AxisReport>,
    /// In the order of the chart.
    pub series: Vec<SeriesReport>,
    /// In the order of the chart.
    pub spans: Vec<SpanReport>,
    /// Columns of which each keeps its extremes.
    pub columns: u32,
}

impl TrendChart {
    /// Draws the picture and tells what it shows.
    ///
    /// # Errors
    /// Too much for one picture, a window without length, or a height that is too little for the units.
    pub fn render(
        &self,
        format: ImageFormat,
        size: ImageSize,
    ) -> Result<(Picture, TrendReport), PlotError> {
        self.check()?;
        lettering::load()?;
        let plan = Plan::of(self, size)?;
        let picture = paint(&plan, format, size, &self.name())?;
        Ok((picture, plan.into_report()))
    }

    /// The height that such a chart looks well with.
    pub fn usual_height(&self) -> u32 {
        let panels = groups(&self.series).len().div_ceil(2).max(1);
        let panels = u32::try_from(panels).unwrap_or(u32::MAX);
        (300 + panels.saturating_mul(180)).min(*ImageSize::HEIGHTS.end())
    }

    fn check(&self) -> Result<(), PlotError> {
        let limit = |what, given: usize, most: usize| match given > most {
            true => Err(PlotError::TooMany { what, given, most }),
            false => Ok(()),
        };
        limit("points", self.series.len(), MOST_SERIES)?;
        limit("spans", self.spans.len(), MOST_SPANS)?;
        let samples = self.series.iter().map(|series| series.times.len()).sum();
        limit("samples", samples, MOST_SAMPLES)?;
        if self.axis.to <= self.axis.from {
            return Err(PlotError::EmptyWindow);
        }
        let uneven = |series: &&Series| series.times.len() != series.values.len();
        match self.series.iter().find(uneven) {
            Some(series) => Err(PlotError::Uneven {
                label: label(&series.label),
                times: series.times.len(),
                values: series.values.len(),
            }),
            None => Ok(()),
        }
    }

    /// What the picture is called where it cannot be seen.
    fn name(&self) -> String {
        if !self.title.is_empty() {
            return self.title.clone();
        }
        let labels: Vec<String> = self.series.iter().map(|one| label(&one.label)).collect();
        match labels.is_empty() {
            true => "Trend".to_owned(),
            false => labels.join(", "),
        }
    }
}

/// What series must have in common to share an axis.
type Group<'a> = (Option<&'a str>, bool);

fn group(series: &Series) -> Group<'_> {
    (series.units.as_deref(), series.is_state)
}

/// The groups in the order in which they appear.
fn groups(series: &[Series]) -> Vec<Group<'_>> {
    let mut found = Vec::new();
    for one in series.iter().map(group) {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Where a group has its axis: two of them to a panel.
fn place(group: usize) -> (usize, Side) {
    match group % 2 {
        0 => (group / 2, Side::Left),
        _ => (group / 2, Side::Right),
    }
}

struct PlannedSeries {
    analysed: Analysed,
    /// Thinned stretches.
    drawn: Vec<Vec<(i64, f64)>>,
    panel: usize,
    side: Side,
}

struct PlannedAxis {
    panel: usize,
    side: Side,
    units: Option<String>,
    vertical: Vertical,
}

/// Everything that is known before the first stroke.
struct Plan<'a> {
    chart: &'a TrendChart,
    size: ImageSize,
    time: Scale,
    series: Vec<PlannedSeries>,
    axes: Vec<PlannedAxis>,
    panels: usize,
    /// Index of the colour of each span.
    shades: Vec<usize>,
    page: Page,
}

impl<'a> Plan<'a> {
    fn of(chart: &'a TrendChart, size: ImageSize) -> Result<Self, PlotError> {
        let TimeAxis { from, to, .. } = chart.axis;
        let groups = groups(&chart.series);
        let series: Vec<PlannedSeries> = chart
            .series
            .iter()
            .map(|one| {
                let analysed = one.within(from, to);
                let thin = |stretch: &Vec<_>| thinned(stretch, (from, to), size.width());
                let number = groups.iter().position(|known| *known == group(one));
                let (panel, side) = place(number.unwrap_or_default());
                PlannedSeries {
                    drawn: analysed.stretches.iter().map(thin).collect(),
                    analysed,
                    panel,
                    side,
                }
            })
            .collect();
        let panels = groups.len().div_ceil(2).max(1);
        let shades = shades(&chart.spans);
        let entries = entries(chart, &series, &shades);
        let page = Page::new(&chart.title, entries, chart.axis.caption(), panels, size)?;
        let axes = groups
            .iter()
            .enumerate()
            .map(|(number, group)| axis(number, *group, &series, page.vertical_ticks))
            .collect();
        Ok(Self {
            chart,
            size,
            time: chart.axis.scale(page.horizontal_ticks),
            series,
            axes,
            panels,
            shades,
            page,
        })
    }

    fn axis(&self, panel: usize, side: Side) -> Option<&PlannedAxis> {
        let mut axes = self.axes.iter();
        axes.find(|axis| (axis.panel, axis.side) == (panel, side))
    }

    fn room(&self, side: Side) -> i32 {
        let axes = self.axes.iter().filter(|axis| axis.side == side);
        // The last label of the time axis needs some room as well.
        axes.map(|axis| axis.vertical.room())
            .max()
            .unwrap_or(px(22))
    }

    fn into_report(self) -> TrendReport {
        let series = self.series.into_iter().enumerate().map(|(number, one)| {
            let Analysed {
                is_held,
                gaps,
                samples,
                excluded,
                first,
                last,
                extremes,
                ..
            } = one.analysed;
            SeriesReport {
                colour: hex(colour(number)),
                panel: one.panel,
                side: one.side,
                is_held,
                samples,
                // The end of a held value is a stroke, no sample.
                drawn: one.drawn.iter().map(Vec::len).sum::<usize>().min(samples),
                excluded,
                first,
                last,
                extremes,
                gaps,
            }
        });
        let axes = self.axes.into_iter().map(|axis| AxisReport {
            panel: axis.panel,
            side: axis.side,
            units: axis.units,
            low: axis.vertical.scale.low,
            high: axis.vertical.scale.high,
        });
        let TimeAxis { from, to, .. } = self.chart.axis;
        let spans = self.chart.spans.iter().zip(&self.shades);
        TrendReport {
            panels: self.panels,
            series: series.collect(),
            axes: axes.collect(),
            spans: spans
                .map(|(span, shade)| SpanReport {
                    colour: hex(shade_colour(*shade)),
                    is_visible: visible(span, from, to).is_some(),
                })
                .collect(),
            columns: self.size.width(),
        }
    }
}

fn colour(series: usize) -> RGBColor {
    PALETTE[series % PALETTE.len()]
}

fn shade_colour(shade: usize) -> RGBColor {
    SHADES[shade % SHADES.len()]
}

/// Share of the window that every shaded span takes at least: some pixels of the smallest picture.
const LEAST_SHADE: f64 = 1.0 / 150.0;

/// A span that can be seen: one flagged sample begins and ends at the same time (Engine §4.4).
fn widened(begin: i64, end: i64, from: i64, to: i64) -> (f64, f64) {
    let (begin, end, from, to) = (begin as f64, end as f64, from as f64, to as f64);
    let lacking = (to - from) * LEAST_SHADE - (end - begin);
    if lacking <= 0.0 {
        return (begin, end);
    }
    let begin = (begin - lacking / 2.0).max(from);
    let end = (end + lacking / 2.0).min(to);
    (begin, end)
}

/// What of a span lies in the window.
fn visible(span: &Span, from: i64, to: i64) -> Option<(i64, i64)> {
    let (begin, end) = (span.from.max(from), span.to.min(to));
    (begin <= end && span.from <= span.to).then_some((begin, end))
}

/// A colour for each label, in the order in which labels appear.
fn shades(spans: &[Span]) -> Vec<usize> {
    let mut known: Vec<&str> = Vec::new();
    let mut shades = Vec::with_capacity(spans.len());
    for span in spans {
        let number = known.iter().position(|one| *one == span.label);
        shades.push(number.unwrap_or(known.len()));
        if number.is_none() {
            known.push(&span.label);
        }
    }
    shades
}

fn entries(chart: &TrendChart, series: &[PlannedSeries], shades: &[usize]) -> Vec<Entry> {
    let has_right = series.iter().any(|one| one.side == Side::Right);
    let lines = chart.series.iter().zip(series).enumerate();
    let mut entries: Vec<Entry> = lines
        .map(|(number, (one, planned))| {
            let side = has_right.then(|| planned.side.name());
            let units = one.units.as_deref().filter(|units| !units.is_empty());
            let notes: Vec<String> = [units, side].into_iter().flatten().map(label).collect();
            let name = label(&one.label);
            Entry {
                mark: Mark::Line,
                colour: colour(number),
                label: match notes.is_empty() {
                    true => name,
                    false => format!("{name} ({})", notes.join(", ")),
                },
            }
        })
        .collect();
    let mut named = Vec::new();
    for (span, shade) in chart.spans.iter().zip(shades) {
        if !span.label.is_empty() && !named.contains(shade) {
            named.push(*shade);
            if named.len() <= NAMED_SPANS {
                entries.push(Entry {
                    mark: Mark::Shade,
                    colour: shade_colour(*shade),
                    label: label(&span.label),
                });
            }
        }
    }
    entries
}

fn axis(
    number: usize,
    (units, is_state): Group<'_>,
    series: &[PlannedSeries],
    ticks: usize,
) -> PlannedAxis {
    let (panel, side) = place(number);
    let own = series
        .iter()
        .filter(|one| (one.panel, one.side) == (panel, side));
    let extremes = own.filter_map(|one| one.analysed.extremes);
    let both = extremes.reduce(|(low, high), (a, b)| (low.min(a), high.max(b)));
    let scale = match both {
        Some((low, high)) if is_state && low >= 0.0 && high <= 1.0 => Scale::states(),
        Some((low, high)) => Scale::around(low, high, ticks),
        None => Scale::between(0.0, 1.0, ticks),
    };
    PlannedAxis {
        panel,
        side,
        units: units.map(str::to_owned),
        vertical: Vertical {
            scale,
            caption: label(units.unwrap_or_default()),
        },
    }
}

/// The corners of a value that holds until the next one.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::with_capacity(2 * points.len());
    for &(time, value) in points {
        if let Some(&(_, held)) = corners.last() {
            corners.push((time, held));
        }
        corners.push((time, value));
    }
    corners.dedup();
    corners
}

impl Drawing for Plan<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Sheet<DB>) -> Result<(), Failure<DB>> {
        self.page.draw(sheet, |number, area, is_last| {
            self.draw_panel(sheet.whole_paths, area, number, is_last)
        })
    }
}

impl Plan<'_> {
    fn draw_panel<DB: DrawingBackend>(
        &self,
        whole_paths: bool,
        area: &DrawingArea<DB, Shift>,
        number: usize,
        has_x_labels: bool,
    ) -> Result<(), Failure<DB>> {
        let empty = Vertical {
            scale: Scale::between(0.0, 1.0, 2),
            caption: String::new(),
        };
        let vertical = |side| self.axis(number, side).map(|axis| &axis.vertical);
        let axes = Axes {
            horizontal: &self.time,
            has_x_labels,
            left: vertical(Side::Left).unwrap_or(&empty),
            right: vertical(Side::Right),
            left_room: self.room(Side::Left),
            right_room: self.room(Side::Right),
        };
        let mut panel = Panel::draw(area, whole_paths, &axes)?;
        let TimeAxis { from, to, .. } = self.chart.axis;
        for (span, shade) in self.chart.spans.iter().zip(&self.shades) {
            if let Some((begin, end)) = visible(span, from, to) {
                let (begin, end) = widened(begin, end, from, to);
                panel.shade(begin, end, shade_colour(*shade))?;
            }
        }
        for (index, series) in self.series.iter().enumerate() {
            if series.panel != number {
                continue;
            }
            for stretch in &series.drawn {
                let points: Vec<(f64, f64)> = stretch
                    .iter()
                    .map(|(time, value)| (*time as f64, *value))
                    .collect();
                let points = match series.analysed.is_held {
                    true => steps(&points),
                    false => points,
                };
                panel.stroke(series.side, &points, colour(index))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "trend_tests.rs"]
mod tests;
