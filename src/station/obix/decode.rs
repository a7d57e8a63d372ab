//! Bytes to oBIX objects: tolerant of what stations really send, deaf to everything dangerous in XML.
//!
//! No document type definitions, no entities beyond the five predefined and character references,
//! bounded depth, element count and size (oBIX specification §1, §12).

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::borrow::Cow;
use thiserror::Error;

use super::object::{Attribute, Element, Object, shorten};

/// Bounds of one document.
#[derive(Debug, Clone, Copy)]
pub struct DecodeLimits {
    /// Largest document in bytes.
    pub bytes: usize,
    /// Largest number of elements.
    pub elements: usize,
    /// Deepest nesting.
    pub depth: usize,
}

impl Default for DecodeLimits {
    /// oBIX specification §12: 32 MiB and 500,000 elements; station documents nest below ten.
    fn default() -> Self {
        Self {
            bytes: 32 * 1024 * 1024,
            elements: 500_000,
            depth: 64,
        }
    }
}

/// Why a body is not an oBIX document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    #[error("the answer is an HTML page, not an oBIX document")]
    Html,
    #[error("the answer's root element is <{root}>, which is not an oBIX element")]
    NotObix { root: String },
    #[error("the answer is empty")]
    Empty,
    #[error("malformed XML at byte {position}: {reason}")]
    Malformed { position: u64, reason: String },
    #[error("the document holds a {what} at byte {position}, which is refused")]
    Forbidden { what: &'static str, position: u64 },
    #[error("the document exceeds {limit} {what}")]
    TooLarge { what: &'static str, limit: usize },
}

/// Decodes a document with the default bounds.
///
/// `charset` is that of the HTTP content type, if it named one.
pub fn decode(body: &[u8], charset: Option<&str>) -> Result<Object, DecodeError> {
    decode_within(body, charset, DecodeLimits::default())
}

/// Decodes a document within the given bounds.
pub fn decode_within(
    body: &[u8],
    charset: Option<&str>,
    limits: DecodeLimits,
) -> Result<Object, DecodeError> {
    if body.len() > limits.bytes {
        return Err(DecodeError::TooLarge {
            what: "bytes",
            limit: limits.bytes,
        });
    }
    let text = decode_text(body, charset);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.is_empty() {
        return Err(DecodeError::Empty);
    }
    if looks_like_html(text) {
        return Err(DecodeError::Html);
    }
    TreeBuilder::new(limits).build(text)
}

/// Order of the oBIX specification §1: byte order mark, XML declaration, HTTP charset, UTF-8; a body
/// that is not UTF-8 after all is taken as Latin-1.
fn decode_text<'a>(body: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return encoding
            .decode_without_bom_handling(body.get(mark..).unwrap_or_default())
            .0;
    }
    let named = declared_encoding(body)
        .or_else(|| charset.and_then(|label| Encoding::for_label(label.trim().as_bytes())));
    let (text, malformed) = named.unwrap_or(UTF_8).decode_without_bom_handling(body);
    if !malformed {
        return text;
    }
    WINDOWS_1252.decode_without_bom_handling(body).0
}

fn declared_encoding(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..body.len().min(200))?.trim_ascii_start();
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = declaration.split(|byte| *byte == b'>').next()?;
    let declaration = std::str::from_utf8(declaration).ok()?;
    let after = declaration
        .split_once("encoding")?
        .1
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Encoding::for_label(after.get(1..)?.split(quote).next()?.as_bytes())
}

fn looks_like_html(text: &str) -> bool {
    let head: String = text
        .chars()
        .take(200)
        .collect::<String>()
        .to_ascii_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html") || head.contains("<html")
}

/// Elements that are open, innermost last; unknown elements are skipped with all they hold.
struct TreeBuilder {
    limits: DecodeLimits,
    open: Vec<Object>,
    skipping: usize,
    elements: usize,
    root: Option<Object>,
}

impl TreeBuilder {
    fn new(limits: DecodeLimits) -> Self {
        Self {
            limits,
            open: Vec::new(),
            skipping: 0,
            elements: 0,
            root: None,
        }
    }

