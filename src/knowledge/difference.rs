//! What changed on a station since its model was verified.
//!
//! - [`baseline`]: the components under mapped folders as they were, in a file beside the knowledge file.
//! - [`folders`]: which part of the tree that is.
//! - [`compare`]: then against now.
//! - [`references`]: which references of the model the changes touch.

pub mod baseline;
mod compare;
mod folders;
mod pairing;
mod references;

pub use baseline::{Baseline, BaselineError, BaselineFile, StationIdentity};
pub use compare::{Basis, Difference, Renamed, Retyped, Subtree, compare};
pub use folders::{MappedFolders, mapped_folders};
pub use references::{AffectedReference, affected_references};

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::station::facade::ListedComponent;
use crate::station::ord::SlotPath;

/// A component as it was or is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownComponent {
    /// Slot path in normal form, `slot:/A/B`.
    pub path: String,
    #[serde(rename = "type")]
    pub type_spec: String,
    /// Hexadecimal digits; none where the station did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// Path of the containing component; none for the root.
fn parent_of(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        ("slot:", "") => None,
        ("slot:", _) => Some("slot:/"),
        (parent, _) => Some(parent),
    }
}

/// Last name of a path.
fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Path of a child.
fn child_of(parent: &str, name: &str) -> String {
    if parent.ends_with('/') {
        format!("{parent}{name}")
    } else {
        format!("{parent}/{name}")
    }
}

/// What changed in the folders of a baseline, by a list of all components of the station.
///
/// A component that was moved out of the folders is found by its handle.
pub fn since(baseline: &Baseline, listed: &[ListedComponent]) -> Difference {
    let folders = MappedFolders::new(baseline.folders.iter().filter_map(|path| path.parse().ok()));
    let handles: HashSet<&str> = baseline
        .components
        .iter()
        .filter_map(|component| component.handle.as_deref())
        .collect();
    let now: Vec<KnownComponent> = listed
        .iter()
        .filter(|component| {
            folders.contains(&component.path)
                || component
                    .handle
                    .as_deref()
                    .is_some_and(|handle| handles.contains(handle))
        })
        .map(KnownComponent::from)
        .collect();
    let mut difference = compare(&baseline.components, &now);
    difference.appeared.retain(|subtree| {
        let path = subtree.path.parse::<SlotPath>();
        path.is_ok_and(|path| folders.contains(&path))
    });
    difference
}

/// The components of the listed ones that lie in some folders.
pub fn components_in(folders: &MappedFolders, listed: &[ListedComponent]) -> Vec<KnownComponent> {
    listed
        .iter()
        .filter(|component| folders.contains(&component.path))
        .map(KnownComponent::from)
        .collect()
}

impl From<&ListedComponent> for KnownComponent {
    fn from(listed: &ListedComponent) -> Self {
        Self {
            path: listed.path.to_string(),
            type_spec: listed.type_spec.clone(),
            handle: listed.handle.clone(),
        }
    }
}
