//! Objects as XML text (oBIX specification §1 "Prolog", "Namespace").

use std::borrow::Cow;
use std::fmt::Write;

use super::element::Element;

const PROLOG: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <?xml-stylesheet type='text/xsl' href='/obix/xsl'?>\n";

/// What the root carries besides its own attributes.
const NAMESPACES: [(&str, &str); 3] = [
    ("xmlns", "http://obix.org/ns/schema/1.0"),
    ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
    (
        "xsi:schemaLocation",
        "http://obix.org/ns/schema/1.0 /obix/xsd",
    ),
];

/// A whole document with `root` as its root.
pub fn document(root: &Element) -> String {
    let mut text = String::from(PROLOG);
    write_element(&mut text, root, 0, &NAMESPACES);
    text
}

/// Deeper levels are not indented further: nesting is limited by what the station composes, not by input.
fn write_element(text: &mut String, element: &Element, depth: usize, more: &[(&str, &str)]) {
    let indent = "  ".repeat(depth.min(8));
    text.push_str(&indent);
    text.push('<');
    text.push_str(&element.tag);
    for (key, value) in element.attributes().chain(more.iter().copied()) {
        // Writing to a string cannot fail.
        let _ = write!(text, " {key}=\"{}\"", escape(value));
    }
    if element.children.is_empty() {
        text.push_str("/>\n");
        return;
    }
    text.push_str(">\n");
    for child in &element.children {
        write_element(text, child, depth + 1, &[]);
    }
    text.push_str(&indent);
    text.push_str("</");
    text.push_str(&element.tag);
    text.push_str(">\n");
}

/// Line breaks and tabs become character references, which attribute normalisation leaves alone; characters that XML 1.0
/// cannot carry become U+FFFD.
fn escape(value: &str) -> Cow<'_, str> {
    let plain =
        |c: char| c >= ' ' && !matches!(c, '&' | '<' | '>' | '"' | '\'' | '\u{fffe}' | '\u{ffff}');
    if value.chars().all(plain) {
        return Cow::Borrowed(value);
    }
    let mut escaped = String::with_capacity(value.len() + 16);
    for c in value.chars() {
        match c {
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push_str(&quick_xml::escape::escape(&*other.encode_utf8(&mut [0; 4]))),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::super::decode;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_document_has_prolog_namespace_and_escaped_attributes() {
        let root = Element::value("str", "note", "a < b & \"c\"\nd\u{1}");
        let text = document(&root);
        assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?xml-stylesheet type='text/xsl' href='/obix/xsl'?>\n<str name=\"note\""), "{text}");
        assert!(
            text.contains("val=\"a &lt; b &amp; &quot;c&quot;&#10;d\u{fffd}\""),
            "{text}"
        );
        assert!(text.contains("xmlns=\"http://obix.org/ns/schema/1.0\""));
    }

    fn trees() -> impl Strategy<Value = Element> {
        let attributes = proptest::collection::vec(("[a-z]{1,5}", "[ -~\n\té°😀]{0,12}"), 0..4);
        let leaf = ("[a-z]{1,6}", attributes).prop_map(|(tag, attributes)| {
            attributes
                .into_iter()
                .fold(Element::new(tag), |element, (key, value)| {
                    element.with(format!("a{key}"), value)
                })
        });
        leaf.prop_recursive(4, 24, 4, |inner| {
            (inner.clone(), proptest::collection::vec(inner, 0..4)).prop_map(
                |(mut root, children)| {
                    root.children.extend(children);
                    root
                },
            )
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(tree in trees()) {
            let read = decode::document(document(&tree).as_bytes()).unwrap().unwrap();
            let mut expected = tree;
            for (key, value) in NAMESPACES {
                expected.set(key, value);
            }
            prop_assert_eq!(read, expected);
        }
    }
}
