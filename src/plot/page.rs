//! What all pictures have around their panels: title, legend, and a caption below.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;

use super::canvas::{Failure, Sheet, px};
use super::frame::{INK, X_LABELS};
use super::legend::{Entry, Legend};
use super::lettering::{centred, fitting, label, text};
use super::{ImageSize, PlotError};

/// Pixels that a panel needs to be read, without the labels below it.
const PANEL: u32 = 100;

const MARGIN: u32 = 10;
const TITLE: u32 = 22;
const CAPTION: u32 = 18;

/// Pixels between two ticks of a vertical axis.
const TICK_DISTANCE: u32 = 35;

/// A picture without its panels.
#[derive(Debug, Clone)]
pub(super) struct Page {
    title: String,
    legend: Legend,
    caption: String,
    size: ImageSize,
    panels: usize,
    /// Ticks that a vertical axis has room for.
    pub vertical_ticks: usize,
    /// Ticks that a horizontal axis has room for.
    pub horizontal_ticks: usize,
}

impl Page {
    /// Puts title and legend above so many panels.
    ///
    /// # Errors
    /// The height is too little for the panels.
    pub fn new(
        title: &str,
        entries: Vec<Entry>,
        caption: String,
        panels: usize,
        size: ImageSize,
    ) -> Result<Self, PlotError> {
        let panels = panels.max(1);
        let mut page = Self {
            title: label(title),
            legend: Legend::place(entries, px(size.width() - 2 * MARGIN)),
            caption,
            size,
            panels,
            vertical_ticks: 2,
            horizontal_ticks: usize::try_from(size.width() / 90).unwrap_or(4),
        };
        let around = page.head() + X_LABELS + CAPTION;
        let rooms = u32::try_from(panels).unwrap_or(u32::MAX);
        let least = around.saturating_add(rooms.saturating_mul(PANEL));
        if size.height() < least {
            return Err(PlotError::TooLow {
                height: size.height(),
                panels,
                least,
            });
        }
        let ticks = (size.height() - around) / rooms / TICK_DISTANCE;
        page.vertical_ticks = usize::try_from(ticks).unwrap_or(2).clamp(2, 8);
        Ok(page)
    }

    /// Pixels above the first panel.
    fn head(&self) -> u32 {
        let title = match self.title.is_empty() {
            true => 0,
            false => TITLE,
        };
        MARGIN + title + self.legend.height()
    }

    /// Draws what is around, and each panel by `panel`: its number, its area, and whether it is the last.
    pub fn draw<DB: DrawingBackend>(
        &self,
        sheet: &Sheet<DB>,
        mut panel: impl FnMut(usize, &DrawingArea<DB, Shift>, bool) -> Result<(), Failure<DB>>,
    ) -> Result<(), Failure<DB>> {
        let left = px(MARGIN);
        let mut top = px(MARGIN);
        if !self.title.is_empty() {
            let title = fitting(&self.title, px(15), px(self.size.width() - 2 * MARGIN));
            let style = text(px(15), INK);
            sheet.area.draw_text(&title, &style, (left, top))?;
            top += px(TITLE);
        }
        self.legend.draw(&sheet.area, (left, top))?;
        let (_, body) = sheet.area.split_vertically(px(self.head()));
        let height = px(self.size.height() - self.head() - CAPTION);
        let (mut rest, foot) = body.split_vertically(height);
        let middle = px(self.size.width()) / 2;
        let caption = fitting(&self.caption, px(11), px(self.size.width() - 2 * MARGIN));
        foot.draw_text(&caption, &centred(px(11), INK), (middle, 0))?;
        let each = (height - px(X_LABELS)) / i32::try_from(self.panels).unwrap_or(i32::MAX);
        for number in 0..self.panels {
            let is_last = number + 1 == self.panels;
            let area = if is_last {
                rest.clone()
            } else {
                let (area, below) = rest.split_vertically(each);
                rest = below;
                area
            };
            panel(number, &area, is_last)?;
        }
        Ok(())
    }
}
