//! Ords that continue what somebody has typed: the children of the component typed so far.

use std::time::Duration;

use futures::future::BoxFuture;
use percent_encoding::percent_decode_str;

use super::in_uri;
use crate::station::facade::ChildNode;
use crate::station::ord::Ord;
use crate::tools::CallContext;
use crate::tools::station_access::{SharedStations, scope};

/// Time for a suggestion; whoever types does not wait longer.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Forms in which an ord of the station begins; the first is the one that is suggested.
const BEGINNINGS: [&str; 3] = ["station:|slot:/", "slot:/", "local:|station:|slot:/"];

/// What was typed: a component whose children are looked for, and the beginning of the wanted child's name.
#[derive(Debug, PartialEq, Eq)]
struct Typed {
    /// As typed, with the slash at its end.
    parent: String,
    stem: String,
    /// Typed percent-encoded, as it stands in a URI.
    encoded: bool,
}

impl Typed {
    /// None for a text that can become no ord of the station.
    fn read(text: &str) -> Option<Self> {
        // Slot names hold no percent sign: the station escapes it.
        let encoded = text.contains('%');
        let plain = percent_decode_str(text).decode_utf8().ok()?;
        let plain = plain.trim();
        if BEGINNINGS
            .iter()
            .any(|beginning| beginning.starts_with(plain))
        {
            return Some(Self {
                parent: BEGINNINGS[0].to_owned(),
                stem: String::new(),
                encoded,
            });
        }
        if !BEGINNINGS
            .iter()
            .any(|beginning| plain.starts_with(beginning))
        {
            return None;
        }
        let (parent, stem) = plain.rsplit_once('/')?;
        Some(Self {
            parent: format!("{parent}/"),
            stem: stem.to_owned(),
            encoded,
        })
    }

    /// A folder ends with a slash, so that its children can be asked for next.
    fn continued(&self, child: &ChildNode) -> String {
        let end = if child.is_point { "" } else { "/" };
        let ord = format!("{}{}{end}", self.parent, child.name);
        if self.encoded { in_uri(&ord) } else { ord }
    }
}

/// Ords that continue `text`, best first; none when the station does not answer in time.
pub async fn ords(stations: &SharedStations, context: &CallContext, text: &str) -> Vec<String> {
    let Some(typed) = Typed::read(text) else {
        return Vec::new();
    };
    match children(stations, context, &typed).await {
        Ok(children) => fitting(&typed, &children),
        Err(error) => {
            tracing::debug!(%error, "no ord can be suggested");
            Vec::new()
        }
    }
}

async fn children(
    stations: &SharedStations,
    context: &CallContext,
    typed: &Typed,
) -> Result<Vec<ChildNode>, String> {
    let ord = Ord::component(&typed.parent).map_err(|error| error.to_string())?;
    let station = stations.for_caller(&context.principal);
    let station = station.map_err(|error| error.message)?;
    let scope = scope(context).at_most(TIME_LIMIT);
    // Boxed: the compiler's limit on nested futures is near here.
    let asked: BoxFuture<'_, _> = Box::pin(station.list_children(&scope, &ord, 1));
    let tree = asked.await.map_err(|error| error.to_string())?;
    Ok(tree.root.children.unwrap_or_default())
}

/// Children by slot name, then those that fit by their display name; in slot order.
fn fitting(typed: &Typed, children: &[ChildNode]) -> Vec<String> {
    let stem = typed.stem.to_lowercase();
    let begins = |text: &str| text.to_lowercase().starts_with(&stem);
    let by_name = children.iter().filter(|child| begins(&child.name));
    let by_display_name = children
        .iter()
        .filter(|child| !begins(&child.name) && begins(&child.display_name));
    by_name
        .chain(by_display_name)
        .map(|child| typed.continued(child))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(name: &str, display_name: &str, is_point: bool) -> ChildNode {
        ChildNode {
            name: name.into(),
            ord: String::new(),
            display_name: display_name.into(),
            type_spec: "control:NumericPoint".into(),
            is_point,
            children: None,
        }
    }

    #[test]
    fn the_beginning_of_an_ord_is_completed_from_the_root() {
        for text in ["", "st", "station:|slot:", "slot:", "local:|"] {
            let typed = Typed::read(text).expect(text);
            assert_eq!(
                (typed.parent.as_str(), typed.stem.as_str()),
                ("station:|slot:/", "")
            );
        }
        for text in ["history:", "Drivers", "slot:Drivers"] {
            assert_eq!(Typed::read(text), None, "{text}");
        }
    }

    #[test]
    fn children_continue_the_spelling_that_was_typed() {
        let children = [
            child("Vav2", "Lobby", true),
            child("Room$201", "Vav Room", true),
            child("VAVs", "Boxes", false),
            child("AHU", "Air handler", false),
        ];
        let typed = Typed::read("slot:/Drivers/vav").expect("an ord");
        assert_eq!(
            fitting(&typed, &children),
            [
                "slot:/Drivers/Vav2",
                "slot:/Drivers/VAVs/",
                "slot:/Drivers/Room$201"
            ]
        );
        let typed = Typed::read("station%3A%7Cslot%3A%2FDrivers%2FRoom").expect("an ord");
        assert_eq!(
            fitting(&typed, &children),
            ["station%3A%7Cslot%3A%2FDrivers%2FRoom%24201"]
        );
    }
}
