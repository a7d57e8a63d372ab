//! Making and removing links between slots (Tool surface §8.4, §12 row 30, §13.5.4, linkSlots and unlinkSlots).

use std::time::Duration;

use serde_json::Value as Json;

use super::StationFacade;
use super::error::FacadeResult;
use super::links_converters::fitting;
use super::slot_text::{default_member, status_of};
use super::structure::{Place, stored_name};
use super::structure_error::{RefusedEnds, StructureError, StructureResult};
use super::write_action::is_release;
use crate::station::boxp::links::{LinkCheck, LinkEnds, Wire, is_link};
use crate::station::boxp::{Node, SlotKind};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, escape};
use crate::station::priority::Priority;

/// A link to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLink {
    pub source: Ord,
    pub source_slot: String,
    /// The component that the link is stored on.
    pub sink: Ord,
    pub sink_slot: String,
    /// Chosen from the source where absent.
    pub name: Option<String>,
    /// `module:Type` of a converter: makes a conversion link.
    pub converter: Option<String>,
}

/// A link that was checked against the station and can be made.
pub struct LinkPlan {
    sink: Place,
    ends: LinkEnds,
    name: String,
    has_chosen_name: bool,
    value: Json,
    check_note: Option<String>,
    level: Option<Priority>,
    /// The action that the link invokes, where its sink slot is one.
    invokes: Option<String>,
}

impl LinkPlan {
    /// The priority level that the link is going to command: that of its sink slot.
    pub fn level(&self) -> Option<Priority> {
        self.level
    }

    /// Zero where the link invokes an action that overrides a point, because nothing ends it then.
    pub fn override_for(&self) -> Option<Duration> {
        let action = self.invokes.as_deref()?;
        let overrides = self.level.is_some() && !is_release(action);
        overrides.then_some(Duration::ZERO)
    }
}

/// A link that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeLink {
    /// Absolute ord: that of the sink, with the name of the link.
    pub ord: String,
    /// The converter of a conversion link, the caller's or the station's.
    pub converter: Option<String>,
    /// Why the link was made although the station did not find it valid.
    pub check_note: Option<String>,
    pub state: LinkState,
    /// Status of the sink slot after the link was made, where it has one: a wrong converter shows as fault.
    pub sink_status: Option<String>,
}

/// What a link looks like on the station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// It connects the two slots.
    Active,
    Disabled,
    /// The station has it without its source.
    SourceLost,
    /// The sink does not show it.
    Missing,
    /// The sink could not be read, and why.
    Unknown(String),
}

impl LinkState {
    /// The word in results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::SourceLost => "source-lost",
            Self::Missing => "missing",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// A link that was removed, as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedLink {
    /// Absolute ord.
    pub ord: String,
    /// Absolute ord; none when the source is gone.
    pub source: Option<String>,
    pub source_slot: String,
    /// Absolute ord.
    pub sink: String,
    pub sink_slot: String,
    /// Whether the sink shows the link no more, or why it could not be read.
    pub is_gone: Result<bool, String>,
}

impl StationFacade {
    /// Links two slots, with one message that changes something.
    ///
    /// # Errors
    /// As [`StationFacade::plan_link`] and [`StationFacade::carry_out_link`].
    pub async fn link_slots(&self, scope: &CallScope, new: &NewLink) -> StructureResult<MadeLink> {
        let plan = self.plan_link(scope, new).await?;
        self.carry_out_link(scope, plan).await
    }

    /// Checks a link and has the station check it; changes nothing.
    ///
    /// # Errors
    /// [`StructureError::LinkRefused`] with fitting converters where the station finds the link invalid and no
    /// converter is given; else whatever would keep the link from being made.
    pub async fn plan_link(&self, scope: &CallScope, new: &NewLink) -> StructureResult<LinkPlan> {
        let source = self.place(scope, &new.source).await;
        let source = source.map_err(StructureError::Source)?;
        let sink = self.place(scope, &new.sink).await;
        let sink = sink.map_err(StructureError::Sink)?;
        let source_slot = linkable(&source, &new.source_slot)?;
        let sink_slot = linkable(&sink, &new.sink_slot)?;
        if let Some(converter) = &new.converter {
            self.must_convert(scope, converter).await?;
        }
        let ends = LinkEnds {
            source: source.target.handle.clone(),
            source_slot: source_slot.slot_name().to_owned(),
            sink: sink.target.handle.clone(),
            sink_slot: sink_slot.slot_name().to_owned(),
        };
        let refused = |reason: String, converters| StructureError::LinkRefused {
            ends: Box::new(RefusedEnds {
                source: source.ord(),
                source_slot: ends.source_slot.clone(),
                sink: sink.ord(),
                sink_slot: ends.sink_slot.clone(),
            }),
            reason,
            converters,
        };
        let check = self.over_box(async { Ok(self.boxp().check_link(scope, &ends).await?) });
        let check_note = match (check.await?, &new.converter) {
            (LinkCheck::Valid, _) => None,
            (LinkCheck::Invalid { reason }, None) => {
                let fitting = self.fitting_converters(scope, source_slot, sink_slot);
                return Err(refused(reason_text(reason), fitting.await?));
            }
            (LinkCheck::Invalid { reason }, Some(converter)) => {
                let fitting = self
                    .fitting_converters(scope, source_slot, sink_slot)
                    .await?;
                Some(overridden(&reason_text(reason), converter, &fitting))
            }
            (LinkCheck::NotOffered { detail }, _) => Some(format!(
                "This station does not check links ({detail}); the link was made unchecked."
            )),
        };
        let name = link_name(&sink, &source, &ends.source_slot, new.name.as_deref())?;
        let value = match &new.converter {
            Some(converter) => ends.encode(Some(converter)),
            None => {
                let made = self.over_box(async { Ok(self.boxp().make_link(scope, &ends).await?) });
                made.await?.unwrap_or_else(|| ends.encode(None))
            }
        };
        Ok(LinkPlan {
            level: sink.target.level_of(sink_slot),
            invokes: (sink_slot.kind == SlotKind::Action).then(|| ends.sink_slot.clone()),
            sink,
            ends,
            name,
            has_chosen_name: new.name.is_some(),
            value,
            check_note,
        })
    }

