//! New components, values and extensions (Tool surface §8.4, §13.5.4, createComponent and addExtension).

use serde_json::Value as Json;

use super::StationFacade;
use super::error::FacadeError;
use super::structure_error::{StructureError, StructureResult};
use super::write_error::{Reread, WriteError, WriteResult};
use super::write_target::{WriteTarget, doubt, doubt_scope};
use crate::station::boxp::Ancestry;
use crate::station::boxp::structure::fresh_value;
use crate::station::boxp::types::AncestrySource;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotName, SlotPath, escape, unescape};

/// The permission that adding and removing slots takes: admin write (Station web specification §4.8).
pub(super) const NEEDS_TO_RESTRUCTURE: char = 'W';

/// The slot that every point has from its type, and no other can take.
const PROXY_EXTENSION: &str = "proxyExt";

/// Numbers tried for a free name; a parent with so many slots of one name is no work of people.
const MAX_SUFFIX: usize = 10_000;

/// What to do about a name that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameStrategy {
    /// Add nothing.
    #[default]
    Fail,
    /// Take the first free one of `name_2`, `name_3`, ….
    Suffix,
}

/// A slot to be added to a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSlot {
    /// `module:Type`.
    pub type_spec: String,
    /// As people write it or escaped.
    pub name: String,
    pub strategy: NameStrategy,
}

/// A slot that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedSlot {
    /// Absolute ord.
    pub ord: String,
    /// The name as people read it.
    pub display_name: String,
    pub requested_name: String,
    /// Escaped slot name.
    pub resolved_name: String,
    pub type_spec: String,
    /// The type that the station shows under the ord now, or why it could not be read.
    pub observed: Result<String, String>,
}

/// A component that slots are added to or removed from.
pub(super) struct Place {
    pub path: SlotPath,
    pub target: WriteTarget,
}

impl Place {
    /// Absolute ord.
    pub fn ord(&self) -> String {
        Ord::slot(self.path.clone()).absolute()
    }

    /// Ord of a slot.
    pub fn child(&self, name: &str) -> StructureResult<Ord> {
        let name = SlotName::new(name).map_err(StationError::from)?;
        Ok(Ord::slot(self.path.child(name)))
    }

    /// Whether a slot of any kind has this escaped name, those included that this identity may not read.
    pub fn is_taken(&self, name: &str) -> bool {
        let slots = &self.target.slots;
        slots.iter().any(|slot| slot.slot_name() == name) || self.is_frozen(name)
    }

    /// Whether the slot belongs to the component's type.
    pub fn is_frozen(&self, name: &str) -> bool {
        let contract = self.target.contract.as_ref();
        contract.is_some_and(|contract| contract.slot(name).is_some())
    }

