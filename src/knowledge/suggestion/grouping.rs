//! Which points belong together: equipment by folders, and by the beginnings of names where folders do not tell.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::lexicon::Lexicon;
use super::words::{Piece, pieces};
use crate::station::ord::{SlotName, SlotPath, unescape};

/// A folder is divided by the beginnings of its points' names when so many of them begin with a piece of equipment.
const DIVIDING_SHARE: f64 = 0.6;

/// Words of a site or building before the equipment ("BLDG1_AHU2_SAT").
const WORDS_BEFORE: usize = 2;

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// The component of the equipment, or the folder that it shares with others.
    pub path: SlotPath,
    /// Readable name.
    pub name: String,
    /// Other equipment has the same component.
    pub is_shared: bool,
    pub members: Vec<Member>,
}

/// A point of a group, by its place in the list of points.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub point: usize,
    /// Pieces of the slot name without those that name the equipment.
    pub pieces: Vec<Piece>,
}

/// The groups of points, in order of their first points.
pub(super) fn groups(lexicon: &Lexicon, paths: &[&SlotPath]) -> Vec<Group> {
    let points: HashSet<&SlotPath> = paths.iter().copied().collect();
    let mut folders: IndexMap<SlotPath, Vec<usize>> = IndexMap::new();
    for (point, path) in paths.iter().enumerate() {
        folders
            .entry(equipment_of(lexicon, path, &points))
            .or_default()
            .push(point);
    }
    folders
        .into_iter()
        .flat_map(|(path, members)| divided(lexicon, path, members, paths))
        .collect()
}

/// The nearest component above a point that is neither a point nor a mere container of points.
fn equipment_of(lexicon: &Lexicon, path: &SlotPath, points: &HashSet<&SlotPath>) -> SlotPath {
    let mut above = path.parent().unwrap_or_default();
    while let Some(parent) = above.parent().filter(|parent| !parent.is_root()) {
        let is_container = above
            .name()
            .is_some_and(|name| lexicon.is_container(&pieces(name.as_str())));
        if !is_container && !points.contains(&above) {
            break;
        }
        above = parent;
    }
    above
}

/// The beginning of a name that says which equipment it is: so many pieces, ending at this byte of the readable name.
struct Designator {
    key: String,
    length: usize,
    end: usize,
}

/// "RTU-3" of "RTU-3.DA-T": a kind of equipment and its number.
fn designator(lexicon: &Lexicon, parts: &[Piece]) -> Option<Designator> {
    let mention = lexicon
        .families_in(parts)
        .into_iter()
        .find(|mention| mention.at <= WORDS_BEFORE)?;
    let mut length = mention.at + mention.length;
    let numbered = length;
    while parts
        .get(length)
        .is_some_and(|piece| piece.is_number || (length > numbered && is_letter_of(parts, length)))
    {
        length += 1;
    }
    let last = parts.get(length.checked_sub(1)?)?;
    // Something must be left that says what the point is.
    (length > numbered && length < parts.len()).then(|| Designator {
        key: parts
            .iter()
            .take(length)
            .map(|piece| piece.text.trim_start_matches('0'))
            .collect::<Vec<_>>()
            .join("-"),
        length,
        end: last.end,
    })
}

/// A letter that belongs to the number before it, as in "VAV 12A Temp".
fn is_letter_of(parts: &[Piece], at: usize) -> bool {
    parts.get(at).is_some_and(|piece| {
        piece.text.len() == 1
            && !piece.is_apart
            && parts.get(at + 1).is_some_and(|next| next.is_apart)
    })
}

