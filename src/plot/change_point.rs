//! Energy of days over outdoor temperature, with the change-point model and its band (M&V §4).

use niagara_analytics::mv::ChangePointModel;
use niagara_analytics::mv::forecast::student_t;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;

use super::canvas::{Drawing, Failure, Picture, Sheet, paint};
use super::frame::{Axes, PALETTE, Panel, Side, Vertical};
use super::legend::{Entry, Mark};
use super::lettering::{self, label};
use super::page::Page;
use super::scale::{LARGEST, Scale};
use super::{ImageFormat, ImageSize, PlotError};

/// Dots of one picture.
pub const MOST_DAYS: usize = 20_000;

/// Places at which a model is drawn; its bends are drawn besides.
const PLACES: usize = 120;

const BASELINE: RGBColor = PALETTE[0];
const REPORTING: RGBColor = PALETTE[1];
const MODEL: RGBColor = PALETTE[6];
const BEND: RGBColor = PALETTE[7];

/// A model as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCurve {
    /// For example `3P cooling`.
    pub label: String,
    /// Temperature and energy, by temperature.
    pub line: Vec<(f64, f64)>,
    /// Temperature, lower and upper energy, by temperature; empty for none.
    pub band: Vec<(f64, f64, f64)>,
    /// Temperatures at which the model bends.
    pub change_points: Vec<f64>,
}

impl ModelCurve {
    /// A model between two temperatures, with the band in which nine of ten single days are expected: Student's t times
    /// `√(s² (1 + gᵀ (XᵀX)⁺ g))`. No band for a fit without a degree of freedom.
    ///
    /// ```
    /// use niagara_analytics::mv::ChangePointModel;
    /// use niagara_bridge::plot::ModelCurve;
    /// let temperature: Vec<f64> = (30..90).map(f64::from).collect();
    /// let energy: Vec<f64> = temperature.iter().map(|t| 100.0 + 5.0 * (t - 60.0).max(0.0)).collect();
    /// let model = ChangePointModel::chosen(&temperature, &energy).unwrap();
    /// let curve = ModelCurve::of(&model, 30.0, 90.0);
    /// assert_eq!(curve.label, model.kind().label());
    /// assert!((curve.line.last().unwrap().1 - 250.0).abs() < 5.0);
    /// ```
    pub fn of(model: &ChangePointModel, low: f64, high: f64) -> Self {
        let step = (high - low) / PLACES as f64;
        let mut places: Vec<f64> = (0..=PLACES).map(|n| low + n as f64 * step).collect();
        let bends = model.change_points();
        places.extend(bends.iter().filter(|bend| (low..=high).contains(*bend)));
        places.sort_by(f64::total_cmp);
        let freedom = model.degrees_of_freedom();
        let variance = model.sse() / freedom.max(1) as f64;
        let half = |place: f64| {
            let leverage = model.variance_of(&model.terms(place));
            student_t(freedom) * (variance * (1.0 + leverage)).sqrt()
        };
        let band = places.iter().map(|place| {
            let (middle, half) = (model.at(*place), half(*place));
            (*place, middle - half, middle + half)
        });
        Self {
            label: model.kind().label().to_owned(),
            band: match freedom {
                0 => Vec::new(),
                _ => band.collect(),
            },
            line: places
                .iter()
                .map(|place| (*place, model.at(*place)))
                .collect(),
            change_points: bends,
        }
    }
}

/// What is to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePointChart {
    /// Above the picture; empty for none.
    pub title: String,
    /// What the horizontal axis shows, with its unit.
    pub temperature: String,
    /// What the vertical axis shows, with its unit.
    pub energy: String,
    /// Temperature and energy of the days that the model was fitted to.
    pub baseline: Vec<(f64, f64)>,
    /// Those of the days that are compared with it; may be empty.
    pub reporting: Vec<(f64, f64)>,
    pub model: Option<ModelCurve>,
}

impl ChangePointChart {
    /// Draws the picture.
    ///
    /// # Errors
    /// More than [`MOST_DAYS`] days, or too small a size.
    pub fn render(&self, format: ImageFormat, size: ImageSize) -> Result<Picture, PlotError> {
        let given = self.baseline.len() + self.reporting.len();
        if given > MOST_DAYS {
            return Err(PlotError::TooMany {
                what: "days",
                given,
                most: MOST_DAYS,
            });
        }
        lettering::load()?;
        let title = match self.title.is_empty() {
            true => format!("{} over {}", self.energy, self.temperature),
            false => self.title.clone(),
        };
        paint(&self.plan(size)?, format, size, &title)
    }

