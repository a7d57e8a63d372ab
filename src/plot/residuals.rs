//! What a drifting measurement differs from its baseline over time, with the sums of the alarm (Drift §3.2, §3.5).

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

const RESIDUAL: RGBColor = PALETTE[0];
const DRIFT: RGBColor = PALETTE[1];
const ZERO: RGBColor = PALETTE[7];
const UP: RGBColor = PALETTE[2];
const DOWN: RGBColor = PALETTE[3];
const LIMIT: RGBColor = PALETTE[6];
const ALARM: RGBColor = SHADES[1];

/// When a shift began to be certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The first sample that alarmed.
    pub at: i64,
    /// `up` or `down`.
    pub direction: String,
}

/// The two sums of the alarm beside the times of the residuals.
#[derive(Debug, Clone, PartialEq)]
pub struct Cusum {
    /// Grows while residuals are above the slack.
    pub up: Vec<f64>,
    /// Grows while they are below it.
    pub down: Vec<f64>,
    pub limit: f64,
}

/// What is to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ResidualChart {
    /// Above the picture; empty for none.
    pub title: String,
    pub axis: TimeAxis,
    /// Unit of the residuals.
    pub units: String,
    /// Milliseconds as on the time axis.
    pub times: Vec<i64>,
    /// One for each time: measured less expected.
    pub residuals: Vec<f64>,
    /// Standard deviation of the baseline's residuals; twice of it is shaded.
    pub sigma: Option<f64>,
    /// Median of the residuals.
    pub drift: Option<f64>,
    pub cusum: Option<Cusum>,
    pub alarm: Option<Alarm>,
}

impl ResidualChart {
    /// Draws the picture.
    ///
    /// # Errors
    /// Too many samples, lists of different lengths, a window without length, or too small a size.
    pub fn render(&self, format: ImageFormat, size: ImageSize) -> Result<Picture, PlotError> {
        self.check()?;
        lettering::load()?;
        let title = match self.title.is_empty() {
            true => "Residuals".to_owned(),
            false => self.title.clone(),
        };
        paint(&self.plan(size)?, format, size, &title)
    }

    fn check(&self) -> Result<(), PlotError> {
        let times = self.times.len();
        if times > MOST_SAMPLES {
            return Err(PlotError::TooMany {
                what: "samples",
                given: times,
                most: MOST_SAMPLES,
            });
        }
        if self.axis.to <= self.axis.from {
            return Err(PlotError::EmptyWindow);
        }
        let sums = self.cusum.iter().flat_map(|cusum| {
            [
                ("sum of shifts up", cusum.up.len()),
                ("sum of shifts down", cusum.down.len()),
            ]
        });
        let mut lists = std::iter::once(("residuals", self.residuals.len())).chain(sums);
        match lists.find(|(_, values)| *values != times) {
            Some((label, values)) => Err(PlotError::Uneven {
                label: label.to_owned(),
                times,
                values,
            }),
            None => Ok(()),
        }
    }

    fn plan(&self, size: ImageSize) -> Result<Plan<'_>, PlotError> {
        let panels = if self.cusum.is_some() { 2 } else { 1 };
        let page = Page::new(
            &self.title,
            self.entries(),
            self.axis.caption(),
            panels,
            size,
        )?;
        let line = |values: &[f64]| self.line(values, size);
        let residuals = line(&self.residuals);
        let band = self.sigma.map(|sigma| 2.0 * sigma);
        let (low, high) = ends(
            values_of(&residuals)
                .chain(self.drift)
                .chain(band.into_iter().flat_map(|band| [-band, band]))
                .chain([0.0]),
        );
        let sums = self.cusum.as_ref().map(|cusum| {
            let (up, down) = (line(&cusum.up), line(&cusum.down));
            let values = values_of(&up).chain(values_of(&down));
            let (low, high) = ends(values.chain([0.0, cusum.limit]));
            let vertical = Vertical {
                scale: Scale::around(low, high, page.vertical_ticks),
                caption: label(&format!("sum, {}", self.units)),
            };
            Sums {
                up,
                down,
                limit: cusum.limit,
                vertical,
            }
        });
        Ok(Plan {
            chart: self,
            time: self.axis.scale(page.horizontal_ticks),
            vertical: Vertical {
                scale: Scale::around(low, high, page.vertical_ticks),
                caption: label(&self.units),
            },
            residuals,
            band,
            sums,
            page,
        })
    }

    /// Thinned stretches without gaps.
    fn line(&self, values: &[f64], size: ImageSize) -> Vec<Vec<(f64, f64)>> {
        let series = Series {
            label: String::new(),
            units: None,
            is_state: false,
            shape: Shape::Sampled,
            times: self.times.clone(),
            values: values.to_vec(),
        };
        let TimeAxis { from, to, .. } = self.axis;
        let stretches = series.within(from, to).stretches;
        let thin = |stretch: Vec<(i64, f64)>| {
            let kept = thinned(&stretch, (from, to), size.width());
            kept.into_iter()
                .map(|(time, value)| (time as f64, value))
                .collect()
        };
        stretches.into_iter().map(thin).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |mark, colour, label: &str| Entry {
            mark,
            colour,
            label: label.to_owned(),
        };
        let units = label(&self.units);
        let mut entries = vec![entry(Mark::Dot, RESIDUAL, "measured less expected")];
        if let Some(drift) = self.drift {
            let name = format!("drift {drift:.3} {units}");
            entries.push(entry(Mark::Line, DRIFT, &name));
        }
        if self.sigma.is_some() {
            entries.push(entry(
                Mark::Shade,
                ZERO,
                "twice the scatter of the baseline",
            ));
        }
        if self.cusum.is_some() {
            entries.push(entry(Mark::Line, UP, "sum of shifts up"));
            entries.push(entry(Mark::Line, DOWN, "sum of shifts down"));
            entries.push(entry(Mark::Line, LIMIT, "limit"));
        }
        if let Some(alarm) = &self.alarm {
            let name = format!("alarm {}", label(&alarm.direction));
            entries.push(entry(Mark::Line, ALARM, &name));
        }
        entries
    }
}

