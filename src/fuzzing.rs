//! One entry point per reader of foreign input, for the fuzz targets in `fuzz/` and the bounded runs in the tests.
//!
//! None of them may panic. Where two ways of reading must agree, they are compared.

use crate::knowledge::{decode, format};
use crate::station::facets::Facets;
use crate::station::ord::{HistoryId, Ord, SlotPath, escape, split_ord_list, unescape};
use crate::station::web::TableQuery;
use crate::station::web::csv::{CsvError, CsvReader, Ending, Record};
use crate::station::{boxp, fox as fox_protocol, obix};

pub use crate::station::web::scram_messages as scram;

/// A fuzz target: its name and what it runs.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 8] = [
    ("csv", csv),
    ("obix_xml", obix_xml),
    ("box_json", box_json),
    ("fox", fox),
    ("ord", ord),
    ("facets", facets),
    ("scram", scram),
    ("knowledge", knowledge),
];

/// The CSV reader: a document says the same in one piece and octet by octet.
pub fn csv(data: &[u8]) {
    let whole = read_csv(&[data]);
    let pieces: Vec<&[u8]> = data.chunks(1).collect();
    assert_eq!(whole, read_csv(&pieces));
}

fn read_csv(pieces: &[&[u8]]) -> (Vec<Record>, Result<Ending, CsvError>) {
    let mut reader = CsvReader::new();
    let mut records = Vec::new();
    for piece in pieces {
        let fed = reader.feed(piece);
        records.extend(std::iter::from_fn(|| reader.record()));
        if let Err(error) = fed {
            return (records, Err(error));
        }
    }
    let ending = reader.finish();
    records.extend(std::iter::from_fn(|| reader.record()));
    (records, ending)
}

/// Knowledge documents: what was read is written and read again as the same.
pub fn knowledge(data: &[u8]) {
    let read = |text: &str| {
        let (format, tree) = format::parse("input", text).ok()?;
        Some((format, decode::decode("input", tree).ok()?.document))
    };
    let Some((format, document)) = std::str::from_utf8(data).ok().and_then(read) else {
        return;
    };
    let Ok(text) = document.to_text("input", format) else {
        return;
    };
    assert_eq!(read(&text), Some((format, document)), "{text}");
}

/// The oBIX decoder, and the encoder on whatever it made.
pub fn obix_xml(data: &[u8]) {
    if let Ok(object) = obix::decode::decode(data, None) {
        let text = obix::encode::encode(&object);
        assert!(text.starts_with('<'), "{text:?}");
    }
}

/// BOX frames, and nodes in whatever JSON they hold.
pub fn box_json(data: &[u8]) {
    let replies = boxp::frame::decode(data, 1, 2).unwrap_or_default();
    for body in replies.into_iter().flatten().flatten() {
        decode_nodes(&body);
    }
    if let Ok(json) = serde_json::from_slice::<serde_json::Value>(data) {
        decode_nodes(&json);
    }
}

fn decode_nodes(json: &serde_json::Value) {
    if let Ok(node) = boxp::Node::decode(json) {
        for component in node.components() {
            let _ = (component.slot_name(), component.type_name());
        }
    }
    // Nodes arrive inside operations of many shapes.
    for inner in json.as_array().into_iter().flatten() {
        let _ = boxp::Node::decode(inner);
    }
}

/// Fox frames, one after the other.
pub fn fox(data: &[u8]) {
    use fox_protocol::frame::{Parsed, parse};
    let mut rest = data;
    while let Ok(Parsed::Frame(frame, length)) = parse(rest) {
        assert!(
            (1..=rest.len()).contains(&length),
            "{length} of {}",
            rest.len()
        );
        for field in &frame.fields {
            let _ = field.text();
        }
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// ORDs, slot paths, names and queries: what was understood reads the same when written again.
pub fn ord(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(ord) = Ord::parse(&text) {
        assert_eq!(Ord::parse(&ord.to_string()), Ok(ord.clone()), "{text:?}");
        let _ = (ord.absolute(), ord.parent(), ord.name().cloned());
    }
    if let Ok(path) = text.parse::<SlotPath>() {
        assert_eq!(path.to_string().parse(), Ok(path), "{text:?}");
    }
    if let Ok(history) = text.parse::<HistoryId>() {
        assert_eq!(history.to_string().parse(), Ok(history), "{text:?}");
    }
    assert_eq!(unescape(&escape(&text)), *text);
    let _ = (
        Ord::component(&text),
        split_ord_list(&text),
        TableQuery::parse(&text),
    );
}

/// Facets: what was understood reads the same when written again.
pub fn facets(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(facets) = text.parse::<Facets>() {
        let written = facets.to_string();
        let again = written.parse::<Facets>().map(|facets| facets.to_string());
        assert_eq!(again, Ok(written), "{text:?}");
    }
    let _ = Facets::parse_display(&text).to_string();
}
