//! The ords that a model refers to: one by one for checks, and together as what is mapped (Tool surface §8.7, §8.11).

use std::collections::HashSet;

use super::document::KnowledgeDocument;
use crate::station::ord::{Ord, SlotPath};

/// Properties of a point that stand for the point itself.
const OUTPUTS: [&str; 3] = ["/out", "/out/value", "/out/status"];

/// Who refers to an ord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Referrer<'m> {
    /// The ord of the equipment itself.
    Equipment { id: &'m str },
    /// A point of equipment, by its role.
    Role { equipment: &'m str, role: &'m str },
    /// A standalone point.
    StandalonePoint { id: &'m str },
}

/// One reference as the file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrdReference<'m> {
    pub referrer: Referrer<'m>,
    /// May be empty, or no ord at all.
    pub ord: &'m str,
}

/// Every reference of a document: per equipment its own ord, where it has one, then its points; then standalone points.
pub fn references(document: &KnowledgeDocument) -> Vec<OrdReference<'_>> {
    let mut all = Vec::new();
    for equipment in &document.equipment {
        let id = equipment.id.as_str();
        if let Some(ord) = equipment
            .ord
            .as_deref()
            .filter(|ord| !ord.trim().is_empty())
        {
            all.push(OrdReference {
                referrer: Referrer::Equipment { id },
                ord,
            });
        }
        all.extend(equipment.points.iter().map(|(role, ord)| OrdReference {
            referrer: Referrer::Role {
                equipment: id,
                role,
            },
            ord: ord.trim(),
        }));
    }
    all.extend(document.points.iter().map(|point| OrdReference {
        referrer: Referrer::StandalonePoint { id: &point.id },
        ord: point.ord.as_deref().unwrap_or_default().trim(),
    }));
    all
}

/// What a model covers: every component that it refers to, with all that lies below.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MappedOrds {
    /// Slot paths in normal form.
    paths: HashSet<String>,
    handles: Vec<Ord>,
}

impl MappedOrds {
    /// The references of a document; texts that are no ord of a component cover nothing.
    pub fn of(document: &KnowledgeDocument) -> Self {
        let mut mapped = Self::default();
        for reference in references(document) {
            match Ord::component(reference.ord) {
                Ok(Ord::Slot(path)) => mapped.insert(&path),
                Ok(handle @ Ord::Handle(_)) => mapped.handles.push(handle),
                _ => {}
            }
        }
        mapped
    }

    /// References by handle: the station knows which components they are.
    pub fn handles(&self) -> &[Ord] {
        &self.handles
    }

    /// Counts a component as mapped. A reference to the output of a point maps the point.
    pub fn insert(&mut self, path: &SlotPath) {
        self.paths.insert(component_of(path));
    }

    /// Whether a component is referred to, or lies below one that is.
    pub fn covers(&self, path: &SlotPath) -> bool {
        let text = path.to_string();
        let mut ancestor = text.as_str();
        loop {
            if self.paths.contains(ancestor) {
                return true;
            }
            match ancestor.rsplit_once('/') {
                Some(("slot:", "")) | None => return false,
                Some(("slot:", _)) => return self.paths.contains("slot:/"),
                Some((parent, _)) => ancestor = parent,
            }
        }
    }
}

/// The path of what a reference maps, in normal form: the point, where it names the output of one.
pub fn component_of(path: &SlotPath) -> String {
    let text = path.to_string();
    let point = OUTPUTS.iter().find_map(|output| text.strip_suffix(output));
    point.map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{decode, format};

    fn document(text: &str) -> KnowledgeDocument {
        let (_, tree) = format::parse("test", text).unwrap();
        decode::decode("test", tree).unwrap().document
    }

    fn covers(mapped: &MappedOrds, path: &str) -> bool {
        mapped.covers(&path.parse().unwrap())
    }

    #[test]
    fn references_come_in_file_order_with_empty_points_and_without_empty_equipment_ords() {
        let document = document(
            "equipment:\n- {id: a, ord: '', points: {t: 'slot:/A/T', u: ''}}\n- {id: b, ord: 'slot:/B'}\npoints:\n- {id: p}\n",
        );
        let texts: Vec<String> = references(&document)
            .iter()
            .map(|reference| format!("{:?} {:?}", reference.referrer, reference.ord))
            .collect();
        assert_eq!(
            texts,
            [
                "Role { equipment: \"a\", role: \"t\" } \"slot:/A/T\"",
                "Role { equipment: \"a\", role: \"u\" } \"\"",
                "Equipment { id: \"b\" } \"slot:/B\"",
                "StandalonePoint { id: \"p\" } \"\"",
            ]
        );
    }

    #[test]
    fn every_spelling_of_an_ord_covers_its_component_and_what_lies_below() {
        let document = document(
            "equipment:\n- {id: a, ord: 'local:|station:|slot:/D/A/', points: {t: 'slot:/E/T/out', s: nonsense, h: 'h:2f'}}\n\
             points:\n- {id: p, ord: ' station:|slot:/P '}\n",
        );
        let mapped = MappedOrds::of(&document);
        for path in [
            "slot:/D/A",
            "slot:/D/A/points/X",
            "slot:/E/T",
            "slot:/E/T/ext",
            "slot:/P",
        ] {
            assert!(covers(&mapped, path), "{path}");
        }
        for path in ["slot:/", "slot:/D", "slot:/D/AB", "slot:/E", "slot:/Q"] {
            assert!(!covers(&mapped, path), "{path}");
        }
        assert_eq!(mapped.handles(), [Ord::Handle("2f".to_owned())]);
    }

    #[test]
    fn the_root_covers_the_whole_station() {
        let mut mapped = MappedOrds::default();
        mapped.insert(&SlotPath::root());
        assert!(
            covers(&mapped, "slot:/") && covers(&mapped, "slot:/A") && covers(&mapped, "slot:/A/B")
        );
    }
}