fn values_of(lines: &[Vec<(f64, f64)>]) -> impl Iterator<Item = f64> + '_ {
    lines.iter().flatten().map(|(_, value)| *value)
}

struct Sums {
    up: Vec<Vec<(f64, f64)>>,
    down: Vec<Vec<(f64, f64)>>,
    limit: f64,
    vertical: Vertical,
}

struct Plan<'a> {
    chart: &'a ResidualChart,
    page: Page,
    time: Scale,
    vertical: Vertical,
    residuals: Vec<Vec<(f64, f64)>>,
    band: Option<f64>,
    sums: Option<Sums>,
}

impl Plan<'_> {
    /// A line over the whole time at one value.
    fn level<DB: DrawingBackend>(
        &self,
        panel: &mut Panel<'_, DB>,
        value: f64,
        colour: RGBColor,
    ) -> Result<(), Failure<DB>> {
        match is_drawable(value) {
            true => panel.rule((self.time.low, value), (self.time.high, value), colour),
            false => Ok(()),
        }
    }

    fn draw_residuals<DB: DrawingBackend>(
        &self,
        panel: &mut Panel<'_, DB>,
    ) -> Result<(), Failure<DB>> {
        if let Some(band) = self.band.filter(|band| is_drawable(*band)) {
            let edges = [(self.time.low, -band, band), (self.time.high, -band, band)];
            panel.band(&edges, ZERO)?;
        }
        self.level(panel, 0.0, ZERO)?;
        for stretch in &self.residuals {
            panel.dots(Side::Left, stretch, RESIDUAL)?;
        }
        match self.chart.drift {
            Some(drift) => self.level(panel, drift, DRIFT),
            None => Ok(()),
        }
    }

    fn draw_sums<DB: DrawingBackend>(
        &self,
        panel: &mut Panel<'_, DB>,
        sums: &Sums,
    ) -> Result<(), Failure<DB>> {
        self.level(panel, sums.limit, LIMIT)?;
        for (lines, colour) in [(&sums.up, UP), (&sums.down, DOWN)] {
            for line in lines {
                panel.stroke(Side::Left, line, colour)?;
            }
        }
        Ok(())
    }
}

