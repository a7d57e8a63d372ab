//! What a drifting measurement differs from its baseline over time, with the alarm of a lasting shift (Drift §3.2, §3.5).

use niagara_analytics::drift::Trace;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Drawing, Failure, Picture, Sheet, paint, px};
use super::change_point::{ends, is_drawable};
use super::frame::{Axes, PALETTE, Panel, SHADES, Side, Vertical};
use super::legend::{Entry, Mark};
use super::lettering::{self, label};
use super::page::Page;
use super::scale::Scale;
use super::series::{Series, Shape};
use super::thinning::thinned;
use super::trend::MOST_SAMPLES;
use super::{ImageFormat, ImageSize, PlotError, TimeAxis};

const MILLISECOND: i64 = 1_000_000;

/// Metrics of one picture; a detector has at most as many legs.
pub const MOST_TRACES: usize = 4;

const RESIDUAL: RGBColor = PALETTE[0];
const DRIFT: RGBColor = PALETTE[1];
const ZERO: RGBColor = PALETTE[7];
const ALARM: RGBColor = SHADES[1];

/// One metric against its baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct ResidualTrace {
    /// What was measured.
    pub name: String,
    pub units: String,
    /// Milliseconds as on the time axis.
    pub times: Vec<i64>,
    /// One for each time: measured less expected.
    pub residuals: Vec<f64>,
    /// Scatter of the baseline; twice of it is shaded.
    pub sigma: f64,
    /// Median of the residuals.
    pub drift: f64,
    /// The sample at which a shift was certain to last.
    pub alarm_at: Option<i64>,
}

/// What is to be drawn: a panel for each metric.
#[derive(Debug, Clone, PartialEq)]
pub struct ResidualChart {
    /// Above the picture; empty for none.
    pub title: String,
    pub axis: TimeAxis,
    pub traces: Vec<ResidualTrace>,
}

impl ResidualChart {
    /// The residuals of a drift finding on the wall clock of a zone, which is only told; none without a sample.
    pub fn of_traces(title: &str, zone_name: Option<&str>, traces: Vec<Trace>) -> Option<Self> {
        let millis = |stamp: i64| stamp.div_euclid(MILLISECOND);
        let stamps = || traces.iter().flat_map(|trace| trace.stamps.iter().copied());
        let (first, last) = (stamps().min()?, stamps().max()?);
        let traces = traces.into_iter().map(|trace| ResidualTrace {
            name: trace.name,
            units: trace.unit,
            times: trace.stamps.into_iter().map(millis).collect(),
            residuals: trace.residuals,
            sigma: trace.sigma,
            drift: trace.drift,
            alarm_at: trace.alarm_at.map(millis),
        });
        Some(Self {
            title: title.to_owned(),
            axis: TimeAxis::of_wall_clock(millis(first), millis(last), zone_name),
            traces: traces.collect(),
        })
    }

    /// Draws the picture.
    ///
    /// # Errors
    /// Too many metrics or samples, lists of different lengths, a window without length, or too small a size.
    pub fn render(&self, format: ImageFormat, size: ImageSize) -> Result<Picture, PlotError> {
        self.check()?;
        lettering::load()?;
        let title = match self.title.is_empty() {
            true => "Residuals".to_owned(),
            false => self.title.clone(),
        };
        paint(&self.plan(size)?, format, size, &title)
    }

    /// The height that such a chart looks well with.
    pub fn usual_height(&self) -> u32 {
        let panels = u32::try_from(self.traces.len().max(1)).unwrap_or(u32::MAX);
        (140 + panels.saturating_mul(240)).min(*ImageSize::HEIGHTS.end())
    }

    fn check(&self) -> Result<(), PlotError> {
        let limit = |what, given: usize, most: usize| match given > most {
            true => Err(PlotError::TooMany { what, given, most }),
            false => Ok(()),
        };
        limit("metrics", self.traces.len(), MOST_TRACES)?;
        let samples = self.traces.iter().map(|trace| trace.times.len()).sum();
        limit("samples", samples, MOST_SAMPLES)?;
        if self.axis.to <= self.axis.from {
            return Err(PlotError::EmptyWindow);
        }
        let mut traces = self.traces.iter();
        match traces.find(|trace| trace.times.len() != trace.residuals.len()) {
            Some(trace) => Err(PlotError::Uneven {
                label: label(&trace.name),
                times: trace.times.len(),
                values: trace.residuals.len(),
            }),
            None => Ok(()),
        }
    }

