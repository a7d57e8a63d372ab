//! What tells a role: the quantity measured, and what its name must and may say.

use serde::Deserialize;

use super::DataError;
use super::concept::{ConceptSet, Concepts};
use super::lexicon::{Lexicon, Sense};
use super::quantity::Quantity;
use super::words::pieces;
use crate::knowledge::TypicalPoint;

/// How sure a complete reading of a name is.
const TRUST: f64 = 0.96;

/// The same for roles that a type brings along, told by nothing but the words of the role's name.
const TRUST_IN_ROLE_NAME: f64 = 0.92;

/// Alternatives of which one must be said; each is a set of concepts.
pub(super) type Choice = Vec<ConceptSet>;

/// One way a name may tell a role.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub needs: Vec<Choice>,
    pub may: Vec<Choice>,
    /// Everything that does not speak against it, what is needed included.
    pub explains: ConceptSet,
    /// Kinds of equipment for which it holds; none for all.
    pub only: Vec<usize>,
    pub trust: f64,
    /// A number that must stand in the name ("pump 1").
    pub number: Option<String>,
}

/// What tells one role.
#[derive(Debug, Clone)]
pub(super) struct Clue {
    pub role: String,
    /// Quantities a point of this role may have; none when nothing is known.
    pub quantities: Vec<Quantity>,
    pub ways: Vec<Way>,
    pub on: Vec<usize>,
    pub also: Vec<usize>,
    /// A role of a type that is narrower than the one that CAMBER's table has for it.
    pub is_itself: bool,
}

impl Clue {
    /// Everything that does not speak against the role.
    pub fn explains(&self) -> ConceptSet {
        self.ways.iter().map(|way| way.explains).collect()
    }

    /// Whether the role is a setpoint or a command, which people and programs write.
    pub fn is_commanded(&self) -> bool {
        ["_sp", "_valve", "_cmd", "_command", "damper", "_speed"]
            .iter()
            .any(|end| self.role.ends_with(end))
    }

    /// A role told by the words of its own name, on equipment of one kind.
    ///
    /// None when the dictionary knows no word of it.
    pub fn of_typical_point(
        lexicon: &Lexicon,
        point: &TypicalPoint,
        family: Option<usize>,
    ) -> Option<Self> {
        let mut needs = Vec::new();
        let mut explains = ConceptSet::default();
        let mut number = None;
        let quantities = Quantity::of_kind(point.kind.as_deref().unwrap_or_default());
        for word in lexicon.words(&pieces(&point.role)) {
            match word.sense {
                Sense::Readings(readings) => {
                    let reading = readings.iter().find(|reading| {
                        reading.quantities.is_empty()
                            || reading
                                .quantities
                                .iter()
                                .any(|quantity| quantities.contains(quantity))
                    });
                    for concept in reading.map(|reading| reading.meaning.iter())? {
                        let concept = ConceptSet::of(concept);
                        explains |= concept;
                        // A word that costs nothing when it is extra need not be there either.
                        if lexicon.remainder(concept, ConceptSet::default()) < 0.8 {
                            needs.push(vec![concept]);
                        }
                    }
                }
                Sense::Number(digits) => number = Some(digits),
                Sense::Noise => {}
                Sense::Unknown => return None,
            }
        }
        let implied: ConceptSet = quantities
            .iter()
            .filter_map(|quantity| lexicon.concepts.known(quantity.concepts()))
            .collect();
        let told: Vec<Choice> = needs
            .into_iter()
            .filter(|choice| !choice.iter().all(|set| implied.contains(*set)))
            .collect();
        (!explains.is_empty()).then(|| Self {
            role: point.role.clone(),
            quantities,
            ways: vec![Way {
                needs: told,
                may: Vec::new(),
                explains: explains | implied,
                only: Vec::new(),
                trust: TRUST_IN_ROLE_NAME,
                number,
            }],
            on: family.into_iter().collect(),
            also: Vec::new(),
            is_itself: false,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    role: String,
    quantity: Vec<Quantity>,
    ways: Vec<WayEntry>,
    #[serde(default)]
    on: Vec<String>,
    #[serde(default)]
    also: Vec<String>,
    number: Option<String>,
    #[serde(default)]
    itself: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WayEntry {
    needs: Vec<String>,
    #[serde(default)]
    may: Vec<String>,
    #[serde(default)]
    fits: Vec<String>,
    #[serde(default)]
    only: Vec<String>,
    trust: Option<f64>,
}

/// Reads a table of clues that ships with the bridge.
pub(super) fn parse(
    table: &'static str,
    text: &str,
    lexicon: &Lexicon,
) -> Result<Vec<Clue>, DataError> {
    let wrong = |detail: String| DataError::new(table, detail);
    let entries: Vec<Entry> =
        serde_yaml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    entries
        .into_iter()
        .map(|entry| {
            read(entry, lexicon).map_err(|(role, detail)| wrong(format!("{role}: {detail}")))
        })
        .collect()
}

fn read(entry: Entry, lexicon: &Lexicon) -> Result<Clue, (String, String)> {
    let Entry { role, .. } = &entry;
    let fail = |detail: String| (role.clone(), detail);
    let family = |name: &String| {
        lexicon
            .family(name)
            .ok_or_else(|| fail(format!("no kind of equipment is called '{name}'")))
    };
    let families = |names: &[String]| names.iter().map(family).collect::<Result<Vec<_>, _>>();
    let ways = entry
        .ways
        .iter()
        .map(|way| {
            let choices = |texts: &[String]| {
                texts
                    .iter()
                    .map(|text| choice(text, &lexicon.concepts).map_err(fail))
                    .collect::<Result<Vec<Choice>, _>>()
            };
            let needs = choices(&way.needs)?;
            let may = choices(&way.may)?;
            let mut explains: ConceptSet = needs.iter().chain(&may).flatten().copied().collect();
            for name in &way.fits {
                explains |= lexicon
                    .concepts
                    .known(name)
                    .ok_or_else(|| fail(format!("no word means '{name}'")))?;
            }
            for quantity in &entry.quantity {
                for name in quantity.concepts().split_whitespace() {
                    explains |= lexicon.concepts.known(name).unwrap_or_default();
                }
            }
            Ok(Way {
                needs,
                may,
                explains,
                only: families(&way.only)?,
                trust: way.trust.unwrap_or(TRUST),
                number: entry.number.clone(),
            })
        })
        .collect::<Result<Vec<_>, (String, String)>>()?;
    Ok(Clue {
        quantities: entry.quantity.clone(),
        ways,
        on: families(&entry.on)?,
        also: families(&entry.also)?,
        is_itself: entry.itself,
        role: entry.role,
    })
}

/// `a|b+c`: a, or b and c.
fn choice(text: &str, concepts: &Concepts) -> Result<Choice, String> {
    text.split('|')
        .map(|together| {
            together
                .split('+')
                .map(|name| {
                    concepts
                        .known(name.trim())
                        .ok_or_else(|| format!("no word means '{name}'"))
                })
                .collect()
        })
        .collect()
}
