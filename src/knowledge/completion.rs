//! Ids that fit what somebody has typed so far: by id, by name, by alias.

use super::document::KnowledgeDocument;
use super::search::fold;

/// How well a text fits what was typed; better ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Begins,
    WordBegins,
    Contains,
}

/// Ids of the equipment that fits, best first, then in file order; nothing typed fits everything.
pub fn equipment_ids(document: &KnowledgeDocument, typed: &str) -> Vec<String> {
    let entries = document.equipment.iter();
    best(
        entries.map(|entry| (&*entry.id, entry.name.as_deref(), &*entry.aliases)),
        typed,
    )
}

/// Ids of the spaces that fit, best first, then in file order.
pub fn space_ids(document: &KnowledgeDocument, typed: &str) -> Vec<String> {
    let entries = document.spaces.iter();
    best(
        entries.map(|entry| (&*entry.id, entry.name.as_deref(), &*entry.aliases)),
        typed,
    )
}

/// Ids of the points without equipment that fit, best first, then in file order.
pub fn standalone_point_ids(document: &KnowledgeDocument, typed: &str) -> Vec<String> {
    let entries = document.points.iter();
    best(
        entries.map(|entry| (&*entry.id, entry.name.as_deref(), &*entry.aliases)),
        typed,
    )
}

/// Texts of `choices` that fit, best first.
pub fn texts<'a>(choices: impl IntoIterator<Item = &'a str>, typed: &str) -> Vec<String> {
    best(
        choices.into_iter().map(|choice| (choice, None, &[][..])),
        typed,
    )
}

/// A fit by id comes before the same fit by name, and that before one by an alias.
fn best<'a>(
    entries: impl Iterator<Item = (&'a str, Option<&'a str>, &'a [String])>,
    typed: &str,
) -> Vec<String> {
    let typed = fold(typed.trim());
    let mut found: Vec<((Fit, usize), &str)> = entries
        .filter(|(id, _, _)| !id.is_empty())
        .filter_map(|(id, name, aliases)| {
            let known = [Some(id), name].into_iter().flatten();
            let known = known.chain(aliases.iter().map(String::as_str)).enumerate();
            let fits = known.filter_map(|(place, text)| Some((fit(text, &typed)?, place.min(2))));
            Some((fits.min()?, id))
        })
        .collect();
    // Stable, so entries that fit alike keep their order.
    found.sort_by_key(|(fit, _)| *fit);
    found.into_iter().map(|(_, id)| id.to_owned()).collect()
}

fn fit(text: &str, typed: &str) -> Option<Fit> {
    let text = fold(text);
    if text.starts_with(typed) {
        return Some(Fit::Begins);
    }
    let mut contains = None;
    for (place, _) in text.match_indices(typed) {
        let before = text.get(..place).and_then(|head| head.chars().next_back());
        if before.is_none_or(|letter| !letter.is_alphanumeric()) {
            return Some(Fit::WordBegins);
        }
        contains = Some(Fit::Contains);
    }
    contains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Equipment, Space};

    fn document() -> KnowledgeDocument {
        let equipment = |id: &str, name: &str, aliases: &[&str]| Equipment {
            id: id.into(),
            name: Some(name.into()),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            ..Equipment::default()
        };
        KnowledgeDocument {
            equipment: vec![
                equipment("rtu-4", "Gym Rooftop Unit", &["Turnhalle"]),
                equipment("vav-rtu", "Box in the lobby", &[]),
                equipment("ahu-1", "Air Handler 1", &["RTU north", "Lüftung Süd"]),
                equipment("", "RTU without an id", &[]),
            ],
            spaces: vec![Space {
                id: "lobby".into(),
                ..Space::default()
            }],
            ..KnowledgeDocument::default()
        }
    }

    #[test]
    fn a_user_finds_equipment_by_the_name_that_people_use() {
        let document = document();
        for (typed, ids) in [
            ("", vec!["rtu-4", "vav-rtu", "ahu-1"]),
            ("rtu", vec!["rtu-4", "ahu-1", "vav-rtu"]),
            (" ROOF", vec!["rtu-4"]),
            ("SUD", vec!["ahu-1"]),
            ("oof", vec!["rtu-4"]),
            ("chiller", vec![]),
        ] {
            assert_eq!(equipment_ids(&document, typed), ids, "{typed:?}");
        }
        assert_eq!(space_ids(&document, "LOB"), ["lobby"]);
        assert!(standalone_point_ids(&document, "").is_empty());
    }

    #[test]
    fn choices_are_found_by_their_beginning() {
        assert_eq!(texts(["merge", "replace"], ""), ["merge", "replace"]);
        assert_eq!(texts(["merge", "replace"], "R"), ["replace", "merge"]);
    }
}