    fn plan(&self, size: ImageSize) -> Result<Plan<'_>, PlotError> {
        let panels = self.traces.len().max(1);
        let caption = self.axis.caption();
        let page = Page::new(&self.title, self.entries(), caption, panels, size)?;
        let traces = self.traces.iter();
        let panels =
            traces.map(|trace| PlannedTrace::of(trace, &self.axis, size, page.vertical_ticks));
        Ok(Plan {
            time: self.axis.scale(page.horizontal_ticks),
            traces: panels.collect(),
            page,
        })
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |mark, colour, label: &str| Entry {
            mark,
            colour,
            label: label.to_owned(),
        };
        let mut entries = vec![
            entry(Mark::Dot, RESIDUAL, "measured less expected"),
            entry(Mark::Line, DRIFT, "drift (median)"),
            entry(Mark::Shade, ZERO, "twice the scatter of the baseline"),
        ];
        if self.traces.iter().any(|trace| trace.alarm_at.is_some()) {
            entries.push(entry(Mark::Line, ALARM, "alarm of a lasting shift"));
        }
        entries
    }
}

struct PlannedTrace<'a> {
    trace: &'a ResidualTrace,
    /// Thinned.
    dots: Vec<(f64, f64)>,
    vertical: Vertical,
}

impl<'a> PlannedTrace<'a> {
    fn of(trace: &'a ResidualTrace, axis: &TimeAxis, size: ImageSize, ticks: usize) -> Self {
        let series = Series {
            label: String::new(),
            units: None,
            is_state: false,
            shape: Shape::Sampled,
            times: trace.times.clone(),
            values: trace.residuals.clone(),
        };
        let stretches = series.within(axis.from, axis.to).stretches;
        let dots: Vec<(f64, f64)> = stretches
            .iter()
            .flat_map(|stretch| thinned(stretch, (axis.from, axis.to), size.width()))
            .map(|(time, value)| (time as f64, value))
            .collect();
        let around = [0.0, trace.drift, 2.0 * trace.sigma, -2.0 * trace.sigma];
        let (low, high) = ends(dots.iter().map(|(_, value)| *value).chain(around));
        let units = label(&trace.units);
        Self {
            vertical: Vertical {
                scale: Scale::around(low, high, ticks),
                caption: format!("{}: drift {:.3} {units}", label(&trace.name), trace.drift),
            },
            trace,
            dots,
        }
    }
}

struct Plan<'a> {
    page: Page,
    time: Scale,
    traces: Vec<PlannedTrace<'a>>,
}

impl Plan<'_> {
    fn draw_trace<DB: DrawingBackend>(
        &self,
        panel: &mut Panel<'_, DB>,
        planned: &PlannedTrace<'_>,
    ) -> Result<(), Failure<DB>> {
        let trace = planned.trace;
        let (from, to) = (self.time.low, self.time.high);
        let band = 2.0 * trace.sigma;
        if is_drawable(band) {
            panel.band(&[(from, -band, band), (to, -band, band)], ZERO)?;
        }
        panel.rule((from, 0.0), (to, 0.0), ZERO)?;
        panel.dots(Side::Left, &planned.dots, RESIDUAL)?;
        if is_drawable(trace.drift) {
            panel.rule((from, trace.drift), (to, trace.drift), DRIFT)?;
        }
        let Some(at) = trace.alarm_at else {
            return Ok(());
        };
        let scale = &planned.vertical.scale;
        panel.rule((at as f64, scale.low), (at as f64, scale.high), ALARM)
    }
}

