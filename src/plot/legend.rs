//! What the colours of a picture mean: entries in rows above it.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Rectangle};
use plotters::prelude::DrawingBackend;
use plotters::style::{Color, RGBColor};

use super::canvas::{Failure, LINE_WIDTH, px};
use super::frame::{INK, SHADE};
use super::lettering::{fitting, text, width};

/// Height of a row in pixels.
pub(super) const ROW: u32 = 17;

const SAMPLE: u32 = 18;
const BETWEEN: u32 = 14;
const TEXT: u32 = 11;

/// How an entry is drawn in the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Line,
    Shade,
    Dot,
}

/// One colour and what it means.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub mark: Mark,
    pub colour: RGBColor,
    pub label: String,
}

/// Entries with their places within a width.
#[derive(Debug, Clone)]
pub(super) struct Legend {
    placed: Vec<(i32, u32, Entry)>,
    rows: u32,
}

impl Legend {
    /// Puts entries side by side as long as they fit into so many units of the sheet.
    pub fn place(entries: Vec<Entry>, room: i32) -> Self {
        let mut placed = Vec::with_capacity(entries.len());
        let (mut x, mut row) = (0, 0);
        for mut entry in entries {
            let own = px(SAMPLE + 5);
            entry.label = fitting(&entry.label, px(TEXT), room - own);
            let needed = own + width(&entry.label, px(TEXT));
            if x > 0 && x + needed > room {
                x = 0;
                row += 1;
            }
            placed.push((x, row, entry));
            x += needed + px(BETWEEN);
        }
        let rows = match placed.is_empty() {
            true => 0,
            false => row + 1,
        };
        Self { placed, rows }
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.rows * ROW
    }

    /// Draws all entries; `left` and `top` are in units of the sheet.
    pub fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        (left, top): (i32, i32),
    ) -> Result<(), Failure<DB>> {
        for (x, row, entry) in &self.placed {
            let (x, y) = (left + x, top + px(row * ROW));
            let middle = y + px(ROW) / 2;
            let end = x + px(SAMPLE);
            match entry.mark {
                Mark::Line => area.draw(&PathElement::new(
                    [(x, middle), (end, middle)],
                    entry.colour.stroke_width(2 * LINE_WIDTH),
                ))?,
                Mark::Shade => area.draw(&Rectangle::new(
                    [(x, middle - px(5)), (end, middle + px(5))],
                    entry.colour.mix(2.0 * SHADE).filled(),
                ))?,
                Mark::Dot => area.draw(&Circle::new(
                    (x + px(SAMPLE) / 2, middle),
                    px(3),
                    entry.colour.filled(),
                ))?,
            }
            let place = (end + px(5), middle - px(TEXT) / 2);
            area.draw_text(&entry.label, &text(px(TEXT), INK), place)?;
        }
        Ok(())
    }
}
