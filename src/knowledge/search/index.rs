//! The folded texts of a model, made once per snapshot.

use super::fold;
use crate::knowledge::document::KnowledgeDocument;

/// What searches compare: the ids, names and aliases of equipment and standalone points, in file order.
#[derive(Debug, Default)]
pub struct SearchIndex {
    pub(super) equipment: Vec<IndexedEntry>,
    pub(super) points: Vec<IndexedEntry>,
}

impl SearchIndex {
    /// Folds the texts of a document.
    pub fn of(document: &KnowledgeDocument) -> Self {
        let equipment = document.equipment.iter();
        let points = document.points.iter();
        Self {
            equipment: equipment
                .map(|entry| IndexedEntry::new(&entry.id, entry.name.as_deref(), &entry.aliases))
                .collect(),
            points: points
                .map(|entry| IndexedEntry::new(&entry.id, entry.name.as_deref(), &entry.aliases))
                .collect(),
        }
    }
}

/// The folded texts of one entry, one behind the other in one piece of memory.
#[derive(Debug)]
pub(super) struct IndexedEntry {
    text: Box<str>,
    id_end: usize,
    /// None without a name.
    name_end: Option<usize>,
    alias_ends: Box<[usize]>,
}

impl IndexedEntry {
    fn new(id: &str, name: Option<&str>, aliases: &[String]) -> Self {
        let mut text = fold(id);
        let id_end = text.len();
        let name_end = name.map(|name| {
            text.push_str(&fold(name));
            text.len()
        });
        let alias_ends = aliases
            .iter()
            .map(|alias| {
                text.push_str(&fold(alias));
                text.len()
            })
            .collect();
        Self {
            text: text.into_boxed_str(),
            id_end,
            name_end,
            alias_ends,
        }
    }

    pub(super) fn id(&self) -> &str {
        self.part(0, self.id_end)
    }

    pub(super) fn name(&self) -> Option<&str> {
        Some(self.part(self.id_end, self.name_end?))
    }

    pub(super) fn aliases(&self) -> impl Iterator<Item = &str> {
        let mut start = self.name_end.unwrap_or(self.id_end);
        self.alias_ends
            .iter()
            .map(move |end| self.part(std::mem::replace(&mut start, *end), *end))
    }

    /// Id, name and aliases.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.id())
            .chain(self.name())
            .chain(self.aliases())
    }

    fn part(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }
}
