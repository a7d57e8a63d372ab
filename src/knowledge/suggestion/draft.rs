//! A piece of equipment while its kind, its type and the roles of its points are settled.

use super::assignment::{Assigned, Candidate, LEAST_PROPOSED, assign};
use super::evidence::{Fit, Surroundings, fits, quantity_concepts};
use super::facts::{Facts, weigh};
use super::family::{Kind, given, kind_of};
use super::grouping::{Group, Member};
use super::reading::{Readings, Subject};
use super::siblings::MappedNames;
use super::vocabulary::{KnownType, type_for};
use super::wildcard::matches_pattern;
use super::{DescribedPoint, ShippedClues};

/// How sure a name is that means the same on mapped equipment, and one that nothing else supports.
const MAPPED_SO: f64 = 0.97;
const MAPPED_SO_ALONE: f64 = 0.87;

/// Doubt that is left when a slot pattern of the type fits too.
const PATTERN_FITS: f64 = 0.9;

/// Everything that is known before the first piece of equipment is looked at.
pub(super) struct Site<'a> {
    pub data: &'a ShippedClues,
    pub points: &'a [DescribedPoint],
    pub subjects: &'a [Subject],
    pub types: &'a [KnownType],
    pub mapped: &'a MappedNames,
}

/// A candidate role with what speaks for it.
#[derive(Debug, Clone)]
pub(super) struct Considered {
    pub role: String,
    pub confidence: f64,
    /// How the name says it; none when only mapped equipment does.
    pub fit: Option<Fit>,
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
        let lexicon = &site.data.lexicon;
        let kind = kind_of(lexicon, group, readings);
        let family = kind.as_ref().map(|kind| kind.family);
        let weighed: Vec<Vec<Weighed>> = group
            .members
            .iter()
            .map(|member| site.weighed(member, family, readings))
            .collect();
        let best: Vec<(usize, f64)> = weighed
            .iter()
            .filter_map(|all| {
                all.iter()
                    .max_by(|one, two| one.confidence.total_cmp(&two.confidence))
                    .filter(|best| best.confidence >= LEAST_PROPOSED)
                    .map(|best| (best.fit.clue, best.confidence))
            })
            .collect();
        let known_type = family.and_then(|family| type_for(lexicon, site.types, family, &best));
        let points = group
            .members
            .iter()
            .zip(weighed)
            .map(|(member, weighed)| {
                let mut considered = site.named(weighed, known_type);
                if let Some(known) = known_type {
                    site.add_own_roles(known, family, member, readings, &mut considered);
                    site.apply_patterns(known, member, &mut considered);
                }
                if let Some(family) = family {
                    site.apply_mapped(family, member, &mut considered);
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
        let mut draft = Self {
            group,
            kind,
            known_type,
            points,
        };
        draft.settle();
        draft
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
                point.considered.iter().map(candidate).collect()
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

/// A role as the name and the facts of a point support it.
struct Weighed {
    fit: Fit,
    confidence: f64,
    reasons: Vec<String>,
}

impl Site<'_> {
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
    fn named(&self, weighed: Vec<Weighed>, known_type: Option<&KnownType>) -> Vec<Considered> {
        weighed
            .into_iter()
            .filter_map(|weighed| {
                let role = match known_type.and_then(|known| known.name_of(weighed.fit.clue)) {
                    Some(named) => named.role.clone(),
                    None => self.data.clues.get(weighed.fit.clue)?.role.clone(),
                };
                Some(Considered {
                    role,
                    confidence: weighed.confidence,
                    fit: Some(weighed.fit),
                    reasons: weighed.reasons,
                })
            })
            .collect()
    }

    /// Roles that only this type has.
    fn add_own_roles(
        &self,
        known: &KnownType,
        family: Option<usize>,
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
                family,
                given: given(lexicon, family),
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

    fn apply_patterns(&self, known: &KnownType, member: &Member, considered: &mut [Considered]) {
        let point = self.points.get(member.point);
        let Some(name) = point.and_then(|point| point.path.name()) else {
            return;
        };
        for (role, patterns) in &known.patterns {
            let Some(one) = considered.iter_mut().find(|one| one.role == *role) else {
                continue;
            };
            let fits = |pattern: &&String| matches_pattern(pattern, name.as_str());
            if let Some(pattern) = patterns.iter().find(fits) {
                one.confidence = 1.0 - (1.0 - one.confidence) * PATTERN_FITS;
                one.reasons
                    .push(format!("the slot pattern {pattern} of the type fits"));
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
