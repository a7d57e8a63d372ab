//! What tests see of a picture: its pixels, and its texts.

use plotters::style::RGBColor;
use quick_xml::events::Event;

use super::Picture;

/// A decoded PNG.
pub(super) struct Pixels {
    pub width: u32,
    pub height: u32,
    rgb: Vec<u8>,
}

impl Pixels {
    pub fn of(picture: &Picture) -> Self {
        let decoder = png::Decoder::new(std::io::Cursor::new(&picture.bytes));
        let mut reader = decoder.read_info().expect("a PNG");
        let mut rgb = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut rgb).expect("pixels");
        assert_eq!(info.color_type, png::ColorType::Rgb);
        assert_eq!(
            (info.width, info.height),
            (picture.size.width(), picture.size.height())
        );
        Self {
            width: info.width,
            height: info.height,
            rgb,
        }
    }

    pub fn at(&self, x: u32, y: u32) -> RGBColor {
        let place = 3 * (y as usize * self.width as usize + x as usize);
        RGBColor(self.rgb[place], self.rgb[place + 1], self.rgb[place + 2])
    }

    /// Column and row of every pixel of exactly that colour.
    pub fn places(&self, colour: RGBColor) -> impl Iterator<Item = (u32, u32)> + '_ {
        let all = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        all.filter(move |(x, y)| self.at(*x, *y) == colour)
    }
}

/// The texts of an SVG, which must be sound XML with nothing but shapes and texts.
pub(super) fn text_of(picture: &Picture) -> Vec<String> {
    let text = std::str::from_utf8(&picture.bytes).expect("UTF-8");
    let mut reader = quick_xml::Reader::from_str(text);
    let mut texts: Vec<String> = Vec::new();
    let mut current: Option<String> = None;
    loop {
        match reader.read_event().expect("sound XML") {
            Event::Start(tag) | Event::Empty(tag) => {
                let name = tag.name();
                let name: &str = name.as_ref();
                let known = [
                    "svg", "title", "text", "rect", "line", "polyline", "polygon", "circle",
                ];
                assert!(known.contains(&name), "{name}");
                if name == "text" || name == "title" {
                    current = Some(String::new());
                }
            }
            Event::Text(part) => {
                if let Some(current) = &mut current {
                    current.push_str(part.as_ref());
                }
            }
            Event::GeneralRef(name) => {
                if let Some(current) = &mut current {
                    let text = quick_xml::escape::resolve_xml_entity(name.as_ref());
                    current.push_str(text.expect("an entity"));
                }
            }
            Event::End(_) => texts.extend(current.take().map(|text| text.trim().to_owned())),
            Event::Eof => return texts,
            other => panic!("{other:?}"),
        }
    }
}
