//! The mapped part of the component tree: the folders that hold what a model refers to.

use crate::knowledge::document::KnowledgeDocument;
use crate::knowledge::mapped::references;
use crate::station::ord::{Ord, SlotPath};

/// Folders none of which lies in another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MappedFolders(Vec<SlotPath>);

/// The folder of everything that a document refers to by path: siblings of what is mapped belong to it, so that new
/// equipment is noticed. What lies directly below the root is a folder itself.
pub fn mapped_folders(document: &KnowledgeDocument) -> MappedFolders {
    let referred = references(document)
        .into_iter()
        .filter_map(|reference| match Ord::component(reference.ord) {
            Ok(Ord::Slot(path)) if !path.is_root() => Some(path),
            _ => None,
        })
        .map(|path| {
            path.parent()
                .filter(|parent| !parent.is_root())
                .unwrap_or(path)
        });
    MappedFolders::new(referred)
}

impl MappedFolders {
    /// Leaves out those that lie in another.
    pub fn new(folders: impl IntoIterator<Item = SlotPath>) -> Self {
        let mut folders: Vec<SlotPath> = folders.into_iter().collect();
        // An ancestor sorts before what lies below it.
        folders.sort();
        let mut outermost: Vec<SlotPath> = Vec::new();
        for folder in folders {
            if !outermost.last().is_some_and(|last| folder.is_within(last)) {
                outermost.push(folder);
            }
        }
        Self(outermost)
    }

    pub fn iter(&self) -> impl Iterator<Item = &SlotPath> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a component lies in one of them.
    pub fn contains(&self, path: &SlotPath) -> bool {
        let behind = self.0.partition_point(|folder| folder <= path);
        behind
            .checked_sub(1)
            .and_then(|at| self.0.get(at))
            .is_some_and(|folder| path.is_within(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{decode, format};

    fn path(text: &str) -> SlotPath {
        text.parse().unwrap()
    }

    #[test]
    fn siblings_of_what_is_mapped_belong_to_it() {
        let text = "equipment:\n- {id: a, ord: 'slot:/D/Net/A', points: {t: 'slot:/D/Net/A/points/T', x: 'slot:/Logic/X/out'}}\n\
                    - {id: b, ord: 'slot:/B'}\npoints:\n- {id: p, ord: 'slot:/D/Net2/points/P'}\n- {id: q, ord: 'h:12'}\n";
        let (_, tree) = format::parse("test", text).unwrap();
        let folders = mapped_folders(&decode::decode("test", tree).unwrap().document);
        let texts: Vec<String> = folders.iter().map(SlotPath::to_string).collect();
        assert_eq!(
            texts,
            [
                "slot:/B",
                "slot:/D/Net",
                "slot:/D/Net2/points",
                "slot:/Logic/X"
            ]
        );
        assert!(
            folders.contains(&path("slot:/D/Net/C/points")) && folders.contains(&path("slot:/B"))
        );
        assert!(!folders.contains(&path("slot:/D/Net2")) && !folders.contains(&path("slot:/A")));
    }
}
