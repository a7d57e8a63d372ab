//! Pictures of samples: the one plotting module, as PNG and as SVG, without fonts of the system.
//!
//! - [`canvas`], [`lettering`]: a white sheet, its format and size; text in the bundled font.
//! - [`scale`], [`time_scale`], [`frame`], [`legend`], [`page`]: axes with ticks, strokes between them, what the colours
//!   mean, and how all of it lies on a sheet.
//! - [`series`], [`thinning`]: samples, gaps among them, and fewer samples with the same extremes.
//! - [`trend`]: several points over time; [`evidence`]: the samples behind a finding.
//! - [`change_point`]: energy over temperature with its model; [`residuals`]: a drift over time with its alarm.
//!
//! Everything is drawn with `plotters`; PNG is drawn at twice its size and averaged, so that edges are smooth.

pub mod canvas;
pub mod change_point;
pub mod evidence;
mod frame;
mod legend;
mod lettering;
mod page;
pub mod residuals;
mod scale;
pub mod series;
#[cfg(test)]
mod testing;
mod thinning;
mod time_scale;
pub mod trend;

pub use canvas::{ImageFormat, ImageSize, Picture};
pub use change_point::{ChangePointChart, ModelCurve};
pub use evidence::{EvidenceSeries, evidence_svg};
pub use residuals::{ResidualChart, ResidualTrace};
pub use series::{Gap, Series, Shape};
pub use time_scale::TimeAxis;
pub use trend::{AxisReport, SeriesReport, Side, Span, SpanReport, TrendChart, TrendReport};

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    #[error(
        "a picture of {width} by {height} pixels is not drawn; choose a width of {} to {} and a height of {} to {}",
        ImageSize::WIDTHS.start(), ImageSize::WIDTHS.end(), ImageSize::HEIGHTS.start(), ImageSize::HEIGHTS.end()
    )]
    Size { width: u32, height: u32 },
    #[error("{given} {what} do not fit into one picture; give at most {most}")]
    TooMany {
        what: &'static str,
        given: usize,
        most: usize,
    },
    #[error(
        "a height of {height} pixels is too little for {panels} panels of two units each; give at least {least}"
    )]
    TooLow {
        height: u32,
        panels: usize,
        least: u32,
    },
    #[error("the time axis ends at or before its start; choose a later end")]
    EmptyWindow,
    #[error("'{label}' has {times} times and {values} values; every value needs its time")]
    Uneven {
        label: String,
        times: usize,
        values: usize,
    },
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}