impl Drawing for Plan<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Sheet<DB>) -> Result<(), Failure<DB>> {
        let sums = self.sums.as_ref();
        let rooms = std::iter::once(&self.vertical).chain(sums.map(|sums| &sums.vertical));
        let room = rooms.map(Vertical::room).max().unwrap_or_default();
        self.page.draw(sheet, |number, area, has_x_labels| {
            let sums = sums.filter(|_| number == 1);
            let vertical = sums.map_or(&self.vertical, |sums| &sums.vertical);
            let axes = Axes {
                horizontal: &self.time,
                has_x_labels,
                left: vertical,
                right: None,
                left_room: room,
                right_room: px(22),
            };
            let mut panel = Panel::draw(area, sheet.whole_paths, &axes)?;
            match sums {
                Some(sums) => self.draw_sums(&mut panel, sums)?,
                None => self.draw_residuals(&mut panel)?,
            }
            match &self.chart.alarm {
                Some(alarm) => {
                    let at = alarm.at as f64;
                    let (low, high) = (vertical.scale.low, vertical.scale.high);
                    panel.rule((at, low), (at, high), ALARM)
                }
                None => Ok(()),
            }
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
        let times: Vec<i64> = (0..200).map(|hour| hour * HOUR).collect();
        let noise = |hour: i64| (hour * 7 % 5 - 2) as f64 * 0.1;
        let residuals: Vec<f64> = (0..200)
            .map(|hour| noise(hour) + if hour >= 100 { 2.0 } else { 0.0 })
            .collect();
        let mut sum = 0.0;
        let up: Vec<f64> = residuals
            .iter()
            .map(|residual| {
                sum = f64::max(0.0, sum + residual - 0.3);
                sum
            })
            .collect();
        ResidualChart {
            title: "AHU-1 <fan>".to_owned(),
            axis: TimeAxis::of_wall_clock(0, 199 * HOUR, None),
            units: "kW".to_owned(),
            times,
            residuals,
            sigma: Some(0.15),
            drift: Some(1.0),
            cusum: Some(Cusum {
                down: vec![0.0; up.len()],
                up,
                limit: 8.0,
            }),
            alarm: Some(Alarm {
                at: 110 * HOUR,
                direction: "up".to_owned(),
            }),
        }
    }

    fn size() -> ImageSize {
        ImageSize::new(640, 420).expect("a size")
    }

    #[test]
    fn the_shift_the_sums_and_the_alarm_are_seen() {
        let picture = chart().render(ImageFormat::Png, size()).expect("a picture");
        let pixels = Pixels::of(&picture);
        let drawn = |colour| -> Vec<(u32, u32)> {
            pixels.places(colour).filter(|(_, row)| *row > 80).collect()
        };
        let mean = |rows: Vec<u32>| rows.iter().sum::<u32>() / rows.len().max(1) as u32;
        let dots = drawn(RESIDUAL);
        let row_of = |from: u32, to: u32| {
            mean(
                dots.iter()
                    .filter(|(x, _)| (from..to).contains(x))
                    .map(|(_, row)| *row)
                    .collect(),
            )
        };
        // Later residuals lie higher.
        assert!(
            row_of(450, 600) + 50 < row_of(80, 300),
            "{} {}",
            row_of(450, 600),
            row_of(80, 300)
        );
        let alarm = drawn(ALARM);
        let columns: Vec<u32> = alarm.iter().map(|(x, _)| *x).collect();
        let (first, last) = (
            columns.iter().min().expect("an alarm"),
            columns.iter().max().expect("an alarm"),
        );
        assert!(last - first <= 2, "{first} {last}");
        assert!((330..400).contains(first), "{first}");
        // The sum passes its limit near the alarm, below the residuals.
        let limit = mean(drawn(LIMIT).iter().map(|(_, row)| *row).collect());
        let crossing = drawn(UP)
            .into_iter()
            .filter(|(_, row)| row.abs_diff(limit) < 3);
        let crossing: Vec<u32> = crossing.map(|(x, _)| x).collect();
        assert!(!crossing.is_empty());
        assert!(
            mean(crossing.clone()).abs_diff(*first) < 40,
            "{crossing:?} {first}"
        );
    }

    #[test]
    fn the_svg_names_what_is_drawn() {
        let text = text_of(&chart().render(ImageFormat::Svg, size()).expect("a picture"));
        for wanted in [
            "AHU-1 <fan>",
            "drift 1.000 kW",
            "alarm up",
            "limit",
            "sum, kW",
        ] {
            assert!(
                text.iter().any(|found| found == wanted),
                "{wanted}: {text:?}"
            );
        }
    }

    #[test]
    fn lists_of_different_lengths_are_refused() {
        let mut chart = chart();
        chart.residuals.pop();
        let error = chart.render(ImageFormat::Png, size()).expect_err("uneven");
        assert_eq!(
            error.to_string(),
            "'residuals' has 200 times and 199 values; every value needs its time"
        );
    }

    #[test]
    fn nothing_known_is_still_a_picture() {
        let mut chart = chart();
        (chart.times, chart.residuals) = (Vec::new(), Vec::new());
        (chart.cusum, chart.alarm, chart.sigma, chart.drift) =
            (None, None, Some(f64::NAN), Some(1e300));
        chart.render(ImageFormat::Png, size()).expect("a picture");
    }
}
