//! What the texts of an entry must be, whichever way the entry came in: created, changed, imported or renamed.

use std::collections::HashSet;

use crate::knowledge::document::{Equipment, EquipmentType, Space, StandalonePoint, TypicalPoint};

use super::error::{Holder, OperationError};
use super::section::Entry;

/// An entry whose texts can be checked without the rest of the document.
pub(super) trait Checked: Entry {
    fn name(&self) -> Option<&str>;

    fn aliases(&self) -> &[String];

    /// Refuses roles that are blank, twice in one list, or no word.
    fn check_roles(&self, holder: &Holder) -> Result<(), OperationError>;
}

/// Refuses an entry whose id, name or roles people could not read or type back.
pub(super) fn check_texts<T: Checked>(entry: &T) -> Result<(), OperationError> {
    check_id::<T>(entry.id())?;
    let holder = Holder::new(T::KIND, entry.id());
    check_name(&holder, entry.name())?;
    check_aliases(&holder, entry.aliases())?;
    entry.check_roles(&holder)
}

/// Refuses ids that people could not type back: blank, with blanks at an end, with control characters.
pub(super) fn check_id<T: Entry>(id: &str) -> Result<(), OperationError> {
    match flaw(id, "; write for example floor-1") {
        None => Ok(()),
        Some(problem) => Err(OperationError::BadId {
            kind: T::KIND,
            id: id.to_owned(),
            problem,
        }),
    }
}

/// Refuses a name of an entry that shows nothing, or runs over several lines; no name at all is fine.
pub(super) fn check_name(holder: &Holder, name: Option<&str>) -> Result<(), OperationError> {
    let problem = match name {
        None => return Ok(()),
        Some(name) if name.trim().is_empty() => "is blank; write the name people use",
        Some(name) if name.chars().any(char::is_control) => {
            "contains a control character; remove it"
        }
        Some(_) => return Ok(()),
    };
    Err(OperationError::BadName {
        holder: holder.clone(),
        problem,
    })
}

/// Refuses other names that run over several lines or hold what nobody can type.
pub(super) fn check_aliases(holder: &Holder, aliases: &[String]) -> Result<(), OperationError> {
    let flawed = |alias: &&String| alias.chars().any(char::is_control);
    match aliases.iter().find(flawed) {
        None => Ok(()),
        Some(alias) => Err(OperationError::BadAlias {
            holder: holder.clone(),
            alias: alias.clone(),
        }),
    }
}

/// Refuses a name of a role that is blank or no word.
pub(super) fn check_role(holder: &Holder, role: &str) -> Result<(), OperationError> {
    match flaw(role, "; name the role, for example supply_air_temp") {
        None => Ok(()),
        Some(problem) => Err(OperationError::BadRole {
            holder: holder.clone(),
            role: role.to_owned(),
            problem,
        }),
    }
}

/// Each role of a list is named and stands once.
pub(super) fn check_roles(holder: &Holder, points: &[TypicalPoint]) -> Result<(), OperationError> {
    let mut seen = HashSet::new();
    for point in points {
        check_role(holder, &point.role)?;
        if !seen.insert(point.role.as_str()) {
            return Err(OperationError::DuplicateRole {
                holder: holder.clone(),
                role: point.role.clone(),
            });
        }
    }
    Ok(())
}

/// What is wrong with a text by which something is called.
fn flaw(text: &str, when_blank: &str) -> Option<String> {
    if text.trim().is_empty() {
        Some(format!("is blank{when_blank}"))
    } else if text.trim() != text {
        Some("begins or ends with a blank; remove it".to_owned())
    } else if text.chars().any(char::is_control) {
        Some("contains a control character; remove it".to_owned())
    } else {
        None
    }
}

impl Checked for Space {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn check_roles(&self, _holder: &Holder) -> Result<(), OperationError> {
        Ok(())
    }
}

impl Checked for EquipmentType {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn check_roles(&self, holder: &Holder) -> Result<(), OperationError> {
        check_roles(holder, &self.typical_points)
    }
}

impl Checked for Equipment {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn check_roles(&self, holder: &Holder) -> Result<(), OperationError> {
        let mut roles = self.points.keys();
        roles.try_for_each(|role| check_role(holder, role))
    }
}

impl Checked for StandalonePoint {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn check_roles(&self, holder: &Holder) -> Result<(), OperationError> {
        let role = self.role_in_space.as_deref();
        let role = role.filter(|role| !role.is_empty());
        role.map_or(Ok(()), |role| check_role(holder, role))
    }
}
