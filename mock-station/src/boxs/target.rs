//! What an ord leads to, for one user (Station web specification §4.3, §4.8, §4.9).

use super::error::BoxError;
use crate::model::{Handle, Station, User};

/// The target of an ord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Component(Handle),
    /// A property slot, or a member path into its struct.
    Property(Handle, String),
    /// A query, history or alarm ord: a table.
    Table(String),
}

/// Schemes whose ords give tables.
const TABLE_SCHEMES: [&str; 4] = ["bql", "neql", "history", "alarm"];

/// Resolves `ord`, relative to `base` where it is not absolute.
///
/// # Errors
/// When base or ord lead nowhere, or the user may not read the target.
pub fn resolve(
    station: &Station,
    user: &User,
    ord: &str,
    base: Option<&str>,
) -> Result<Target, BoxError> {
    if is_table(ord) {
        return Ok(Target::Table(absolute(station, ord, base)?));
    }
    let base = match base {
        Some(base) => station.resolve(base)?.component,
        None => station.root(),
    };
    let target = station.resolve_from(base, ord)?;
    require_read(station, user, target.component)?;
    Ok(if target.property.is_empty() {
        Target::Component(target.component)
    } else {
        Target::Property(target.component, target.property)
    })
}

/// Resolves an ord that has to name a component.
///
/// # Errors
/// Like [`resolve`], and when the ord names something else.
pub fn resolve_component(station: &Station, user: &User, ord: &str) -> Result<Handle, BoxError> {
    match resolve(station, user, ord, None)? {
        Target::Component(handle) => Ok(handle),
        Target::Property(..) | Target::Table(_) => Err(BoxError::Unresolved {
            ord: ord.to_owned(),
            reason: "it is not a component".to_owned(),
        }),
    }
}

/// A component by bare handle (`2f1`), which must be mounted and readable.
///
/// # Errors
/// When there is none, or the user may not read it.
pub fn by_handle(station: &Station, user: &User, text: &str) -> Result<Handle, BoxError> {
    let handle = text
        .parse::<Handle>()
        .ok()
        .filter(|handle| station.component(*handle).is_some())
        .ok_or_else(|| BoxError::UnknownHandle {
            handle: text.to_owned(),
        })?;
    require_read(station, user, handle)?;
    Ok(handle)
}

/// # Errors
/// When the user may not read the component.
pub fn require_read(station: &Station, user: &User, handle: Handle) -> Result<(), BoxError> {
    if station.can_read(user, handle) {
        return Ok(());
    }
    Err(BoxError::Permission {
        missing: "operatorRead".to_owned(),
        place: station.slot_path(handle),
    })
}

fn is_table(ord: &str) -> bool {
    ord.split('|').any(|query| {
        let scheme = query.trim().split(':').next().unwrap_or_default();
        TABLE_SCHEMES.contains(&scheme)
    })
}

/// A table ord that starts with `bql:` asks the component of its base.
fn absolute(station: &Station, ord: &str, base: Option<&str>) -> Result<String, BoxError> {
    let relative = ord.starts_with("bql:") || ord.starts_with("neql:");
    match base.filter(|_| relative) {
        Some(base) => {
            let component = station.resolve(base)?.component;
            Ok(format!("station:|{}|{ord}", station.slot_path(component)))
        }
        None => Ok(ord.to_owned()),
    }
}
