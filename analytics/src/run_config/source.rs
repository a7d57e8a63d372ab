//! Where the trends of a run are, and which outdoor temperature all equipment shares (Engine §5.1, §5.2).

use std::collections::BTreeSet;

use super::section::{ConfigError, Section};
use crate::roles;
use crate::wall_clock::{Window, parse_bound};

/// Kinds of folder sources; any other word is read as one of them.
const FOLDER_KINDS: [&str; 6] = ["", "perpoint_csv", "perpoint", "folder", "folders", "csv"];

/// Where trends are read from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    Store(StoreSource),
    Folder(FolderSource),
}

/// A facility of a store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoreSource {
    /// Relative to the folder of the file; none or empty for the store of the caller.
    pub store: Option<String>,
    pub facility: String,
    pub window: Window,
    /// Zone of a file of outdoor temperatures whose stamps name instants.
    pub timezone: Option<String>,
    pub strict_timezone: bool,
    pub include_inactive: bool,
}

/// Folders of CSV files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FolderSource {
    /// Folders and patterns in their order, without repeats.
    pub places: Vec<String>,
    pub timezone: Option<String>,
    pub strict_timezone: bool,
    /// A word that is no kind of source was taken as folders.
    pub unknown_kind: Option<String>,
}

/// The outdoor temperature that equipment without one of its own is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedOat {
    /// A CSV file of two columns.
    File {
        file: String,
        timezone: Option<String>,
    },
    /// A stored point.
    Point { equip: String, role: String },
}

impl Source {
    /// Reads `source`.
    ///
    /// # Errors
    /// Something of it is missing or wrong.
    pub fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        let kind = section.text("kind")?.unwrap_or_default();
        match kind {
            "store" => StoreSource::read(section).map(Self::Store),
            _ => FolderSource::read(section, kind).map(Self::Folder),
        }
    }
}

impl StoreSource {
    fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        let bound = |key: &str| match section.text(key)? {
            None => Ok(None),
            Some(text) => parse_bound(text).map(Some).ok_or_else(|| {
                section.refuse(
                    key,
                    "it is no time that exists; write it as 2024-03-01 or 2024-03-01T06:30:00",
                )
            }),
        };
        let window = Window {
            start: bound("start")?,
            end: bound("end")?,
        };
        if let (Some(start), Some(end)) = (window.start, window.end)
            && end < start
        {
            return Err(section.refuse("end", "it lies before start; exchange the two"));
        }
        Ok(Self {
            store: section.text("store")?.map(str::to_owned),
            facility: section.required_text("facility_id")?.to_owned(),
            window,
            timezone: section.text("timezone")?.map(str::to_owned),
            strict_timezone: section.flag("strict_timezone")?.unwrap_or(false),
            include_inactive: section.flag("include_inactive")?.unwrap_or(false),
        })
    }
}

impl FolderSource {
    fn read(section: &Section<'_>, kind: &str) -> Result<Self, ConfigError> {
        for bound in ["start", "end"] {
            if section.value(bound).is_some() {
                return Err(section.refuse(bound, "a folder source has no window"));
            }
        }
        let mut seen = BTreeSet::new();
        let mut places = Vec::new();
        for key in ["folder", "folders", "globs"] {
            for place in section.texts(key)?.unwrap_or_default() {
                if seen.insert(place) {
                    places.push(place.to_owned());
                }
            }
        }
        if places.is_empty() {
            return Err(ConfigError::new(
                section.place(),
                "it names no place; give kind: store with facility_id, or folder, folders or globs",
            ));
        }
        Ok(Self {
            places,
            timezone: section.text("timezone")?.map(str::to_owned),
            strict_timezone: section.flag("strict_timezone")?.unwrap_or(false),
            unknown_kind: (!FOLDER_KINDS.contains(&kind)).then(|| kind.to_owned()),
        })
    }
}

impl SharedOat {
    /// Reads `shared_oat`.
    ///
    /// # Errors
    /// It names neither a file nor an equipment, or a role that does not exist.
    pub fn read(section: &Section<'_>, of_store: bool) -> Result<Self, ConfigError> {
        section.only(&["file", "timezone", "equip", "role"])?;
        match (section.text("file")?, section.text("equip")?) {
            (Some(file), None) => Ok(Self::File {
                file: file.to_owned(),
                timezone: section.text("timezone")?.map(str::to_owned),
            }),
            (None, Some(equip)) => {
                if !of_store {
                    return Err(section.refuse(
                        "equip",
                        "only a store source can share a stored point; give a file",
                    ));
                }
                let role = section.text("role")?.unwrap_or("oat");
                if roles::role(role).is_none() {
                    return Err(section.refuse("role", format!("there is no role {role:?}")));
                }
                Ok(Self::Point {
                    equip: equip.to_owned(),
                    role: role.to_owned(),
                })
            }
            _ => Err(ConfigError::new(
                section.place(),
                "give either file, or equip with an optional role",
            )),
        }
    }
}
