//! What kind of equipment a group of points is, by its name, the names above it, and what its points measure.

use super::concept::ConceptSet;
use super::grouping::Group;
use super::lexicon::Lexicon;
use super::reading::Readings;
use super::words::pieces;
use crate::station::ord::SlotName;

/// What a name of the equipment itself says, of the component above it, and of those further above.
const OWN_NAME: f64 = 1.0;
const NAME_ABOVE: f64 = 0.45;
const NAME_FURTHER: f64 = 0.15;

/// What the name of a controller says of a folder among its points: a part of it is seldom what the whole is.
const NAME_OF_WHOLE: f64 = 0.1;

/// A room says where equipment stands rather than what it is.
const ROOM_NAME: f64 = 0.35;

/// Kinds judged closely besides those that names say.
const CLOSE_LOOKS: usize = 6;

/// The kinds of equipment that serve rooms, with how common they are.
const IN_ROOMS: [(&str, f64); 4] = [("vav", 1.0), ("fcu", 1.0), ("cav", 0.9), ("room", 0.6)];

/// The kind of a group of points.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kind {
    pub family: usize,
    pub confidence: f64,
    pub reasons: Vec<String>,
}

/// The likeliest kind; none when neither names nor points say anything.
pub(super) fn kind_of(
    lexicon: &Lexicon,
    group: &Group,
    readings: &mut Readings<'_>,
) -> Option<Kind> {
    let named = named(lexicon, group);
    let mut candidates: Vec<usize> = named.iter().map(|(family, ..)| *family).collect();
    for family in readings.likely_families(group, CLOSE_LOOKS) {
        if !candidates.contains(&family) {
            candidates.push(family);
        }
    }
    let mut scored: Vec<(f64, f64, usize)> = candidates
        .into_iter()
        .map(|family| {
            let structure = readings.structure(group, family);
            let name = named
                .iter()
                .find(|(known, ..)| *known == family)
                .map_or(0.0, |(_, weight, _)| *weight);
            (name + structure, structure, family)
        })
        .collect();
    scored.sort_by(|one, two| two.0.total_cmp(&one.0));
    let (total, structure, family) = *scored.first()?;
    let second = scored.get(1).map_or(0.0, |second| second.0);
    if total < 0.15 {
        return None;
    }
    let name = named.iter().find(|(known, ..)| *known == family);
    let margin = (total - second).clamp(0.0, 1.0);
    let fits_points = (structure * 1.3).clamp(0.0, 1.0);
    let confidence = match name {
        Some((_, weight, _)) if *weight >= OWN_NAME => 0.62 + 0.23 * fits_points + 0.12 * margin,
        Some((_, weight, _)) => 0.4 + 0.3 * fits_points + 0.25 * margin.max(*weight * 0.3),
        None => 0.25 + 0.35 * fits_points + 0.35 * margin,
    };
    let mut reasons = Vec::new();
    let kind = lexicon
        .families()
        .get(family)
        .map_or("", |family| family.name.as_str());
    if let Some((_, _, text)) = name {
        reasons.push(format!("'{text}' says {kind}"));
    }
    let typical = readings.typical_roles(group, family);
    if !typical.is_empty() {
        let article = match kind.starts_with(['a', 'e', 'i', 'o']) {
            true => "an",
            false => "a",
        };
        reasons.push(format!("{article} {kind} has {}", typical.join(", ")));
    }
    Some(Kind {
        family,
        confidence,
        reasons,
    })
}

/// Kinds that the names say, with the weight of the strongest and the name that says it.
fn named(lexicon: &Lexicon, group: &Group) -> Vec<(usize, f64, String)> {
    let mut found: Vec<(usize, f64, String)> = Vec::new();
    let mut add = |family: usize, weight: f64, name: &str| match found
        .iter_mut()
        .find(|(known, ..)| *known == family)
    {
        Some(known) if known.1 >= weight => {}
        Some(known) => *known = (family, weight, name.to_owned()),
        None => found.push((family, weight, name.to_owned())),
    };
    // Containers of points in between tell nothing; what is above them is meant.
    let above: Vec<String> = group
        .path
        .names()
        .iter()
        .rev()
        .skip(usize::from(!group.is_shared))
        .map(SlotName::display)
        .filter(|name| !lexicon.is_container(&pieces(name)))
        .take(3)
        .collect();
    let is_part = group
        .path
        .parent()
        .as_ref()
        .and_then(|parent| parent.name())
        .is_some_and(|name| lexicon.is_container(&pieces(name.as_str())));
    let nearest = if is_part && !group.is_shared {
        NAME_OF_WHOLE
    } else {
        NAME_ABOVE
    };
    let weights = [
        nearest,
        NAME_FURTHER.min(nearest),
        NAME_FURTHER.min(nearest),
    ];
    let names =
        std::iter::once((OWN_NAME, group.name.clone())).chain(weights.into_iter().zip(above));
    for (weight, name) in names {
        for (number, mention) in lexicon.families_in(&pieces(&name)).into_iter().enumerate() {
            // The first of several kinds in one name is what it is, the others what it belongs to.
            let weight = weight - 0.1 * number as f64;
            for family in mention.families {
                let id = lexicon
                    .families()
                    .get(family)
                    .map_or("", |family| family.id.as_str());
                if id != "room" {
                    add(family, weight, &name);
                    continue;
                }
                for (kind, share) in IN_ROOMS {
                    if let Some(family) = lexicon.family(kind) {
                        add(family, weight * ROOM_NAME * share, &name);
                    }
                }
            }
        }
    }
    found
}

/// What goes without saying on equipment of a kind.
pub(super) fn given(lexicon: &Lexicon, family: Option<usize>) -> ConceptSet {
    family
        .and_then(|family| lexicon.families().get(family))
        .map(|family| family.gives)
        .unwrap_or_default()
}