    fn build(mut self, text: &str) -> Result<Object, DecodeError> {
        let mut reader = Reader::from_str(text);
        loop {
            let event = reader
                .read_event()
                .map_err(|error| malformed(reader.error_position(), &error))?;
            let position = reader.buffer_position();
            match event {
                Event::Start(tag) => self.start(&tag, position)?,
                Event::Empty(tag) => {
                    self.start(&tag, position)?;
                    self.end();
                }
                Event::End(_) => self.end(),
                Event::DocType(_) => {
                    return Err(DecodeError::Forbidden {
                        what: "document type definition",
                        position,
                    });
                }
                Event::GeneralRef(reference) => check_reference(&reference, position)?,
                Event::Text(text) if self.open.is_empty() && self.skipping == 0 => {
                    let stray: &str = text.as_ref();
                    if !stray.trim().is_empty() {
                        return Err(DecodeError::Malformed {
                            position,
                            reason: "text outside the root element".into(),
                        });
                    }
                }
                Event::Text(_)
                | Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        if !self.open.is_empty() || self.skipping > 0 {
            return Err(DecodeError::Malformed {
                position: reader.buffer_position(),
                reason: "the document ends inside an element".into(),
            });
        }
        self.root.ok_or(DecodeError::Empty)
    }

    fn start(&mut self, tag: &BytesStart<'_>, position: u64) -> Result<(), DecodeError> {
        self.elements += 1;
        if self.elements > self.limits.elements {
            return Err(DecodeError::TooLarge {
                what: "elements",
                limit: self.limits.elements,
            });
        }
        if self.open.len() + self.skipping >= self.limits.depth {
            return Err(DecodeError::TooLarge {
                what: "levels of nesting",
                limit: self.limits.depth,
            });
        }
        if self.skipping > 0 {
            self.skipping += 1;
            return Ok(());
        }
        if self.open.is_empty() && self.root.is_some() {
            return Err(DecodeError::Malformed {
                position,
                reason: "a second root element".into(),
            });
        }
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let Some(element) = Element::from_local_name(name) else {
            if self.open.is_empty() {
                return Err(DecodeError::NotObix {
                    root: shorten(name),
                });
            }
            self.skipping = 1;
            return Ok(());
        };
        let mut object = Object::new(element);
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|error| malformed(position, &error))?;
            let name = attribute.key.local_name();
            if attribute.key.prefix().is_some() {
                continue;
            }
            let Some(kind) = Attribute::from_local_name(name.as_ref()) else {
                continue;
            };
            let text = attribute
                .normalized_value(XmlVersion::Explicit1_0)
                .map_err(|error| malformed(position, &error))?;
            object.set(kind, text.into_owned());
        }
        self.open.push(object);
        Ok(())
    }

    fn end(&mut self) {
        if self.skipping > 0 {
            self.skipping -= 1;
            return;
        }
        let Some(object) = self.open.pop() else {
            return;
        };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(object),
            None => self.root = Some(object),
        }
    }
}

/// Text carries no meaning in oBIX, but an entity in it betrays a document that wants expansion.
fn check_reference(
    reference: &quick_xml::events::BytesRef<'_>,
    position: u64,
) -> Result<(), DecodeError> {
    let name: &str = reference.as_ref();
    if name.starts_with('#') || matches!(name, "amp" | "lt" | "gt" | "quot" | "apos") {
        return Ok(());
    }
    Err(DecodeError::Forbidden {
        what: "entity reference",
        position,
    })
}