    fn plan(&self, size: ImageSize) -> Result<Plan<'_>, PlotError> {
        let page = Page::new(
            &self.title,
            self.entries(),
            label(&self.temperature),
            1,
            size,
        )?;
        let days = || self.baseline.iter().chain(&self.reporting).copied();
        let curve = self.model.as_ref();
        let line = || {
            curve
                .into_iter()
                .flat_map(|curve| curve.line.iter().copied())
        };
        let edges = curve.into_iter().flat_map(|curve| {
            let edges = curve.band.iter();
            edges.flat_map(|(_, low, high)| [*low, *high])
        });
        let places = days().chain(line()).map(|(place, _)| place);
        let values = days().chain(line()).map(|(_, value)| value).chain(edges);
        let (left, right) = ends(places);
        let (low, high) = ends(values);
        Ok(Plan {
            chart: self,
            horizontal: Scale::around(left, right, page.horizontal_ticks),
            vertical: Vertical {
                scale: Scale::around(low, high, page.vertical_ticks),
                caption: label(&self.energy),
            },
            page,
        })
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |mark, colour, label: String| Entry {
            mark,
            colour,
            label,
        };
        let days = |count: usize| match count {
            1 => "1 day".to_owned(),
            count => format!("{count} days"),
        };
        let mut entries = vec![entry(
            Mark::Dot,
            BASELINE,
            format!("baseline, {}", days(self.baseline.len())),
        )];
        if !self.reporting.is_empty() {
            let label = format!("reporting, {}", days(self.reporting.len()));
            entries.push(entry(Mark::Dot, REPORTING, label));
        }
        if let Some(model) = &self.model {
            let name = format!("model {}", label(&model.label));
            entries.push(entry(Mark::Line, MODEL, name));
            if !model.band.is_empty() {
                entries.push(entry(Mark::Shade, MODEL, "90 % of days".to_owned()));
            }
            let points: Vec<String> = model
                .change_points
                .iter()
                .map(|point| format!("{point:.1}"))
                .collect();
            if !points.is_empty() {
                let name = format!("change at {}", points.join(" and "));
                entries.push(entry(Mark::Line, BEND, name));
            }
        }
        entries
    }
}

/// Smallest and largest of the numbers that can be drawn; not a number without any.
pub(super) fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|value| is_drawable(*value))
        .fold((f64::NAN, f64::NAN), |(low, high), value| {
            (low.min(value), high.max(value))
        })
}

pub(super) fn is_drawable(value: f64) -> bool {
    value.is_finite() && value.abs() <= LARGEST
}

struct Plan<'a> {
    chart: &'a ChangePointChart,
    page: Page,
    horizontal: Scale,
    vertical: Vertical,
}

