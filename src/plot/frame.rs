//! Axes on a sheet, and strokes, bands and dots between them.

use plotters::chart::{ChartBuilder, DualCoordChartContext, LabelAreaPosition};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::DrawingBackend;
use plotters::style::{Color, RGBColor, TRANSPARENT};

use super::canvas::{Failure, LINE_WIDTH, px};
use super::lettering::{fitting, text, width};
use super::scale::Scale;

pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
const AXIS: RGBColor = RGBColor(110, 110, 110);
const GRID: RGBColor = RGBColor(224, 224, 224);

/// Eight colours that people with any colour vision can tell apart (Okabe and Ito, 2008; yellow is too light for a line).
pub(super) const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(140, 140, 140),
];

/// Colours of shaded spans; they are mixed with what they shade.
pub(super) const SHADES: [RGBColor; 6] = [
    RGBColor(230, 159, 0),
    RGBColor(204, 60, 60),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(150, 110, 200),
    RGBColor(140, 140, 140),
];

/// How strong a shade is.
pub(super) const SHADE: f64 = 0.22;

/// Height of the units above the vertical axes.
const CAPTION: u32 = 17;

/// Height of the labels of the horizontal axis.
pub(super) const X_LABELS: u32 = 20;

/// `#rrggbb`.
pub(super) fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Which of the two vertical axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// A vertical axis with its caption, mostly a unit.
#[derive(Debug, Clone)]
pub(super) struct Vertical {
    pub scale: Scale,
    pub caption: String,
}

impl Vertical {
    /// Room for labels.
    pub fn room(&self) -> i32 {
        let ticks = self.scale.ticks.iter();
        let labels = ticks.map(|tick| width(&tick.label, px(11)));
        labels.max().unwrap_or_default() + px(14)
    }
}

/// The axes of one panel.
pub(super) struct Axes<'a> {
    pub horizontal: &'a Scale,
    /// Whether the horizontal axis has labels; panels above others have none.
    pub has_x_labels: bool,
    pub left: &'a Vertical,
    pub right: Option<&'a Vertical>,
    /// Room beside the panel, so that panels above each other are equally wide.
    pub left_room: i32,
    pub right_room: i32,
}

/// Writes the units above the ends of their axes.
fn captions<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    axes: &Axes<'_>,
) -> Result<(), Failure<DB>> {
    let (whole, _) = area.dim_in_pixel();
    let whole = i32::try_from(whole).unwrap_or(i32::MAX);
    let style = text(px(11), INK);
    let left = fitting(&axes.left.caption, px(11), whole / 2 - px(10));
    area.draw_text(&left, &style, (px(10), px(2)))?;
    if let Some(right) = axes.right {
        let right = fitting(&right.caption, px(11), whole / 2 - px(10));
        let from = whole - px(10) - width(&right, px(11));
        area.draw_text(&right, &style, (from, px(2)))?;
    }
    Ok(())
}

type Plane = Cartesian2d<Scale, Scale>;

/// A panel with its axes drawn.
pub(super) struct Panel<'a, DB: DrawingBackend> {
    chart: DualCoordChartContext<'a, DB, Plane, Plane>,
    whole_paths: bool,
    left: (f64, f64),
}

impl<'a, DB: DrawingBackend> Panel<'a, DB> {
    /// Draws grid, axes and labels.
    pub fn draw(
        area: &DrawingArea<DB, Shift>,
        whole_paths: bool,
        axes: &Axes<'_>,
    ) -> Result<Panel<'a, DB>, Failure<DB>> {
        let bottom = match axes.has_x_labels {
            true => px(X_LABELS),
            false => px(4),
        };
        let horizontal = axes.horizontal;
        let right = axes.right.unwrap_or(axes.left);
        let mut chart = ChartBuilder::on(area)
            .margin_top(px(CAPTION))
            .set_label_area_size(LabelAreaPosition::Left, axes.left_room)
            .set_label_area_size(LabelAreaPosition::Right, axes.right_room)
            .set_label_area_size(LabelAreaPosition::Bottom, bottom)
            .build_cartesian_2d(horizontal.clone(), axes.left.scale.clone())?
            .set_secondary_coord(horizontal.clone(), right.scale.clone());
        let labels = text(px(11), INK);
        let nothing = |_: &f64| String::new();
        let mut mesh = chart.configure_mesh();
        mesh.bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS)
            .label_style(labels.clone());
        if !axes.has_x_labels {
            mesh.x_label_formatter(&nothing);
        }
        mesh.draw()?;
        if axes.right.is_some() {
            chart
                .configure_secondary_axes()
                .axis_style(AXIS)
                .label_style(labels)
                .draw()?;
        }
        captions(area, axes)?;
        Ok(Panel {
            chart,
            whole_paths,
            left: (axes.left.scale.low, axes.left.scale.high),
        })
    }

    /// A line through points, oldest first; a single point is a dot.
    pub fn stroke(
        &mut self,
        side: Side,
        points: &[(f64, f64)],
        colour: RGBColor,
    ) -> Result<(), Failure<DB>> {
        if let [point] = points {
            return self.dots(side, &[*point], colour);
        }
        let style = colour.stroke_width(LINE_WIDTH);
        let paths: Vec<PathElement<(f64, f64)>> = match self.whole_paths {
            true => vec![PathElement::new(points.to_vec(), style)],
            false => points
                .windows(2)
                .map(|pair| PathElement::new(pair.to_vec(), style))
                .collect(),
        };
        match side {
            Side::Left => self.chart.draw_series(paths).map(drop),
            Side::Right => self.chart.draw_secondary_series(paths).map(drop),
        }
    }

    /// A dot at each point.
    pub fn dots(
        &mut self,
        side: Side,
        points: &[(f64, f64)],
        colour: RGBColor,
    ) -> Result<(), Failure<DB>> {
        let dots = points
            .iter()
            .map(|point| Circle::new(*point, px(2), colour.filled()));
        match side {
            Side::Left => self.chart.draw_series(dots).map(drop),
            Side::Right => self.chart.draw_secondary_series(dots).map(drop),
        }
    }

    /// Shades the whole height between two places of the horizontal axis.
    pub fn shade(&mut self, from: f64, to: f64, colour: RGBColor) -> Result<(), Failure<DB>> {
        let (low, high) = self.left;
        let band = Rectangle::new([(from, high), (to, low)], colour.mix(SHADE).filled());
        self.chart.draw_series([band]).map(drop)
    }

    /// Shades what lies between two lines: place, lower and upper value, from left to right.
    pub fn band(&mut self, edges: &[(f64, f64, f64)], colour: RGBColor) -> Result<(), Failure<DB>> {
        if edges.len() < 2 {
            return Ok(());
        }
        let below = edges.iter().map(|(place, low, _)| (*place, *low));
        let above = edges.iter().rev().map(|(place, _, high)| (*place, *high));
        let outline: Vec<(f64, f64)> = below.chain(above).collect();
        let band = Polygon::new(outline, colour.mix(SHADE).filled());
        self.chart.draw_series([band]).map(drop)
    }

    /// A thin straight line across the panel, from one point to another.
    pub fn rule(
        &mut self,
        from: (f64, f64),
        to: (f64, f64),
        colour: RGBColor,
    ) -> Result<(), Failure<DB>> {
        let line = PathElement::new(vec![from, to], colour.stroke_width(LINE_WIDTH));
        self.chart.draw_series([line]).map(drop)
    }
}
