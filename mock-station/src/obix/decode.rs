//! XML request bodies as objects, without DTD, entities or unbounded nesting (oBIX specification §12 "XML hardening").

use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use thiserror::Error;

use super::element::Element;

/// Deepest nesting of a request body; the deepest standard request has four levels.
const DEPTH_LIMIT: usize = 32;
/// Elements of a request body; a batch of the largest size in field use has a few thousand.
const ELEMENT_LIMIT: usize = 50_000;

/// Why a body is not an oBIX object.
#[derive(Debug, Error)]
pub enum DecodeError {
    #[error("the request body is not UTF-8 text")]
    Encoding,
    #[error("at byte {position}: {source}")]
    Syntax {
        position: u64,
        source: quick_xml::Error,
    },
    #[error("at byte {position}: {source}")]
    Attribute { position: u64, source: AttrError },
    #[error("at byte {position}: a document type is not accepted")]
    DocumentType { position: u64 },
    #[error("at byte {position}: the entity &{name}; is not defined")]
    Entity { position: u64, name: String },
    #[error("at byte {position}: more than {DEPTH_LIMIT} levels of elements")]
    Depth { position: u64 },
    #[error("at byte {position}: more than {ELEMENT_LIMIT} elements")]
    Elements { position: u64 },
    #[error("at byte {position}: a second root element")]
    SecondRoot { position: u64 },
    #[error("at byte {position}: an end tag without a start")]
    StrayEnd { position: u64 },
    #[error("the body ends inside of an element")]
    Unfinished,
    #[error("the body has no root element")]
    NoRoot,
}

/// The root object of a body; none for a body of white space only, which an op without argument has.
///
/// # Errors
/// When the body is no well-formed XML, has a document type, undefined entities, or exceeds the limits.
pub fn document(body: &[u8]) -> Result<Option<Element>, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|_| DecodeError::Encoding)?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root: Option<Element> = None;
    let mut elements = 0_usize;
    loop {
        let position = reader.buffer_position();
        let event = reader
            .read_event()
            .map_err(|source| DecodeError::Syntax { position, source })?;
        let finished = match event {
            Event::Start(start) => {
                open.push(element(&start, position)?);
                elements += 1;
                if open.len() > DEPTH_LIMIT {
                    return Err(DecodeError::Depth { position });
                }
                None
            }
            Event::Empty(start) => {
                elements += 1;
                Some(element(&start, position)?)
            }
            Event::End(_) => Some(open.pop().ok_or(DecodeError::StrayEnd { position })?),
            Event::DocType(_) => return Err(DecodeError::DocumentType { position }),
            Event::GeneralRef(reference) => {
                check_reference(&reference, position)?;
                None
            }
            Event::Eof => break,
            _ => None,
        };
        if elements > ELEMENT_LIMIT {
            return Err(DecodeError::Elements { position });
        }
        if let Some(done) = finished {
            match open.last_mut() {
                Some(parent) => parent.children.push(done),
                None if root.is_none() => root = Some(done),
                None => return Err(DecodeError::SecondRoot { position }),
            }
        }
    }
    if !open.is_empty() {
        return Err(DecodeError::Unfinished);
    }
    root.map(Some).ok_or(DecodeError::NoRoot)
}

/// Names count without their prefix, so that any namespace spelling is accepted; declarations keep theirs.
fn element(start: &BytesStart<'_>, position: u64) -> Result<Element, DecodeError> {
    let mut element = Element::new(start.local_name().as_ref().to_owned());
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|source| DecodeError::Attribute { position, source })?;
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|source| DecodeError::Syntax { position, source })?;
        element.set(attribute.key.as_ref().to_owned(), value.into_owned());
    }
    Ok(element)
}

fn check_reference(
    reference: &quick_xml::events::BytesRef<'_>,
    position: u64,
) -> Result<(), DecodeError> {
    let known = reference.is_char_ref()
        || quick_xml::escape::resolve_predefined_entity(&reference.xml10_content()).is_some();
    if known {
        Ok(())
    } else {
        Err(DecodeError::Entity {
            position,
            name: reference.xml10_content().into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> String {
        document(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn prefixes_comments_instructions_and_white_space_do_not_matter() {
        let body = "\n<?xml version=\"1.0\"?><!-- x --><?p y?><o:obj xmlns:o='http://obix.org/ns/schema/1.0'>\n <o:real name='a' val='1.5'> </o:real></o:obj>";
        let root = document(body.as_bytes()).unwrap().unwrap();
        assert_eq!(root.tag, "obj");
        assert_eq!(root.child("a").unwrap().get("val"), Some("1.5"));
        assert_eq!(document(b" \n").unwrap(), None);
    }

    #[test]
    fn hostile_bodies_are_refused() {
        let bomb = "<!DOCTYPE x [<!ENTITY a 'b'>]><obj/>";
        assert!(refused(bomb).contains("document type"), "{}", refused(bomb));
        assert!(refused("<obj>&lol;</obj>").contains("&lol;"));
        assert!(refused("<str val='&lol;'/>").contains("lol"));
        assert!(refused(&"<obj>".repeat(40)).contains("levels"));
        let many = format!("<list>{}</list>", "<uri/>".repeat(ELEMENT_LIMIT));
        assert!(refused(&many).contains("elements"));
        for body in [
            "<obj",
            "<obj>",
            "<obj></list>",
            "<obj/><obj/>",
            "text",
            "</obj>",
            "<obj a='1' a='2'/>",
        ] {
            assert!(document(body.as_bytes()).is_err(), "{body}");
        }
        assert!(document(&[0xff, b'<']).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_body_can_do_more_than_be_refused(body in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = document(&body);
        }

        #[test]
        fn no_markup_can_do_more_than_be_refused(body in "[<>/&;a-c='\"! ?\\[\\]-]{0,60}") {
            let _ = document(body.as_bytes());
        }
    }
}