impl Drawing for Plan<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Sheet<DB>) -> Result<(), Failure<DB>> {
        let rooms = self.traces.iter().map(|planned| planned.vertical.room());
        let left_room = rooms.max().unwrap_or(px(22));
        self.page.draw(sheet, |number, area, has_x_labels| {
            let Some(planned) = self.traces.get(number) else {
                return Ok(());
            };
            let axes = Axes {
                horizontal: &self.time,
                has_x_labels,
                left: &planned.vertical,
                right: None,
                left_room,
                right_room: px(22),
            };
            let mut panel = Panel::draw(area, sheet.whole_paths, &axes)?;
            self.draw_trace(&mut panel, planned)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pixels, text_of};
    use super::*;

    const HOUR: i64 = 3_600_000;

    /// A shift of 2 from the 100th of 200 hours on, and the alarm 10 hours later.
    fn chart() -> ResidualChart {
        let noise = |hour: i64| (hour * 7 % 5 - 2) as f64 * 0.1;
        let shifted = |hour| noise(hour) + if hour >= 100 { 2.0 } else { 0.0 };
        ResidualChart {
            title: "AHU-1 <fan>".to_owned(),
            axis: TimeAxis::of_wall_clock(0, 199 * HOUR, None),
            traces: vec![ResidualTrace {
                name: "fan_power".to_owned(),
                units: "kW".to_owned(),
                times: (0..200).map(|hour| hour * HOUR).collect(),
                residuals: (0..200).map(shifted).collect(),
                sigma: 0.15,
                drift: 1.0,
                alarm_at: Some(110 * HOUR),
            }],
        }
    }

    fn size() -> ImageSize {
        ImageSize::new(640, 380).expect("a size")
    }

    #[test]
    fn the_shift_and_the_alarm_are_seen() {
        let picture = chart().render(ImageFormat::Png, size()).expect("a picture");
        let pixels = Pixels::of(&picture);
        let drawn = |colour| -> Vec<(u32, u32)> {
            pixels.places(colour).filter(|(_, row)| *row > 80).collect()
        };
        let dots = drawn(RESIDUAL);
        let row_of = |from: u32, to: u32| {
            let rows = dots.iter().filter(|(x, _)| (from..to).contains(x));
            let rows: Vec<u32> = rows.map(|(_, row)| *row).collect();
            rows.iter().sum::<u32>() / rows.len().max(1) as u32
        };
        let (early, late) = (row_of(80, 300), row_of(450, 600));
        assert!(late + 50 < early, "{late} {early}");
        let alarm: Vec<u32> = drawn(ALARM).iter().map(|(x, _)| *x).collect();
        let first = *alarm.iter().min().expect("an alarm");
        let last = *alarm.iter().max().expect("an alarm");
        assert!(last - first <= 2, "{first} {last}");
        // Behind the middle, where the shift began.
        assert!((330..400).contains(&first), "{first}");
    }

    #[test]
    fn the_svg_names_what_is_drawn() {
        let text = text_of(&chart().render(ImageFormat::Svg, size()).expect("a picture"));
        for wanted in [
            "AHU-1 <fan>",
            "fan_power: drift 1.000 kW",
            "alarm of a lasting shift",
        ] {
            assert!(
                text.iter().any(|found| found == wanted),
                "{wanted}: {text:?}"
            );
        }
    }

    #[test]
    fn lists_of_different_lengths_and_too_many_metrics_are_refused() {
        let mut uneven = chart();
        uneven.traces[0].residuals.pop();
        let error = uneven.render(ImageFormat::Png, size()).expect_err("uneven");
        let told = "'fan_power' has 200 times and 199 values; every value needs its time";
        assert_eq!(error.to_string(), told);
        let mut many = chart();
        many.traces = vec![many.traces[0].clone(); 5];
        let error = many.render(ImageFormat::Png, size()).expect_err("many");
        assert!(error.to_string().starts_with("5 metrics"), "{error}");
    }

    #[test]
    fn nothing_known_is_still_a_picture() {
        let mut chart = chart();
        let trace = &mut chart.traces[0];
        (trace.times, trace.residuals) = (Vec::new(), Vec::new());
        (trace.sigma, trace.drift, trace.alarm_at) = (f64::NAN, 1e300, Some(i64::MAX));
        chart.render(ImageFormat::Png, size()).expect("a picture");
        chart.traces.clear();
        chart.render(ImageFormat::Svg, size()).expect("a picture");
    }
}