    /// Makes a link that was checked, with one message that changes something.
    ///
    /// # Errors
    /// [`super::WriteError::InDoubt`] when the answer was lost, [`StructureError::LeftBehind`] as for new components;
    /// with any other error nothing was changed.
    pub async fn carry_out_link(
        &self,
        scope: &CallScope,
        plan: LinkPlan,
    ) -> StructureResult<MadeLink> {
        let LinkPlan {
            sink, ends, name, ..
        } = plan;
        let converter = converter_of(&plan.value);
        let given = self.add_named(scope, &sink, &name, plan.value).await?;
        if given != name && plan.has_chosen_name {
            return Err(self.take_back(&sink, &name, &given).await);
        }
        let (state, sink_status) = self.link_state(scope, &sink, &given, &ends).await;
        Ok(MadeLink {
            ord: sink.child(&given)?.absolute(),
            converter,
            check_note: plan.check_note,
            state,
            sink_status,
        })
    }

    /// Removes a link from its sink, with one message to the station.
    ///
    /// # Errors
    /// [`StructureError::Sink`] when the sink cannot be read; [`super::WriteError::InDoubt`] when the answer was lost;
    /// with any other error nothing was changed.
    pub async fn unlink_slots(
        &self,
        scope: &CallScope,
        sink: &Ord,
        name: &str,
    ) -> StructureResult<RemovedLink> {
        let sink = self.place(scope, sink).await;
        let sink = sink.map_err(StructureError::Sink)?;
        let link = link_of(&sink, name)?;
        let ord = sink.child(link.slot_name())?;
        if sink.is_frozen(link.slot_name()) {
            return Err(StructureError::Frozen {
                ord: ord.absolute(),
                parent_type: sink.target.node.type_name().to_owned(),
            });
        }
        let wire = Wire::of(link);
        let source = self.end_of_link(scope, &wire.source_ord).await?;
        self.remove_named(scope, &sink, link.slot_name()).await?;
        let is_gone = self.is_there(scope, &ord).await;
        Ok(RemovedLink {
            ord: ord.absolute(),
            source,
            source_slot: wire.source_slot,
            sink: sink.ord(),
            sink_slot: wire.sink_slot,
            is_gone: is_gone
                .map(|is_there| !is_there)
                .map_err(|error| error.to_string()),
        })
    }

    async fn must_convert(&self, scope: &CallScope, converter: &str) -> StructureResult<()> {
        let ancestry = self.known_type(scope, converter).await?;
        if !ancestry.is("baja:Converter") {
            return Err(StructureError::NotAConverter {
                type_spec: converter.to_owned(),
            });
        }
        let record = self.boxp().type_record(scope, converter).await?;
        if record.is_some_and(|record| record.is_abstract || record.is_interface) {
            return Err(StructureError::UnusableType {
                type_spec: converter.to_owned(),
                reason: "it is abstract; choose a type that descends from it".to_owned(),
            });
        }
        Ok(())
    }

    /// Converters whose names fit the types of two slots; none where the station does not list them.
    async fn fitting_converters(
        &self,
        scope: &CallScope,
        source: &Node,
        sink: &Node,
    ) -> FacadeResult<Vec<String>> {
        let none = |error: StationError| match error {
            StationError::NotFound { .. } | StationError::PermissionDenied { .. } => Ok(Vec::new()),
            error => Err(error),
        };
        let all = self.boxp().concrete_types(scope, "baja:Converter").await;
        let all = all.or_else(none)?;
        let mut lineages = [Vec::new(), Vec::new()];
        for (lineage, slot) in lineages.iter_mut().zip([source, sink]) {
            let Some(type_spec) = carried_type(slot) else {
                return Ok(Vec::new());
            };
            *lineage = match self.boxp().ancestry(scope, type_spec).await {
                Ok(ancestry) => ancestry.types().map(str::to_owned).collect(),
                Err(error) => {
                    none(error)?;
                    vec![type_spec.to_owned()]
                }
            };
        }
        let [source, sink] = lineages;
        Ok(fitting(&all, &source, &sink))
    }