fn malformed(position: u64, error: &dyn std::fmt::Display) -> DecodeError {
    DecodeError::Malformed {
        position,
        reason: shorten(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::scalar::Scalar;
    use proptest::prelude::*;

    const POINT: &str = r#"
<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type='text/xsl' href='/obix/xsl'?>
<real val="21.5" href="https://st1/obix/config/Demo/Zone1Sp/" is="/obix/def/control:NumericWritable /obix/def/control:NumericPoint obix:Point"
      display="21.5 °C {ok} @ 16" unit="obix:units/celsius" xmlns="http://obix.org/ns/schema/1.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://obix.org/ns/schema/1.0 /obix/xsd">
  <str name="facets" val="units=u:celsius;°C;(K);+273.15;|precision=i:1|min=d:5.0|max=d:35.0" href="facets/" displayName="Facets" writable="true"/>
  <ref name="proxyExt" href="proxyExt/" is="/obix/def/control:NullProxyExt" null="true" display="null"/>
  <real name="out" val="21.5" href="out/" is="/obix/def/baja:StatusNumeric" display="21.5 °C {ok} @ 16" unit="obix:units/celsius"> </real>
  <real name="fallback" val="0.0" href="fallback/" null="true" display="- {null}" is="/obix/def/baja:StatusNumeric"/>
  <abstime name="overrideExpiration" val="1970-01-01T01:00:00.000+01:00" null="true" tz="Europe/Paris" href="overrideExpiration/"/>
  <op name="override" href="override/" in="/obix/def/control:NumericOverride /obix/def/control:Override" displayName="Override"/>
  <future name="x" val="1"><real name="inner" val="2"/></future>
</real>"#;

    #[test]
    fn a_point_is_read_with_its_prolog_whitespace_and_unknown_elements() {
        let point = decode(POINT.as_bytes(), Some("utf-8")).expect("the specification's example");
        assert_eq!(point.element, Element::Real);
        assert_eq!(point.scalar(None), Ok(Scalar::Real(21.5)));
        assert_eq!(point.unit_name(), Some("celsius"));
        assert_eq!(point.children.len(), 6);
        assert_eq!(
            point.child("fallback").expect("present").scalar(None),
            Ok(Scalar::Null)
        );
        assert!(point.child("facets").expect("present").is_writable());
        let op = point.child("override").expect("present");
        assert_eq!((op.element, op.href()), (Element::Op, Some("override/")));
    }

    #[test]
    fn any_namespace_prefix_is_accepted() {
        let body = br#"<o:obj xmlns:o="http://obix.org/ns/schema/1.0"><o:str name="a" val="x &amp; y &#10;z"/></o:obj>"#;
        let object = decode(body, None).expect("prefixed");
        assert_eq!(object.child("a").and_then(Object::val), Some("x & y \nz"));
    }

    #[test]
    fn a_latin1_body_keeps_its_letters() {
        let body = b"<obj display=\"vers le bas,\xe9vent\xe9\"/>";
        assert_eq!(
            decode(body, None).expect("fallback").display(),
            Some("vers le bas,éventé")
        );
        let declared = b"<?xml version='1.0' encoding='ISO-8859-1'?><obj display=\"\xe9\"/>";
        assert_eq!(
            decode(declared, Some("utf-8")).expect("declared").display(),
            Some("é")
        );
    }

    #[test]
    fn hostile_and_foreign_documents_are_refused_by_name() {
        let entity = br#"<!DOCTYPE obj [<!ENTITY a "aaaa">]><obj display="&a;"/>"#;
        assert!(matches!(
            decode(entity, None),
            Err(DecodeError::Forbidden { .. })
        ));
        assert!(matches!(
            decode(b"<obj display=\"&a;\"/>", None),
            Err(DecodeError::Malformed { .. })
        ));
        assert!(matches!(
            decode(b"<obj>&a;</obj>", None),
            Err(DecodeError::Forbidden { .. })
        ));
        assert_eq!(
            decode(b"<!DOCTYPE html><html></html>", None),
            Err(DecodeError::Html)
        );
        assert_eq!(
            decode(b"<rss/>", None),
            Err(DecodeError::NotObix { root: "rss".into() })
        );
        assert_eq!(decode(b" \n", None), Err(DecodeError::Empty));
        for body in [
            "<obj>",
            "<obj></list>",
            "<obj/><obj/>",
            "<obj/>x",
            "plain",
            "<obj a='1' a='2'/>",
        ] {
            assert!(
                matches!(
                    decode(body.as_bytes(), None),
                    Err(DecodeError::Malformed { .. })
                ),
                "{body}"
            );
        }
    }

    #[test]
    fn depth_elements_and_bytes_are_bounded() {
        let deep = "<obj>".repeat(100_000);
        assert!(matches!(
            decode(deep.as_bytes(), None),
            Err(DecodeError::TooLarge {
                what: "levels of nesting",
                ..
            })
        ));
        let limits = DecodeLimits {
            elements: 3,
            bytes: 60,
            ..DecodeLimits::default()
        };
        let wide = b"<obj><obj/><obj/><obj/></obj>";
        assert_eq!(
            decode_within(wide, None, limits),
            Err(DecodeError::TooLarge {
                what: "elements",
                limit: 3
            })
        );
        let long = format!("<obj display='{}'/>", "x".repeat(60));
        assert_eq!(
            decode_within(long.as_bytes(), None, limits),
            Err(DecodeError::TooLarge {
                what: "bytes",
                limit: 60
            })
        );
    }

    proptest! {
        #[test]
        fn no_bytes_upset_the_decoder(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&body, Some("utf-16"));
        }

        #[test]
        fn no_damaged_document_upsets_the_decoder(position in 0..POINT.len(), byte in any::<u8>(), cut in 0..POINT.len()) {
            let mut body = POINT.as_bytes().to_vec();
            body[position] = byte;
            if let Ok(object) = decode(&body, None) {
                object.children.iter().for_each(|child| drop(child.scalar(None)));
            }
            let _ = decode(&body[..cut], None);
        }
    }
}