fn divided(
    lexicon: &Lexicon,
    path: SlotPath,
    members: Vec<usize>,
    paths: &[&SlotPath],
) -> Vec<Group> {
    let own_name = path.name().map(SlotName::display).unwrap_or_default();
    let names: Vec<(usize, &str, Vec<Piece>)> = members
        .into_iter()
        .filter_map(|point| {
            let name = paths.get(point)?.name()?.as_str();
            Some((point, name, pieces(name)))
        })
        .collect();
    let designators: Vec<Option<Designator>> = names
        .iter()
        .map(|(_, _, parts)| designator(lexicon, parts))
        .collect();
    let named = designators.iter().flatten().count();
    let is_divided = named > 1 && named as f64 >= DIVIDING_SHARE * names.len() as f64;
    let mut rest = Group {
        path: path.clone(),
        name: own_name,
        is_shared: false,
        members: Vec::new(),
    };
    if !is_divided {
        let own = pieces(&rest.name);
        rest.members = names
            .into_iter()
            .map(|(point, _, parts)| Member {
                point,
                pieces: without_own_name(parts, &own),
            })
            .collect();
        return vec![rest];
    }
    let mut parts: IndexMap<String, Group> = IndexMap::new();
    for ((point, name, pieces), designator) in names.into_iter().zip(designators) {
        let Some(designator) = designator else {
            rest.members.push(Member { point, pieces });
            continue;
        };
        let group = parts.entry(designator.key).or_insert_with(|| Group {
            path: path.clone(),
            name: unescape(name)
                .get(..designator.end)
                .unwrap_or_default()
                .to_owned(),
            is_shared: true,
            members: Vec::new(),
        });
        group.members.push(Member {
            point,
            pieces: pieces.into_iter().skip(designator.length).collect(),
        });
    }
    if parts.len() == 1
        && let Some((_, mut only)) = parts.pop()
    {
        // All names begin with the same equipment: the folder is that equipment.
        only.is_shared = false;
        only.members.append(&mut rest.members);
        only.name = rest.name;
        return vec![only];
    }
    let mut groups: Vec<Group> = parts.into_values().collect();
    if !rest.members.is_empty() {
        rest.is_shared = true;
        groups.push(rest);
    }
    groups
}

/// Names that begin with the whole name of their equipment lose it.
fn without_own_name(parts: Vec<Piece>, own: &[Piece]) -> Vec<Piece> {
    let begins = own.len() > 1
        && parts.len() > own.len()
        && own
            .iter()
            .zip(&parts)
            .all(|(own, part)| own.text == part.text);
    if begins {
        parts.into_iter().skip(own.len()).collect()
    } else {
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::suggestion::shipped;

    fn grouped(paths: &[&str]) -> Vec<(String, String, Vec<String>)> {
        let paths: Vec<SlotPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        let paths: Vec<&SlotPath> = paths.iter().collect();
        groups(&shipped().lexicon, &paths)
            .into_iter()
            .map(|group| {
                let members = group
                    .members
                    .iter()
                    .map(|member| {
                        let texts: Vec<&str> = member
                            .pieces
                            .iter()
                            .map(|piece| piece.text.as_str())
                            .collect();
                        texts.join(" ")
                    })
                    .collect();
                (group.path.to_string(), group.name, members)
            })
            .collect()
    }

    #[test]
    fn containers_and_points_are_no_equipment() {
        let found = grouped(&[
            "slot:/Drivers/N/AHU1/points/SAT",
            "slot:/Drivers/N/AHU1/points/Analog$20Inputs/RAT",
            "slot:/Drivers/N/AHU1/points/SAT/Limit",
            "slot:/Drivers/N/Plant/points/Tower/CWS",
        ]);
        assert_eq!(
            found,
            [
                (
                    "slot:/Drivers/N/AHU1".to_owned(),
                    "AHU1".to_owned(),
                    vec!["sat".to_owned(), "rat".to_owned(), "limit".to_owned()]
                ),
                (
                    "slot:/Drivers/N/Plant/points/Tower".to_owned(),
                    "Tower".to_owned(),
                    vec!["cws".to_owned()]
                ),
            ]
        );
    }

    #[test]
    fn one_folder_with_many_units_is_divided_by_the_names() {
        let found = grouped(&[
            "slot:/D/JACE/points/RTU$2d3$2eDA$2dT",
            "slot:/D/JACE/points/RTU$2d3$2eRA$2dT",
            "slot:/D/JACE/points/RTU$2d4$2eDA$2dT",
            "slot:/D/JACE/points/Rm_204_ZnTmp",
            "slot:/D/JACE/points/Clock",
        ]);
        let names: Vec<(&str, usize)> = found
            .iter()
            .map(|(_, name, members)| (name.as_str(), members.len()))
            .collect();
        assert_eq!(
            names,
            [("RTU-3", 2), ("RTU-4", 1), ("Rm_204", 1), ("JACE", 1)]
        );
        assert_eq!(found[0].2, ["da t", "ra t"]);

        let found = grouped(&[
            "slot:/D/AHU1/points/AHU1_SAT",
            "slot:/D/AHU1/points/AHU1_RAT",
            "slot:/D/AHU1/points/Mode",
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].2, ["sat", "rat", "mode"]);
    }
}
