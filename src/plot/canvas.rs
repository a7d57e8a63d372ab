//! A white sheet of one size, drawn by the same strokes as PNG or as SVG.

use std::fmt;
use std::ops::RangeInclusive;

use plotters::backend::RGBPixel;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::prelude::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::WHITE;

use super::PlotError;
use super::lettering::{self, escaped, label};

/// How often a pixel is drawn in each direction: averages smooth the edges of PNG, and give SVG half pixels.
const OVERSAMPLING: u32 = 2;

/// Format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    Png,
    Svg,
}

impl ImageFormat {
    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "png" => Some(Self::Png),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }

    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Svg => "image/svg+xml",
        }
    }
}

/// Width and height in pixels, within bounds that keep the memory of a picture small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize {
    width: u32,
    height: u32,
}

impl ImageSize {
    /// Widths that are drawn.
    pub const WIDTHS: RangeInclusive<u32> = 320..=2400;
    /// Heights that are drawn.
    pub const HEIGHTS: RangeInclusive<u32> = 200..=2000;

    /// A size within the bounds.
    ///
    /// # Errors
    /// It is smaller or larger.
    pub fn new(width: u32, height: u32) -> Result<Self, PlotError> {
        if Self::WIDTHS.contains(&width) && Self::HEIGHTS.contains(&height) {
            Ok(Self { width, height })
        } else {
            Err(PlotError::Size { width, height })
        }
    }

    pub const fn width(self) -> u32 {
        self.width
    }

    pub const fn height(self) -> u32 {
        self.height
    }

    fn drawn(self) -> (u32, u32) {
        (self.width * OVERSAMPLING, self.height * OVERSAMPLING)
    }
}

/// A finished picture.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    pub format: ImageFormat,
    pub size: ImageSize,
    /// The file: PNG, or SVG in UTF-8.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Picture {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            format,
            size,
            bytes,
        } = self;
        write!(out, "Picture({format:?}, {size:?}, {} bytes)", bytes.len())
    }
}

/// What a drawing draws on.
pub(super) struct Sheet<DB: DrawingBackend> {
    pub area: DrawingArea<DB, Shift>,
    /// Strokes are whole paths; otherwise one straight line after the other, because the painter of pixels fills whole
    /// paths by their outline and leaves holes where a path crosses itself.
    pub whole_paths: bool,
}

/// What can go wrong while a backend draws.
pub(super) type Failure<DB> = DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

/// Pixels of the picture in units of the sheet.
pub(super) fn px(pixels: u32) -> i32 {
    i32::try_from(pixels.saturating_mul(OVERSAMPLING)).unwrap_or(i32::MAX)
}

/// Width of a drawn line in units of the sheet: two pixels, so that one is covered wholly wherever the line lies.
pub(super) const LINE_WIDTH: u32 = 2 * OVERSAMPLING;

/// Something that can be drawn on any sheet.
pub(super) trait Drawing {
    /// Draws all of it.
    fn draw<DB: DrawingBackend>(&self, sheet: &Sheet<DB>) -> Result<(), Failure<DB>>;
}

/// Draws a picture that is called `title` where it cannot be seen.
///
/// # Errors
/// The library refuses something.
pub(super) fn paint(
    drawing: &impl Drawing,
    format: ImageFormat,
    size: ImageSize,
    title: &str,
) -> Result<Picture, PlotError> {
    lettering::load()?;
    let bytes = match format {
        ImageFormat::Png => painted_png(drawing, size)?,
        ImageFormat::Svg => painted_svg(drawing, size, title)?.into_bytes(),
    };
    Ok(Picture {
        format,
        size,
        bytes,
    })
}

fn failed(error: impl fmt::Display) -> PlotError {
    PlotError::Drawing(error.to_string())
}

fn painted_png(drawing: &impl Drawing, size: ImageSize) -> Result<Vec<u8>, PlotError> {
    let (width, height) = size.drawn();
    let mut pixels = vec![255; 3 * width as usize * height as usize];
    {
        let backend = BitMapBackend::<RGBPixel>::with_buffer_and_format(&mut pixels, size.drawn())
            .map_err(failed)?;
        let sheet = Sheet {
            area: backend.into_drawing_area(),
            whole_paths: false,
        };
        drawing.draw(&sheet).map_err(failed)?;
        sheet.area.present().map_err(failed)?;
    }
    encoded(&averaged(&pixels, size), size)
}

/// Each pixel as the mean of the drawn ones.
fn averaged(drawn: &[u8], size: ImageSize) -> Vec<u8> {
    const N: usize = OVERSAMPLING as usize;
    let row = 3 * N * size.width as usize;
    let mut sums = vec![0_u16; 3 * size.width as usize];
    let mut pixels = Vec::with_capacity(3 * size.width as usize * size.height as usize);
    for rows in drawn.chunks_exact(row * N) {
        sums.fill(0);
        for row in rows.chunks_exact(row) {
            for (sums, cells) in sums.chunks_exact_mut(3).zip(row.chunks_exact(3 * N)) {
                for cell in cells.chunks_exact(3) {
                    for (sum, value) in sums.iter_mut().zip(cell) {
                        *sum += u16::from(*value);
                    }
                }
            }
        }
        let cells = (N * N) as u16;
        pixels.extend(sums.iter().map(|sum| (sum / cells) as u8));
    }
    pixels
}

fn encoded(pixels: &[u8], size: ImageSize) -> Result<Vec<u8>, PlotError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.width, size.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

fn painted_svg(drawing: &impl Drawing, size: ImageSize, title: &str) -> Result<String, PlotError> {
    let mut text = String::new();
    {
        let sheet = Sheet {
            area: SVGBackend::with_string(&mut text, size.drawn()).into_drawing_area(),
            whole_paths: true,
        };
        sheet.area.fill(&WHITE).map_err(failed)?;
        drawing.draw(&sheet).map_err(failed)?;
        sheet.area.present().map_err(failed)?;
    }
    // The library's own start tag has the size of the sheet; what follows it are the shapes and the end tag.
    let shapes = text
        .split_once('>')
        .map(|(_, shapes)| shapes)
        .ok_or_else(|| failed("the SVG has no start"))?;
    let (width, height) = size.drawn();
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" stroke-linejoin=\"round\" stroke-linecap=\"round\">\n<title>{}</title>{shapes}",
        size.width,
        size.height,
        escaped(&label(title)),
    ))
}
