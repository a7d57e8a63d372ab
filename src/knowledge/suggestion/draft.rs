//! A piece of equipment while its kind, its type and the roles of its points are settled.

use std::collections::HashMap;

use super::assignment::{Assigned, Candidate, assign};
use super::concept::ConceptSet;
use super::evidence::{Fit, Surroundings, fits, quantity_concepts};
use super::facts::{Facts, weigh};
use super::family::{Kind, given, kind_of};
use super::grouping::{Group, Member};
use super::lexicon::Lexicon;
use super::reading::{Readings, Subject};
use super::siblings::MappedNames;
use super::slot_pattern::pattern_fit;
use super::vocabulary::{KnownType, types_for};
use super::words::pieces;
use super::{DescribedPoint, ShippedClues};
use crate::knowledge::Equipment;
use crate::station::ord::SlotPath;

/// How sure a name is that means the same on mapped equipment, and one that nothing else supports.
const MAPPED_SO: f64 = 0.97;
const MAPPED_SO_ALONE: f64 = 0.87;

/// Doubt that is left when a slot pattern of the type fits too.
const PATTERN_FITS: f64 = 0.9;

/// What a name that says the type counts for, beside a point with a role of the type.
const NAME_SAYS_TYPE: f64 = 0.7;

/// What a required role counts for that no point has.
const MISSING: f64 = 0.6;

/// How sure a piece of equipment can be of a type that is made for another kind ("chiller" for a plant).
const MOST_FOR_ANOTHER_KIND: f64 = 0.7;

/// A role of the type must reach this share of what the name says more clearly, but the type does not have.
const BESIDE_A_CLEARER_ONE: f64 = 0.7;

/// By how much a type must be better than one that stands before it in the model.
const BETTER: f64 = 0.25;

/// Everything that is known before the first piece of equipment is looked at.
pub(super) struct Site<'a> {
    pub data: &'a ShippedClues,
    pub points: &'a [DescribedPoint],
    pub subjects: &'a [Subject],
    pub types: &'a [KnownType],
    pub mapped: &'a MappedNames,
    /// Equipment of the model by its component.
    pub equipment: HashMap<SlotPath, &'a Equipment>,
}

/// A candidate role with what speaks for it.
#[derive(Debug, Clone)]
pub(super) struct Considered {
    pub role: String,
    pub confidence: f64,
    /// How the name says it; none when only a slot pattern or mapped equipment does.
    pub fit: Option<Fit>,
    /// Whether the type has the role; true without a type.
    pub is_of_type: bool,
    pub reasons: Vec<String>,
}

/// A point of a draft.
#[derive(Debug)]
pub(super) struct DraftPoint<'a> {
    pub member: &'a Member,
    /// The likeliest first.
    pub considered: Vec<Considered>,
    /// Place in `considered`, and confidence.
    pub chosen: Option<(usize, f64)>,
    /// Place of the point that has this point's best role.
    pub taken_by: Option<usize>,
    pub neighbours: Option<String>,
}

impl DraftPoint<'_> {
    /// The chosen role and its confidence.
    pub fn role(&self) -> Option<(&str, f64)> {
        let (candidate, confidence) = self.chosen?;
        Some((&self.considered.get(candidate)?.role, confidence))
    }
}

#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub group: &'a Group,
    pub kind: Option<Kind>,
    pub known_type: Option<&'a KnownType>,
    pub points: Vec<DraftPoint<'a>>,
}

impl<'a> Draft<'a> {
    pub fn of(site: &Site<'a>, group: &'a Group, readings: &mut Readings<'_>) -> Self {
        let kind = kind_of(&site.data.lexicon, group, readings);
        let family = kind.as_ref().map(|kind| kind.family);
        let weighed: Vec<Vec<Weighed>> = group
            .members
            .iter()
            .map(|member| site.weighed(member, family, readings))
            .collect();
        let mut best: Option<(Self, Standing)> = None;
        for known in site.types_in_question(group, family) {
            let draft = Self::with_type(site, group, kind.clone(), &weighed, Some(known), readings);
            let standing = draft.standing(&site.data.lexicon);
            if best.as_ref().is_none_or(|(_, best)| standing.beats(best)) {
                best = Some((draft, standing));
            }
        }
        match best {
            Some((draft, _)) => draft,
            None => Self::with_type(site, group, kind, &weighed, None, readings),
        }
    }

