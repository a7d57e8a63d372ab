//! The four sections of a document seen alike: entries with ids, looked up, checked and added.

use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint,
};
use crate::station::ord::Ord;

use super::checks::check_id;
use super::error::{Holder, OperationError};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    Space,
    EquipmentType,
    Equipment,
    Point,
}

impl EntryKind {
    /// In the order of the document's sections.
    pub const ALL: [EntryKind; 4] = [
        Self::Space,
        Self::EquipmentType,
        Self::Equipment,
        Self::Point,
    ];

    /// The word in arguments and results of tools.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::EquipmentType => "equipmentType",
            Self::Equipment => "equipment",
            Self::Point => "point",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The words in sentences.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::EquipmentType => "equipment type",
            Self::Equipment => "equipment",
            Self::Point => "standalone point",
        }
    }

    /// Key of the section in a document (Tool surface §9.1).
    pub const fn section(self) -> &'static str {
        match self {
            Self::Space => "spaces",
            Self::EquipmentType => "equipment_types",
            Self::Equipment => "equipment",
            Self::Point => "points",
        }
    }
}

/// An entry of one section.
pub(super) trait Entry: Sized {
    const KIND: EntryKind;

    fn id(&self) -> &str;
    fn set_id(&mut self, id: String);
    fn all(document: &KnowledgeDocument) -> &Vec<Self>;
    fn all_mut(document: &mut KnowledgeDocument) -> &mut Vec<Self>;
}

/// An entry that names another one of its own section as its parent.
pub(super) trait Nested: Entry {
    const FIELD: &'static str;

    fn above(&self) -> Option<&str>;
}

macro_rules! entry {
    ($type:ty, $kind:ident, $section:ident) => {
        impl Entry for $type {
            const KIND: EntryKind = EntryKind::$kind;

            fn id(&self) -> &str {
                &self.id
            }

            fn set_id(&mut self, id: String) {
                self.id = id;
            }

            fn all(document: &KnowledgeDocument) -> &Vec<Self> {
                &document.$section
            }

            fn all_mut(document: &mut KnowledgeDocument) -> &mut Vec<Self> {
                &mut document.$section
            }
        }
    };
}

entry!(Space, Space, spaces);
entry!(EquipmentType, EquipmentType, equipment_types);
entry!(Equipment, Equipment, equipment);
entry!(StandalonePoint, Point, points);

impl Nested for Space {
    const FIELD: &'static str = "parent";

    fn above(&self) -> Option<&str> {
        self.parent.as_deref()
    }
}

impl Nested for EquipmentType {
    const FIELD: &'static str = "extends";

    fn above(&self) -> Option<&str> {
        self.extends.as_deref()
    }
}

/// The first entry of that id; with several of one id the first is the one that counts.
pub(super) fn find<'a, T: Entry>(document: &'a KnowledgeDocument, id: &str) -> Option<&'a T> {
    T::all(document).iter().find(|entry| entry.id() == id)
}

/// The only entry of that id, to be changed.
pub(super) fn find_mut<'a, T: Entry>(
    document: &'a mut KnowledgeDocument,
    id: &str,
) -> Result<&'a mut T, OperationError> {
    let at = position::<T>(document, id)?;
    let entry = T::all_mut(document).get_mut(at);
    entry.ok_or_else(|| OperationError::UnknownId {
        holder: Holder::new(T::KIND, id),
        nearest: None,
    })
}

/// Where the only entry of that id stands in its section.
///
/// Of several entries of one id, which files edited by hand may have, none is changed: nobody can tell which is meant.
pub(super) fn position<T: Entry>(
    document: &KnowledgeDocument,
    id: &str,
) -> Result<usize, OperationError> {
    let entries = T::all(document).iter().enumerate();
    let mut places = entries.filter(|(_, entry)| entry.id() == id);
    let Some((first, _)) = places.next() else {
        return Err(unknown::<T>(document, id));
    };
    let others: Vec<usize> = places.map(|(at, _)| at).collect();
    if others.is_empty() {
        return Ok(first);
    }
    let all = std::iter::once(first).chain(others);
    Err(OperationError::AmbiguousId {
        holder: Holder::new(T::KIND, id),
        places: all.map(place::<T>).collect(),
    })
}

/// Path of an entry in its document.
pub(super) fn place<T: Entry>(index: usize) -> String {
    format!("{}[{index}]", T::KIND.section())
}

pub(super) fn unknown<T: Entry>(document: &KnowledgeDocument, id: &str) -> OperationError {
    OperationError::UnknownId {
        holder: Holder::new(T::KIND, id),
        nearest: nearest(T::all(document).iter().map(Entry::id), id),
    }
}

/// Refuses an id that is no good or used already.
pub(super) fn check_new_id<T: Entry>(
    document: &KnowledgeDocument,
    id: &str,
) -> Result<(), OperationError> {
    check_id::<T>(id)?;
    match find::<T>(document, id) {
        Some(_) => Err(OperationError::DuplicateId {
            holder: Holder::new(T::KIND, id),
        }),
        None => Ok(()),
    }
}

/// Refuses a reference to an entry that does not exist; no reference is fine.
pub(super) fn check_reference<T: Entry>(
    document: &KnowledgeDocument,
    holder: &Holder,
    field: &'static str,
    target: Option<&str>,
) -> Result<(), OperationError> {
    match target {
        Some(id) if find::<T>(document, id).is_none() => {
            Err(unknown_reference::<T>(document, holder, field, id))
        }
        _ => Ok(()),
    }
}

pub(super) fn unknown_reference<T: Entry>(
    document: &KnowledgeDocument,
    holder: &Holder,
    field: &'static str,
    target: &str,
) -> OperationError {
    OperationError::UnknownReference {
        holder: holder.clone(),
        field,
        target_kind: T::KIND,
        target: target.to_owned(),
        nearest: nearest(T::all(document).iter().map(Entry::id), target),
    }
}

/// The ord in the form that results carry (Tool surface §7), or why it is none, or none that a station can have.
pub(super) fn stored_ord(
    holder: &Holder,
    field: &str,
    text: &str,
) -> Result<String, OperationError> {
    Ord::component_as_stored(text)
        .map(|ord| ord.absolute())
        .map_err(|source| OperationError::Ord {
            holder: holder.clone(),
            field: field.to_owned(),
            ord: text.to_owned(),
            source: Box::new(source),
        })
}

/// The text most like `wanted`, the first of several, when it is alike enough to be a slip of the keyboard.
pub(super) fn nearest<'a>(
    candidates: impl Iterator<Item = &'a str>,
    wanted: &str,
) -> Option<String> {
    /// Jaro–Winkler; a slip of one or two letters stays above, unrelated ids stay below.
    const ALIKE: f64 = 0.8;
    let wanted = wanted.to_lowercase();
    candidates
        .filter(|candidate| !candidate.is_empty())
        .map(|candidate| {
            let likeness = strsim::jaro_winkler(&candidate.to_lowercase(), &wanted);
            (candidate, likeness)
        })
        .filter(|(_, likeness)| *likeness >= ALIKE)
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(candidate, _)| candidate.to_owned())
}
