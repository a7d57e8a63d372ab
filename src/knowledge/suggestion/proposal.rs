//! Settled drafts as proposals: ids, reasons in words, alternatives.

use std::collections::HashSet;

use super::assignment::LEAST_PROPOSED;
use super::concept::ConceptSet;
use super::draft::{Considered, Draft, DraftPoint, Site};
use super::grouping::Group;
use super::lexicon::Lexicon;
use super::quantity::Quantity;
use super::words::kebab;
use super::{DescribedPoint, EquipmentProposal, PointProposal, RoleGuess};
use crate::knowledge::KnowledgeModel;

/// Alternatives told per point.
const ALTERNATIVES: usize = 3;

/// A role below this is no alternative.
const LEAST_ALTERNATIVE: f64 = 0.1;

/// A draft in the form that callers see.
pub(super) fn proposal(draft: Draft<'_>, site: &Site<'_>, ids: &mut Ids) -> EquipmentProposal {
    let group = draft.group;
    let mapped = site.mapped_at(group);
    let id = match mapped {
        Some(entry) => entry.id.clone(),
        None => ids.free(group),
    };
    let mut missing = draft.missing();
    missing.retain(|role| mapped.is_none_or(|entry| !entry.points.contains_key(role)));
    let known_type = draft.known_type.map(|known| known.id.clone());
    let (type_id, incomplete_type) = if missing.is_empty() || mapped.is_some() {
        (known_type, None)
    } else {
        (None, known_type)
    };
    let kind = draft
        .family()
        .and_then(|family| site.data.lexicon.families().get(family))
        .map(|family| family.name.clone());
    let points = draft
        .points
        .iter()
        .filter_map(|point| point_proposal(point, &draft, site, kind.as_deref()))
        .collect();
    let mut reasons = draft
        .kind
        .as_ref()
        .map_or_else(Vec::new, |kind| kind.reasons.clone());
    if let Some(id) = &incomplete_type {
        reasons.push(format!(
            "the type '{id}' requires {}, which no point here seems to be",
            missing.join(", ")
        ));
    }
    EquipmentProposal {
        id,
        name: group.name.clone(),
        path: group.path.clone(),
        is_shared: group.is_shared,
        kind,
        type_id,
        incomplete_type,
        confidence: rounded(draft.kind.as_ref().map_or(0.0, |kind| kind.confidence)),
        points,
        missing,
        mapped_as: mapped.map(|entry| entry.id.clone()),
        reasons,
    }
}

fn point_proposal(
    point: &DraftPoint<'_>,
    draft: &Draft<'_>,
    site: &Site<'_>,
    kind: Option<&str>,
) -> Option<PointProposal> {
    let described = site.points.get(point.member.point)?;
    let chosen = point.chosen.map(|(candidate, _)| candidate);
    let role = point.role().map(|(role, confidence)| RoleGuess {
        role: role.to_owned(),
        confidence: rounded(confidence),
    });
    let alternatives = point
        .considered
        .iter()
        .enumerate()
        .filter(|(candidate, one)| {
            chosen != Some(*candidate) && one.confidence >= LEAST_ALTERNATIVE
        })
        .take(ALTERNATIVES)
        .map(|(_, one)| RoleGuess {
            role: one.role.clone(),
            confidence: rounded(one.confidence),
        })
        .collect();
    let mut reasons = match chosen.and_then(|candidate| point.considered.get(candidate)) {
        Some(one) => reasons(&site.data.lexicon, one, described, kind),
        None => vec![why_none(point, draft, site)],
    };
    reasons.extend(point.neighbours.clone());
    Some(PointProposal {
        point: point.member.point,
        role,
        alternatives,
        reasons,
    })
}

fn why_none(point: &DraftPoint<'_>, draft: &Draft<'_>, site: &Site<'_>) -> String {
    let holder = point
        .taken_by
        .and_then(|holder| draft.points.get(holder))
        .and_then(|holder| site.points.get(holder.member.point))
        .and_then(|holder| holder.path.name());
    match (holder, point.considered.first()) {
        (Some(holder), Some(best)) => {
            format!("'{}' fits {} better", holder.display(), best.role)
        }
        (None, Some(best)) if !best.is_of_type && best.confidence >= LEAST_PROPOSED => {
            let type_id = draft.known_type.map_or("", |known| known.id.as_str());
            format!(
                "{} fits, but the type '{type_id}' has no such role",
                best.role
            )
        }
        _ => "no known role fits".to_owned(),
    }
}

fn reasons(
    lexicon: &Lexicon,
    one: &Considered,
    point: &DescribedPoint,
    kind: Option<&str>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(fit) = &one.fit {
        if !fit.said.is_empty() {
            reasons.push(format!("the name says {}", explained(lexicon, &fit.said)));
        }
        let unit = point.unit.as_ref().filter(|unit| !unit.is_null());
        if let Some(unit) = unit {
            let quantity = Quantity::of(point.kind, Some(unit));
            reasons.push(format!("{} measures {}", unit.symbol(), quantity.words()));
        }
        if fit.is_implied
            && let Some(kind) = kind
        {
            reasons.push(format!("the rest goes without saying on a {kind}"));
        }
        if !fit.unexplained.is_empty() {
            reasons.push(format!("{} is not accounted for", quoted(&fit.unexplained)));
        }
    }
    reasons.extend(one.reasons.iter().cloned());
    reasons
}

/// "'SA' (supply air), 'CFM' (air flow)"; words that mean themselves stand alone, and parts of one word together.
fn explained(lexicon: &Lexicon, said: &[(String, ConceptSet)]) -> String {
    let mut words: Vec<(&str, Vec<&str>)> = Vec::new();
    for (word, meaning) in said {
        let names = lexicon.concepts.names(*meaning);
        match words.last_mut() {
            Some((last, known)) if last == word => known.extend(names),
            _ => words.push((word, names)),
        }
    }
    let words: Vec<String> = words
        .into_iter()
        .map(|(word, names)| {
            let meaning = names.join(" ");
            if word.eq_ignore_ascii_case(&meaning) {
                format!("'{word}'")
            } else {
                format!("'{word}' ({meaning})")
            }
        })
        .collect();
    words.join(", ")
}

fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    words.join(", ")
}

/// To hundredths: more would pretend a precision that nobody has.
fn rounded(confidence: f64) -> f64 {
    (confidence.clamp(0.0, 0.99) * 100.0).round() / 100.0
}

/// Ids in use.
pub(super) struct Ids(HashSet<String>);

impl Ids {
    pub fn of(model: &KnowledgeModel) -> Self {
        Self(
            model
                .document()
                .equipment
                .iter()
                .map(|entry| entry.id.clone())
                .collect(),
        )
    }

    /// An id from the name of a group, with the name above it where the name alone is taken.
    fn free(&mut self, group: &Group) -> String {
        let own = kebab(&group.name);
        let own = if own.is_empty() {
            "equipment".to_owned()
        } else {
            own
        };
        let above = group
            .path
            .parent()
            .and_then(|above| Some(kebab(above.name()?.as_str())))
            .filter(|above| !above.is_empty() && above != "points");
        let longer = above.map(|above| format!("{above}-{own}"));
        let base = std::iter::once(own.clone())
            .chain(longer)
            .find(|id| !self.0.contains(id));
        let id = base.unwrap_or_else(|| {
            (2..)
                .map(|number: usize| format!("{own}-{number}"))
                .find(|id| !self.0.contains(id))
                .unwrap_or_default()
        });
        self.0.insert(id.clone());
        id
    }
}