    fn with_type(
        site: &Site<'a>,
        group: &'a Group,
        kind: Option<Kind>,
        weighed: &[Vec<Weighed>],
        known_type: Option<&'a KnownType>,
        readings: &mut Readings<'_>,
    ) -> Self {
        let family = kind.as_ref().map(|kind| kind.family);
        let said = site.data.lexicon.all_meanings(&pieces(&group.name));
        let points = group
            .members
            .iter()
            .zip(weighed)
            .map(|(member, weighed)| {
                let mut considered = site.named(weighed, known_type);
                if let Some(known) = known_type {
                    let given = site.given_by(known, family, said);
                    site.add_own_roles(known, given, member, readings, &mut considered);
                    site.apply_patterns(known, given, member, &mut considered);
                }
                if let Some(family) = family {
                    site.apply_mapped(family, member, &mut considered);
                }
                for one in &mut considered {
                    one.is_of_type = known_type.is_none_or(|known| known.has(&one.role));
                }
                considered.sort_by(|one, two| two.confidence.total_cmp(&one.confidence));
                DraftPoint {
                    member,
                    considered,
                    chosen: None,
                    taken_by: None,
                    neighbours: None,
                }
            })
            .collect();
        let kind = match known_type {
            Some(known) => kind.map(|kind| of_type(&site.data.lexicon, kind, known)),
            None => kind,
        };
        let mut draft = Self {
            group,
            kind,
            known_type,
            points,
        };
        draft.settle();
        draft
    }

    /// Roles that the type requires and no point has.
    pub fn missing(&self) -> Vec<String> {
        self.known_type
            .iter()
            .flat_map(|known| &known.roles)
            .filter(|role| role.is_required && !self.has(&role.role))
            .map(|role| role.role.clone())
            .collect()
    }

    fn standing(&self, lexicon: &Lexicon) -> Standing {
        let covered: f64 = self
            .points
            .iter()
            .filter_map(|point| point.role())
            .map(|(_, confidence)| confidence)
            .sum();
        let said = lexicon.all_meanings(&pieces(&self.group.name));
        let names_type = self.known_type.is_some_and(|known| known.words.meets(said));
        let missing = self.missing().len();
        Standing {
            is_complete: missing == 0,
            worth: covered + if names_type { NAME_SAYS_TYPE } else { 0.0 }
                - MISSING * missing as f64,
        }
    }

    pub fn family(&self) -> Option<usize> {
        self.kind.as_ref().map(|kind| kind.family)
    }

    /// Whether a point has this role.
    pub fn has(&self, role: &str) -> bool {
        self.points
            .iter()
            .any(|point| point.role().is_some_and(|(held, _)| held == role))
    }

    /// Gives each role to one point.
    fn settle(&mut self) {
        let mut roles: Vec<&str> = Vec::new();
        for candidate in self.points.iter().flat_map(|point| &point.considered) {
            if !roles.contains(&candidate.role.as_str()) {
                roles.push(&candidate.role);
            }
        }
        let candidates: Vec<Vec<Candidate>> = self
            .points
            .iter()
            .map(|point| {
                let candidate = |one: &Considered| Candidate {
                    role: roles
                        .iter()
                        .position(|known| *known == one.role)
                        .unwrap_or_default(),
                    confidence: one.confidence,
                };
                // What the type does not have keeps its place in the list, and wins nothing.
                let out_of_type = |one: &Considered| Candidate {
                    confidence: 0.0,
                    ..candidate(one)
                };
                let clearest = point.considered.iter().filter(|one| !one.is_of_type);
                let clearest = clearest.map(|one| one.confidence).fold(0.0, f64::max);
                point
                    .considered
                    .iter()
                    .map(|one| {
                        if one.is_of_type && one.confidence >= clearest * BESIDE_A_CLEARER_ONE {
                            candidate(one)
                        } else {
                            out_of_type(one)
                        }
                    })
                    .collect()
            })
            .collect();
        for (point, Assigned { chosen, taken_by }) in
            self.points.iter_mut().zip(assign(&candidates))
        {
            point.chosen = chosen;
            point.taken_by = taken_by;
        }
    }
}