    /// The link and its sink slot as the station shows them now.
    async fn link_state(
        &self,
        scope: &CallScope,
        sink: &Place,
        name: &str,
        ends: &LinkEnds,
    ) -> (LinkState, Option<String>) {
        let ord = Ord::slot(sink.path.clone());
        let target = match self.write_target(scope, &ord).await {
            Ok(target) => target,
            Err(error) => return (LinkState::Unknown(error.to_string()), None),
        };
        let status = target.slot(&ends.sink_slot).and_then(|slot| {
            default_member(slot.type_name()).map(|_| status_of(slot).bits().to_string())
        });
        let Some(link) = target.slot(name).filter(|slot| is_link(slot)) else {
            return (LinkState::Missing, status);
        };
        let wire = Wire::of(link);
        let state = if !wire.is_enabled {
            LinkState::Disabled
        } else {
            match self.end_of_link(scope, &wire.source_ord).await {
                Ok(Some(_)) => LinkState::Active,
                Ok(None) => LinkState::SourceLost,
                Err(error) => LinkState::Unknown(error.to_string()),
            }
        };
        (state, status)
    }
}

/// The slot of an end, by the name that the caller gave.
fn linkable<'a>(place: &'a Place, name: &str) -> StructureResult<&'a Node> {
    let own = place.target.slot(name);
    let described = || {
        let contract = place.target.contract.as_ref()?;
        contract.slot(name).or_else(|| contract.slot(&escape(name)))
    };
    // What this identity may not read is known from its type.
    own.or_else(described)
        .ok_or_else(|| StructureError::NoSlot {
            ord: place.ord(),
            slot: name.to_owned(),
        })
}

/// A link that is stored on a component, by its name.
pub(super) fn link_of<'a>(sink: &'a Place, name: &str) -> StructureResult<&'a Node> {
    let link = sink.target.slot(name);
    let link = link.ok_or_else(|| StructureError::NoSuchLink {
        sink: sink.ord(),
        name: name.to_owned(),
    })?;
    if !is_link(link) {
        return Err(StructureError::NotALink {
            ord: sink.child(link.slot_name())?.absolute(),
            type_spec: kind_text(link),
        });
    }
    Ok(link)
}

/// The name of the link on its sink (Tool surface §8.4).
fn link_name(
    sink: &Place,
    source: &Place,
    source_slot: &str,
    wanted: Option<&str>,
) -> StructureResult<String> {
    let taken = |name: &str| StructureError::NameTaken {
        parent: sink.ord(),
        name: name.to_owned(),
    };
    if let Some(wanted) = wanted {
        let name = stored_name(wanted)?;
        return if sink.is_taken(&name) {
            Err(taken(&name))
        } else {
            Ok(name)
        };
    }
    let source_name = match source.path.name() {
        Some(name) => name.as_str(),
        None => "Station",
    };
    let name = format!("{source_name}{}Link", capitalized(source_slot));
    sink.free_name(&name).ok_or_else(|| taken(&name))
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    match characters.next() {
        Some(first) => format!("{}{}", first.to_ascii_uppercase(), characters.as_str()),
        None => String::new(),
    }
}

/// The converter of an encoded link.
fn converter_of(link: &Json) -> Option<String> {
    let members = link.get("s")?.as_array()?;
    let converter = members
        .iter()
        .find(|member| member.get("n").and_then(Json::as_str) == Some("converter"))?;
    converter.get("t")?.as_str().map(str::to_owned)
}

/// The type of what a slot passes on or takes: of a property its value, of an action its parameter, of a topic its
/// event.
fn carried_type(slot: &Node) -> Option<&str> {
    match slot.kind {
        SlotKind::Property => slot.type_spec.as_deref(),
        SlotKind::Action => slot.action.as_deref()?.parameter.as_deref(),
        SlotKind::Topic => slot.topic_event.as_deref(),
    }
}

fn kind_text(slot: &Node) -> String {
    match slot.kind {
        SlotKind::Property => slot.type_name().to_owned(),
        SlotKind::Action => "an action".to_owned(),
        SlotKind::Topic => "a topic".to_owned(),
    }
}

fn reason_text(reason: String) -> String {
    if reason.trim().is_empty() {
        "the types of the slots do not fit".to_owned()
    } else {
        reason
    }
}

/// What is said of a link that was made with a converter although the plain one would be invalid.
fn overridden(reason: &str, converter: &str, fitting: &[String]) -> String {
    let note = format!("Without the converter the station would refuse this link: {reason}.");
    if fitting.is_empty() || fitting.iter().any(|known| known == converter) {
        return note;
    }
    format!(
        "{note} By their names these converters fit the slots better: {}.",
        fitting.join(", ")
    )
}