impl Drawing for Plan<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Sheet<DB>) -> Result<(), Failure<DB>> {
        let axes = Axes {
            horizontal: &self.horizontal,
            has_x_labels: true,
            left: &self.vertical,
            right: None,
            left_room: self.vertical.room(),
            right_room: super::canvas::px(22),
        };
        let (low, high) = (self.vertical.scale.low, self.vertical.scale.high);
        let drawable = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let sound = points.iter().copied();
            sound
                .filter(|(place, value)| is_drawable(*place) && is_drawable(*value))
                .collect()
        };
        self.page.draw(sheet, |_, area, _| {
            let mut panel = Panel::draw(area, sheet.whole_paths, &axes)?;
            if let Some(model) = &self.chart.model {
                let band = model.band.iter().copied();
                let band: Vec<(f64, f64, f64)> = band
                    .filter(|(at, low, high)| [at, low, high].into_iter().all(|n| is_drawable(*n)))
                    .collect();
                panel.band(&band, MODEL)?;
                for point in &model.change_points {
                    panel.rule((*point, low), (*point, high), BEND)?;
                }
            }
            panel.dots(Side::Left, &drawable(&self.chart.baseline), BASELINE)?;
            panel.dots(Side::Left, &drawable(&self.chart.reporting), REPORTING)?;
            match &self.chart.model {
                Some(model) => panel.stroke(Side::Left, &drawable(&model.line), MODEL),
                None => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pixels, text_of};
    use super::*;
    use niagara_analytics::mv::ModelKind;

    fn days() -> Vec<(f64, f64)> {
        (0..200)
            .map(|day| {
                let temperature = 30.0 + f64::from(day) * 0.3;
                let noise = f64::from(day * 7 % 11) - 5.0;
                (
                    temperature,
                    400.0 + 12.0 * (temperature - 60.0).max(0.0) + noise,
                )
            })
            .collect()
    }

    fn chart() -> ChangePointChart {
        let (temperature, energy): (Vec<f64>, Vec<f64>) = days().into_iter().unzip();
        let kind = ModelKind::ThreeParameterCooling;
        let model = ChangePointModel::of_kind(kind, &temperature, &energy).expect("a model");
        ChangePointChart {
            title: "Main meter".to_owned(),
            temperature: "outdoor temperature, degF".to_owned(),
            energy: "kWh per day".to_owned(),
            baseline: days(),
            reporting: vec![(70.0, 300.0), (75.0, 340.0)],
            model: Some(ModelCurve::of(&model, 30.0, 90.0)),
        }
    }

    fn size() -> ImageSize {
        ImageSize::new(600, 400).expect("a size")
    }

    #[test]
    fn model_band_and_days_are_where_they_belong() {
        let picture = chart().render(ImageFormat::Png, size()).expect("a picture");
        let pixels = Pixels::of(&picture);
        let below = |row: u32| row > 60;
        let dots = pixels
            .places(BASELINE)
            .filter(|(_, row)| below(*row))
            .count();
        assert!(dots > 300, "{dots}");
        // The model is flat on the left and rises on the right.
        let line: Vec<(u32, u32)> = pixels
            .places(MODEL)
            .filter(|(_, row)| below(*row))
            .collect();
        let row_near = |wanted: u32| {
            let near = line.iter().filter(|(x, _)| x.abs_diff(wanted) < 12);
            let rows: Vec<u32> = near.map(|(_, row)| *row).collect();
            assert!(!rows.is_empty(), "no model near column {wanted}");
            rows.iter().sum::<u32>() / rows.len() as u32
        };
        let (left, middle, right) = (row_near(120), row_near(260), row_near(540));
        assert!(left.abs_diff(middle) < 6, "{left} {middle}");
        assert!(right + 100 < middle, "{right} {middle}");
        // Reporting days lie below the model.
        let reporting = pixels.places(REPORTING).filter(|(_, row)| below(*row));
        let lowest = reporting.map(|(_, row)| row).max().expect("reporting days");
        assert!(lowest > middle, "{lowest} {middle}");
    }

    #[test]
    fn the_band_is_as_wide_as_the_days_scatter() {
        let curve = chart().model.expect("a model");
        let (at, low, high) = curve.band[curve.band.len() / 4];
        // Noise of -5 to 5 in equal steps has a standard deviation of √10, t at 90 % is 1.65, and the grid of change points
        // adds a little.
        let half = (high - low) / 2.0;
        assert!((5.2..7.0).contains(&half), "{at} {half}");
        let days = days();
        let inside = days.iter().filter(|(place, energy)| {
            let near = curve
                .band
                .iter()
                .min_by(|a, b| (a.0 - place).abs().total_cmp(&(b.0 - place).abs()));
            near.is_some_and(|(_, low, high)| (low - 1.0..=high + 1.0).contains(energy))
        });
        assert!(inside.count() >= 170);
    }

    #[test]
    fn the_svg_names_model_change_point_and_axes() {
        let mut chart = chart();
        chart.energy = "<b>kWh</b> & more".to_owned();
        let picture = chart.render(ImageFormat::Svg, size()).expect("a picture");
        let text = text_of(&picture);
        for wanted in [
            "model 3P cooling",
            "change at 60",
            "outdoor temperature, degF",
            "baseline, 200 days",
            "<b>kWh</b> & more",
        ] {
            assert!(
                text.iter().any(|found| found.starts_with(wanted)),
                "{wanted}: {text:?}"
            );
        }
    }

    #[test]
    fn no_day_and_no_number_is_too_odd_to_draw() {
        let odd = [f64::NAN, f64::INFINITY, -1e300, 0.0, 1e12];
        let every: Vec<(f64, f64)> = odd
            .iter()
            .flat_map(|x| odd.iter().map(|y| (*x, *y)))
            .collect();
        for baseline in [Vec::new(), every.clone(), vec![(50.0, 10.0)]] {
            let chart = ChangePointChart {
                title: String::new(),
                temperature: String::new(),
                energy: String::new(),
                baseline,
                reporting: Vec::new(),
                model: Some(ModelCurve {
                    label: String::new(),
                    line: every.clone(),
                    band: every.iter().map(|(a, b)| (*a, *b, *a)).collect(),
                    change_points: odd.to_vec(),
                }),
            };
            chart.render(ImageFormat::Png, size()).expect("a picture");
        }
        let mut many = chart();
        many.baseline = vec![(1.0, 1.0); MOST_DAYS];
        assert!(matches!(
            many.render(ImageFormat::Png, size()),
            Err(PlotError::TooMany { .. })
        ));
    }
}