/// The kind of a piece of equipment that gets a type: one that is made for another kind is a makeshift.
fn of_type(lexicon: &Lexicon, mut kind: Kind, known: &KnownType) -> Kind {
    if known.family.is_none_or(|family| family == kind.family) {
        return kind;
    }
    kind.confidence = kind.confidence.min(MOST_FOR_ANOTHER_KIND);
    if let Some(family) = lexicon.families().get(kind.family) {
        kind.reasons.push(format!(
            "no type is made for a {}, and '{}' comes nearest",
            family.name, known.id
        ));
    }
    kind
}

/// How well a type does for a piece of equipment.
#[derive(Debug, Clone, Copy)]
struct Standing {
    /// Every role that the type requires has a point.
    is_complete: bool,
    worth: f64,
}

impl Standing {
    fn beats(&self, other: &Self) -> bool {
        if self.is_complete == other.is_complete {
            self.worth > other.worth + BETTER
        } else {
            self.is_complete
        }
    }
}

/// A role as the name and the facts of a point support it.
#[derive(Clone)]
struct Weighed {
    fit: Fit,
    confidence: f64,
    reasons: Vec<String>,
}

impl<'a> Site<'a> {
    /// The type that the equipment has in the model already, or all that its kind may have.
    fn types_in_question(&self, group: &Group, family: Option<usize>) -> Vec<&'a KnownType> {
        let held = self
            .mapped_at(group)
            .and_then(|entry| entry.equipment_type.as_deref())
            .and_then(|id| self.types.iter().find(|known| known.id == id));
        match (held, family) {
            (Some(held), _) => vec![held],
            (None, Some(family)) => types_for(&self.data.lexicon, self.types, family),
            (None, None) => Vec::new(),
        }
    }

    /// The equipment of the model with the component of a group.
    pub fn mapped_at(&self, group: &Group) -> Option<&'a Equipment> {
        self.equipment
            .get(&group.path)
            .copied()
            .filter(|_| !group.is_shared)
    }

    /// What goes without saying on equipment of a type: what its kind implies, and what its name says of the type.
    fn given_by(&self, known: &KnownType, family: Option<usize>, said: ConceptSet) -> ConceptSet {
        let implied = given(&self.data.lexicon, family);
        if known.words.meets(said) {
            implied | known.words
        } else {
            implied
        }
    }

    fn weighed(
        &self,
        member: &Member,
        family: Option<usize>,
        readings: &mut Readings<'_>,
    ) -> Vec<Weighed> {
        let Some(point) = self.points.get(member.point) else {
            return Vec::new();
        };
        readings
            .of_point(member.point, &member.pieces, family)
            .into_iter()
            .filter_map(|fit| {
                let clue = self.data.clues.get(fit.clue)?;
                let (confidence, reasons) = weigh(&facts(point), clue, fit.confidence);
                Some(Weighed {
                    fit,
                    confidence,
                    reasons,
                })
            })
            .collect()
    }

    /// Roles under the names that the type has for them.
    fn named(&self, weighed: &[Weighed], known_type: Option<&KnownType>) -> Vec<Considered> {
        weighed
            .iter()
            .filter_map(|weighed| {
                let role = match known_type.and_then(|known| known.name_of(weighed.fit.clue)) {
                    Some(named) => named.role.clone(),
                    None => self.data.clues.get(weighed.fit.clue)?.role.clone(),
                };
                Some(Considered {
                    role,
                    confidence: weighed.confidence,
                    fit: Some(weighed.fit.clone()),
                    is_of_type: true,
                    reasons: weighed.reasons.clone(),
                })
            })
            .collect()
    }

    /// Roles that only this type has.
    fn add_own_roles(
        &self,
        known: &KnownType,
        given: ConceptSet,
        member: &Member,
        readings: &mut Readings<'_>,
        considered: &mut Vec<Considered>,
    ) {
        let (Some(point), Some(subject)) = (
            self.points.get(member.point),
            self.subjects.get(member.point),
        ) else {
            return;
        };
        let lexicon = &self.data.lexicon;
        let names = std::iter::once(&member.pieces).chain(&subject.display);
        for name in names {
            let words = readings.words(name);
            let place = Surroundings {
                quantity: quantity_concepts(lexicon, subject.quantity),
                // The kind that the type is made for: a room's controller may have the type of a terminal box.
                family: known.family,
                given,
                languages: &readings.languages,
            };
            for fit in fits(lexicon, &known.own, &words, subject.quantity, place) {
                let Some(clue) = known.own.get(fit.clue) else {
                    continue;
                };
                let (confidence, reasons) = weigh(&facts(point), clue, fit.confidence);
                let new = Considered {
                    role: clue.role.clone(),
                    confidence,
                    fit: Some(fit),
                    is_of_type: true,
                    reasons,
                };
                match considered.iter_mut().find(|one| one.role == clue.role) {
                    Some(one) if one.confidence >= confidence => {}
                    Some(one) => *one = new,
                    None => considered.push(new),
                }
            }
        }
    }

    fn apply_patterns(
        &self,
        known: &KnownType,
        given: ConceptSet,
        member: &Member,
        considered: &mut Vec<Considered>,
    ) {
        let (Some(point), Some(subject)) = (
            self.points.get(member.point),
            self.subjects.get(member.point),
        ) else {
            return;
        };
        let Some(name) = point.path.name() else {
            return;
        };
        let lexicon = &self.data.lexicon;
        for role in &known.roles {
            let fit = pattern_fit(lexicon, role, given, name.as_str(), subject.quantity);
            let Some(fit) = fit else { continue };
            let (alone, mut reasons) = match &role.clue {
                Some(clue) => weigh(&facts(point), clue, fit.confidence),
                None => (fit.confidence, Vec::new()),
            };
            let reason = format!("the slot pattern {} of the type fits", fit.pattern);
            match considered.iter_mut().find(|one| one.role == role.role) {
                Some(one) => {
                    let surer = 1.0 - (1.0 - one.confidence) * PATTERN_FITS;
                    one.confidence = surer.max(alone);
                    one.reasons.push(reason);
                }
                None => {
                    reasons.insert(0, reason);
                    considered.push(Considered {
                        role: role.role.clone(),
                        confidence: alone,
                        fit: None,
                        is_of_type: true,
                        reasons,
                    });
                }
            }
        }
    }

    fn apply_mapped(&self, family: usize, member: &Member, considered: &mut Vec<Considered>) {
        let Some((role, count)) = self.mapped.role_of(family, member) else {
            return;
        };
        let units = if count == 1 { "unit" } else { "units" };
        let reason = format!("the same name has this role on {count} mapped {units}");
        match considered.iter_mut().find(|one| one.role == role) {
            Some(one) => {
                one.confidence = one.confidence.max(MAPPED_SO);
                one.reasons.push(reason);
            }
            None => considered.push(Considered {
                role: role.to_owned(),
                confidence: MAPPED_SO_ALONE,
                fit: None,
                is_of_type: true,
                reasons: vec![reason],
            }),
        }
    }
}

fn facts(point: &DescribedPoint) -> Facts<'_> {
    Facts {
        type_spec: &point.type_spec,
        kind: point.kind,
        unit: point.unit.as_ref(),
        value: point.value,
        is_bad: point.is_bad,
        recent: point.recent,
    }
}