    /// The first of `name`, `name_2`, `name_3`, … that is free.
    pub fn free_name(&self, name: &str) -> Option<String> {
        let numbered = (2..=MAX_SUFFIX).map(|number| format!("{name}_{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|name| !self.is_taken(name))
    }
}

/// A type that values can be made of.
struct UsableType {
    ancestry: std::sync::Arc<Ancestry>,
    /// Empty encoding of a simple type.
    empty: Option<String>,
}

impl StationFacade {
    /// Adds a component, or a value as a dynamic property, with one message to the station.
    ///
    /// Where the name is taken between check and addition the station chooses another: with
    /// [`NameStrategy::Fail`] that slot is removed again.
    ///
    /// # Errors
    /// [`WriteError::InDoubt`] when the answer was lost, [`StructureError::LeftBehind`] when the removal failed; with
    /// any other error nothing was changed.
    pub async fn create_component(
        &self,
        scope: &CallScope,
        parent: &Ord,
        new: &NewSlot,
    ) -> StructureResult<CreatedSlot> {
        let name = stored_name(&new.name)?;
        let place = self.place(scope, parent).await?;
        let usable = self.usable_type(scope, &new.type_spec).await?;
        let free = chosen_name(&place, &name, new.strategy)?;
        self.add(scope, &place, new, &usable, free).await
    }

    /// Adds an extension to a point, with one message to the station.
    ///
    /// # Errors
    /// [`StructureError::NotApplicable`] when point and extension do not go together, by their types or by the
    /// station's word; else as [`StationFacade::create_component`].
    pub async fn add_extension(
        &self,
        scope: &CallScope,
        parent: &Ord,
        new: &NewSlot,
    ) -> StructureResult<CreatedSlot> {
        let name = stored_name(&new.name)?;
        let place = self.place(scope, parent).await?;
        let not_applicable = |reason: String| StructureError::NotApplicable {
            parent: place.ord(),
            parent_type: place.target.node.type_name().to_owned(),
            extension_type: new.type_spec.clone(),
            reason,
        };
        let usable = self.usable_type(scope, &new.type_spec).await?;
        if name == PROXY_EXTENSION {
            let reason = "proxyExt is a part of the point itself; choose another name";
            return Err(not_applicable(reason.to_owned()));
        }
        let free = chosen_name(&place, &name, new.strategy)?;
        let parent_type = place.target.node.type_name();
        let is_point = self.boxp().ancestry(scope, parent_type).await?.is_point();
        if !is_point {
            return Err(not_applicable(
                "only control points take extensions".to_owned(),
            ));
        }
        if !usable.ancestry.is_point_extension()
            && usable.ancestry.source == AncestrySource::Registry
        {
            let reason = format!("{} is no point extension", new.type_spec);
            return Err(not_applicable(reason));
        }
        match self.add(scope, &place, new, &usable, free).await {
            Err(StructureError::Write(WriteError::Refused { detail, .. })) => {
                Err(not_applicable(detail))
            }
            outcome => outcome,
        }
    }

    /// Loads a component together with its path.
    pub(super) async fn place(&self, scope: &CallScope, ord: &Ord) -> Result<Place, FacadeError> {
        let target = self.write_target(scope, ord).await?;
        let path = self.slot_path(scope, ord).await?;
        Ok(Place { path, target })
    }

    async fn usable_type(&self, scope: &CallScope, type_spec: &str) -> StructureResult<UsableType> {
        let unusable = |reason: &str| StructureError::UnusableType {
            type_spec: type_spec.to_owned(),
            reason: reason.to_owned(),
        };
        let ancestry = self.known_type(scope, type_spec).await?;
        if let Some(record) = self.boxp().type_record(scope, type_spec).await? {
            if record.is_interface {
                return Err(unusable(
                    "it is an interface; choose a type that implements it",
                ));
            }
            if record.is_abstract {
                return Err(unusable(
                    "it is abstract; choose a type that descends from it",
                ));
            }
        }
        if ancestry.source == AncestrySource::Registry && !ancestry.is("baja:Value") {
            return Err(unusable("it is no value"));
        }
        let empty = match ancestry.is("baja:Simple") || self.is_simple(scope, type_spec).await? {
            true => Some(self.empty_encoding(scope, type_spec).await?),
            false => None,
        };
        Ok(UsableType { ancestry, empty })
    }

    /// What a type descends from.
    ///
    /// # Errors
    /// [`StructureError::UnusableType`] when the station has no such type.
    pub(super) async fn known_type(
        &self,
        scope: &CallScope,
        type_spec: &str,
    ) -> StructureResult<std::sync::Arc<Ancestry>> {
        let unusable = |reason: String| StructureError::UnusableType {
            type_spec: type_spec.to_owned(),
            reason,
        };
        if !is_type_spec(type_spec) {
            let reason = "a type is written module:Type, for example control:NumericWritable";
            return Err(unusable(reason.to_owned()));
        }
        match self.boxp().ancestry(scope, type_spec).await {
            Ok(ancestry) => Ok(ancestry),
            Err(StationError::NotFound { detail, .. }) => {
                Err(unusable(format!("the station does not have it ({detail})")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The encoding of a simple type's value that holds nothing (Tool surface §13.5.4).
    async fn empty_encoding(&self, scope: &CallScope, type_spec: &str) -> StructureResult<String> {
        if let Some(tag) = self.frozen_tags(scope, type_spec).await?.into_iter().next() {
            return Ok(tag.tag);
        }
        let text = match type_spec {
            "baja:Boolean" => "false",
            "baja:Float" | "baja:Double" => "0.0",
            "baja:Integer" | "baja:Long" | "baja:RelTime" | "baja:Status" | "baja:DynamicEnum" => {
                "0"
            }
            "baja:AbsTime" | "baja:Ord" | "baja:TypeSpec" => "null",
            "baja:Date" => "1970-01-01",
            "baja:Time" => "00:00:00.000",
            "baja:EnumRange" | "baja:NameMap" => "{}",
            "baja:Unit" => "null;;;;",
            _ => "",
        };
        Ok(text.to_owned())
    }

    async fn add(
        &self,
        scope: &CallScope,
        place: &Place,
        new: &NewSlot,
        usable: &UsableType,
        name: String,
    ) -> StructureResult<CreatedSlot> {
        let value = fresh_value(&new.type_spec, usable.empty.as_deref());
        let given = self.add_named(scope, place, &name, value).await?;
        let resolved = match given {
            given if given == name || new.strategy == NameStrategy::Suffix => given,
            given => return Err(self.take_back(place, &name, &given).await),
        };
        let ord = place.child(&resolved)?;
        let observed = self.resolve(scope, &ord).await;
        Ok(CreatedSlot {
            ord: ord.absolute(),
            display_name: unescape(&resolved),
            requested_name: new.name.clone(),
            resolved_name: resolved,
            type_spec: new.type_spec.clone(),
            observed: observed
                .map(|node| node.type_name().to_owned())
                .map_err(|error| error.to_string()),
        })
    }

    /// Adds a slot and tells the name that it got.
    pub(super) async fn add_named(
        &self,
        scope: &CallScope,
        place: &Place,
        name: &str,
        value: Json,
    ) -> StructureResult<String> {
        let ord = place.child(name)?;
        let work = self
            .boxp()
            .add_slot(scope, &place.target.handle, name, value);
        let sent = self.restructure(place, &ord, work).await?;
        Ok(sent.unwrap_or_else(|| name.to_owned()))
    }

    /// Removes a slot that got a name which nobody asked for, whatever became of the call meanwhile.
    pub(super) async fn take_back(
        &self,
        place: &Place,
        asked: &str,
        found: &str,
    ) -> StructureError {
        let taken = StructureError::NameTaken {
            parent: place.ord(),
            name: asked.to_owned(),
        };
        match self.remove_named(&doubt_scope(), place, found).await {
            Ok(()) => taken,
            Err(error) => StructureError::LeftBehind {
                parent: place.ord(),
                name: asked.to_owned(),
                found: found.to_owned(),
                cause: error.to_string(),
            },
        }
    }

    /// Removes a slot.
    pub(super) async fn remove_named(
        &self,
        scope: &CallScope,
        place: &Place,
        name: &str,
    ) -> StructureResult<()> {
        let ord = place.child(name)?;
        let work = self.boxp().remove_slot(scope, &place.target.handle, name);
        Ok(self.restructure(place, &ord, work).await?)
    }

    /// Sends a change of a component's slots once; a lost answer is in doubt with what is there now.
    async fn restructure<T>(
        &self,
        place: &Place,
        slot: &Ord,
        work: impl Future<Output = Result<T, crate::station::boxp::write::BoxWriteError>>,
    ) -> WriteResult<T> {
        let what = slot.absolute();
        let sent = self.change(&place.target, &what, NEEDS_TO_RESTRUCTURE, work);
        let error = match sent.await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let Some(cause) = doubt(&error).map(str::to_owned) else {
            return Err(error);
        };
        let reread = match self.is_there(&doubt_scope(), slot).await {
            Ok(exists) => Reread::Exists(exists),
            Err(error) => Reread::Failed(error.to_string()),
        };
        Err(WriteError::InDoubt {
            target: what,
            cause,
            reread,
        })
    }

    /// Whether an ord leads to something.
    pub(super) async fn is_there(&self, scope: &CallScope, ord: &Ord) -> Result<bool, FacadeError> {
        match self.resolve(scope, ord).await {
            Ok(_) => Ok(true),
            Err(FacadeError::Station(StationError::NotFound { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn chosen_name(place: &Place, name: &str, strategy: NameStrategy) -> StructureResult<String> {
    let free = match strategy {
        NameStrategy::Fail => Some(name.to_owned()).filter(|name| !place.is_taken(name)),
        NameStrategy::Suffix => place.free_name(name),
    };
    free.ok_or_else(|| StructureError::NameTaken {
        parent: place.ord(),
        name: name.to_owned(),
    })
}

fn is_type_spec(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    matches!(text.split_once(':'), Some((module, name)) if is_name(module) && is_name(name))
}

/// The stored form of a name: kept where it is one already, else escaped.
///
/// # Errors
/// [`StructureError::BadName`] for a blank name or one with control characters.
pub(super) fn stored_name(name: &str) -> StructureResult<String> {
    let bad = |reason| StructureError::BadName {
        name: name.to_owned(),
        reason,
    };
    if name.trim().is_empty() {
        return Err(bad("it is blank"));
    }
    if name.chars().any(char::is_control) {
        return Err(bad("it holds control characters"));
    }
    Ok(if is_stored_name(name) {
        name.to_owned()
    } else {
        escape(name)
    })
}

/// Letters, digits and underscores, no digit first, everything else as `$xx` or `$uxxxx` (Station web specification
/// §0.3).
fn is_stored_name(name: &str) -> bool {
    let mut parts = name.split('$');
    let plain = parts.next().unwrap_or_default();
    let is_plain = |text: &str| {
        text.chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    let is_escape = |part: &str| {
        let digits = match part.strip_prefix('u') {
            Some(digits) => digits.get(..4),
            None => part.get(..2),
        };
        digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    !plain.starts_with(|first: char| first.is_ascii_digit())
        && is_plain(plain)
        && parts.all(|part| is_plain(part) && is_escape(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_escaped_and_escaped_ones_kept() {
        for (name, stored) in [
            ("Hist", "Hist"),
            ("Supply Temp", "Supply$20Temp"),
            ("Supply$20Temp", "Supply$20Temp"),
            ("1st", "$31st"),
            ("$31st", "$31st"),
            ("Pump$1", "Pump$241"),
            ("$u6e29", "$u6e29"),
            ("A/B", "A$2fB"),
            ("..", "$2e$2e"),
        ] {
            assert_eq!(stored_name(name), Ok(stored.to_owned()), "{name}");
        }
        for name in ["", "  ", "a\nb"] {
            assert!(
                matches!(stored_name(name), Err(StructureError::BadName { .. })),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_type_is_a_module_and_a_name() {
        for text in ["baja:Folder", "kitControl:Ramp", "a_b:C1"] {
            assert!(is_type_spec(text), "{text}");
        }
        for text in [
            "",
            "Folder",
            "baja:",
            ":Folder",
            "baja:Fol der",
            "a:b:c",
            "1a:B",
        ] {
            assert!(!is_type_spec(text), "{text}");
        }
    }
}
