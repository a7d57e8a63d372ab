//! ORDs, slot paths and slot names: how a station addresses its objects.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::echo::shortened;

mod slot;

pub use slot::{SlotName, SlotPath, escape, unescape};

/// Why a text is not an ORD that the bridge sends to a station.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OrdError {
    /// The text holds nothing.
    #[error("the ord is empty; write for example station:|slot:/Drivers")]
    Empty,
    /// A character that may not occur at all.
    #[error("the ord {:?} contains a control character; remove it", shortened(ord))]
    ControlCharacter { ord: String },
    /// A scheme that this place does not take.
    #[error("the ord {:?} has no usable scheme; {expected}", shortened(ord))]
    Scheme { ord: String, expected: &'static str },
    /// `//`, `.`, `..` or an empty name in a path.
    #[error(
        "the ord {:?} has the illegal path segment {:?}; write names separated by single slashes",
        shortened(ord),
        shortened(segment)
    )]
    Segment { ord: String, segment: String },
    /// A further query behind the component.
    #[error(
        "the ord {:?} continues after the component with '|'; give the component alone",
        shortened(ord)
    )]
    FurtherQuery { ord: String },
    /// `h:` not followed by hexadecimal digits.
    #[error(
        "the ord {:?} is no handle; a handle is h: and hexadecimal digits, for example h:2f1",
        shortened(ord)
    )]
    Handle { ord: String },
    /// A name that no station stores in this form.
    #[error(
        "the ord {:?} has the name {:?}, under which no station stores a slot: letters, digits and _ stand for themselves, \
         with no digit in front, and anything else is escaped; write {}",
        shortened(ord),
        shortened(name),
        shortened(stored)
    )]
    Unescaped {
        ord: String,
        name: String,
        stored: String,
    },
    /// A name that cannot be a slot name.
    #[error(
        "{:?} cannot be a slot name; a name is not empty and has no '/', '|' or control character",
        shortened(name)
    )]
    Name { name: String },
}

/// Identifier of a history, `/Station/Name`, or `^Name` for the local station (Station web specification §3.5).
///
/// ```
/// use niagara_bridge::station::ord::HistoryId;
/// let id: HistoryId = "/Harborview/Oat$20F".parse().unwrap();
/// assert_eq!((id.station(), id.name()), (Some("Harborview"), "Oat$20F"));
/// assert_eq!(id.ord(), "history:/Harborview/Oat$20F");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HistoryId {
    station: Option<SlotName>,
    name: SlotName,
}

impl HistoryId {
    /// Device part as listed; none in the `^Name` form.
    pub fn station(&self) -> Option<&str> {
        self.station.as_ref().map(SlotName::as_str)
    }

    /// History name as listed (escaped).
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The ORD without query parameters.
    pub fn ord(&self) -> String {
        format!("history:{self}")
    }
}

impl fmt::Display for HistoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.station {
            Some(station) => write!(f, "/{station}/{}", self.name),
            None => write!(f, "^{}", self.name),
        }
    }
}

impl FromStr for HistoryId {
    type Err = OrdError;

    fn from_str(text: &str) -> Result<Self, OrdError> {
        let trimmed = strip_hosts(text.trim());
        let body = strip_scheme(trimmed, "history:").unwrap_or(trimmed);
        let malformed = || OrdError::Scheme {
            ord: text.to_owned(),
            expected: "a history id is /Station/Name or ^Name",
        };
        let name_of = |name: &str| {
            if name.contains('?') {
                return Err(malformed());
            }
            SlotName::new(name).map_err(|_| malformed())
        };
        if let Some(name) = body.strip_prefix('^') {
            return Ok(Self {
                station: None,
                name: name_of(name)?,
            });
        }
        let (station, name) = body
            .strip_prefix('/')
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(malformed)?;
        Ok(Self {
            station: Some(name_of(station)?),
            name: name_of(name)?,
        })
    }
}

/// A normalised ORD.
///
/// ```
/// use niagara_bridge::station::ord::Ord;
/// let ord = Ord::component("local:|station:|slot:/AHU1/SAT/").unwrap();
/// assert_eq!(ord.absolute(), "station:|slot:/AHU1/SAT");
/// assert_eq!(ord.relative(), "slot:/AHU1/SAT");
/// assert_eq!(Ord::component("STATION:|SLOT:/AHU1/SAT").unwrap(), ord);
/// assert!(Ord::component("slot:/A//B").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ord {
    /// A component or slot by path.
    Slot(SlotPath),
    /// A component by handle: the hexadecimal digits without `h:`.
    Handle(String),
    /// A history.
    History(HistoryId),
    /// The alarm space: the text behind `alarm:` (empty, or `archive`).
    Alarm(String),
    /// The history space as a whole (`history:`).
    Histories,
    /// A file of the station: the text behind `file:`.
    File(String),
}

impl Ord {
    /// Normalises the ORD of a component: building block `P` of the Tool surface §13.5.1.
    pub fn component(text: &str) -> Result<Self, OrdError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(OrdError::Empty);
        }
        if trimmed.chars().any(char::is_control) {
            return Err(OrdError::ControlCharacter {
                ord: text.to_owned(),
            });
        }
        let stripped = strip_hosts(trimmed);
        if stripped.contains('|') {
            return Err(OrdError::FurtherQuery {
                ord: text.to_owned(),
            });
        }
        if let Some(digits) = strip_scheme(stripped, "h:") {
            return handle(digits, text);
        }
        match strip_scheme(stripped, "slot:") {
            Some(body) if body.starts_with('/') => SlotPath::from_body(body, text).map(Self::Slot),
            _ => Err(OrdError::Scheme {
                ord: text.to_owned(),
                expected: "it must begin with station:|slot:/, slot:/ or h:",
            }),
        }
    }

    /// The same for an ORD that is to be kept: names must be as a station stores them, or it would never lead anywhere.
    ///
    /// ```
    /// use niagara_bridge::station::ord::Ord;
    /// assert!(Ord::component_as_stored("slot:/Plant/Pump$201").is_ok());
    /// let error = Ord::component_as_stored("slot:/Plant/Pump 1").unwrap_err();
    /// assert!(error.to_string().ends_with("write Pump$201"));
    /// ```
    pub fn component_as_stored(text: &str) -> Result<Self, OrdError> {
        let ord = Self::component(text)?;
        let names = ord.slot_path().map(SlotPath::names).unwrap_or_default();
        match names.iter().find(|name| !name.is_as_stored()) {
            None => Ok(ord),
            Some(name) => Err(OrdError::Unescaped {
                ord: text.to_owned(),
                name: name.as_str().to_owned(),
                stored: escape(&name.display()),
            }),
        }
    }

    /// Normalises any ORD that the bridge hands to a station: components, `history:`, `alarm:` and `file:`.
    pub fn parse(text: &str) -> Result<Self, OrdError> {
        let stripped = strip_hosts(text.trim());
        let (scheme, body) = stripped.split_once(':').unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "history" | "alarm" | "file") {
            return Self::component(text);
        }
        if stripped.chars().any(char::is_control) {
            return Err(OrdError::ControlCharacter {
                ord: text.to_owned(),
            });
        }
        if stripped.contains('|') {
            return Err(OrdError::FurtherQuery {
                ord: text.to_owned(),
            });
        }
        if body.split(['/', '^']).any(|segment| segment == "..") {
            return Err(OrdError::Segment {
                ord: text.to_owned(),
                segment: "..".to_owned(),
            });
        }
        match scheme.as_str() {
            "history" if body.is_empty() || body == "/" => Ok(Self::Histories),
            "history" => body.parse().map(Self::History),
            "alarm" => Ok(Self::Alarm(body.to_owned())),
            _ => Ok(Self::File(body.to_owned())),
        }
    }

    /// The component at a path.
    pub fn slot(path: SlotPath) -> Self {
        Self::Slot(path)
    }

    /// The form without host and station: `P` of the Tool surface §13.5.1.
    pub fn relative(&self) -> String {
        match self {
            Self::Slot(path) => path.to_string(),
            Self::Handle(digits) => format!("h:{digits}"),
            Self::History(id) => id.ord(),
            Self::Histories => "history:".to_owned(),
            Self::Alarm(body) => format!("alarm:{body}"),
            Self::File(body) => format!("file:{body}"),
        }
    }

    /// The form that results carry: `station:|slot:/…`; spaces outside the component tree keep their own scheme.
    pub fn absolute(&self) -> String {
        match self {
            Self::Slot(_) | Self::Handle(_) => format!("station:|{}", self.relative()),
            _ => self.relative(),
        }
    }

    /// The slot path, when the ORD has one.
    pub fn slot_path(&self) -> Option<&SlotPath> {
        match self {
            Self::Slot(path) => Some(path),
            _ => None,
        }
    }

    /// ORD of the containing object; none at the root and outside slot paths.
    pub fn parent(&self) -> Option<Self> {
        self.slot_path()?.parent().map(Self::Slot)
    }

    /// Last name of a slot path; none at the root.
    pub fn name(&self) -> Option<&SlotName> {
        self.slot_path()?.name()
    }
}

impl fmt::Display for Ord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.absolute())
    }
}

impl FromStr for Ord {
    type Err = OrdError;

    fn from_str(text: &str) -> Result<Self, OrdError> {
        Self::parse(text)
    }
}

/// Splits an ord list of either CSV mode into its ORDs (Station web specification §3.6).
///
/// Machine mode has one ORD per line. Display mode joins them by a separator of unknown form: those are split in
/// front of every `local:|`, or of every `station:|` that does not follow one.
///
/// ```
/// use niagara_bridge::station::ord::split_ord_list;
/// assert_eq!(
///     split_ord_list("local:|station:|slot:/A, local:|station:|slot:/B"),
///     ["local:|station:|slot:/A", "local:|station:|slot:/B"],
/// );
/// ```
pub fn split_ord_list(text: &str) -> Vec<String> {
    text.lines()
        .flat_map(|line| {
            let mut starts: Vec<usize> = line.match_indices("local:|").map(|(at, _)| at).collect();
            starts.extend(
                line.match_indices("station:|")
                    .map(|(at, _)| at)
                    .filter(|at| !line[..*at].ends_with("local:|")),
            );
            starts.push(0);
            starts.sort_unstable();
            starts.dedup();
            let ends = starts.iter().skip(1).copied().chain([line.len()]);
            starts
                .iter()
                .zip(ends)
                .filter_map(|(start, end)| line.get(*start..end))
                .map(|ord| {
                    ord.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '\''))
                })
                .filter(|ord| !ord.is_empty() && *ord != "null")
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

fn strip_hosts(text: &str) -> &str {
    let text = strip_scheme(text, "local:|").unwrap_or(text);
    strip_scheme(text, "station:|").unwrap_or(text)
}

/// What follows a scheme. Case does not matter in schemes, as on a station; it does in slot names.
fn strip_scheme<'t>(text: &'t str, scheme: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn handle(digits: &str, ord: &str) -> Result<Ord, OrdError> {
    let legal = (1..=16).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if legal {
        Ok(Ord::Handle(digits.to_ascii_lowercase()))
    } else {
        Err(OrdError::Handle {
            ord: ord.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn host_and_station_prefixes_and_one_trailing_slash_are_dropped() {
        for text in [
            "slot:/A/B",
            "station:|slot:/A/B/",
            " local:|station:|slot:/A/B ",
        ] {
            assert_eq!(
                Ord::component(text).unwrap().absolute(),
                "station:|slot:/A/B"
            );
        }
        assert_eq!(Ord::component("slot:/").unwrap().relative(), "slot:/");
        assert_eq!(
            Ord::component("station:|h:2F1").unwrap().absolute(),
            "station:|h:2f1"
        );
    }

    #[test]
    fn ords_that_could_smuggle_another_query_are_refused() {
        for text in [
            "",
            "slot:",
            "slot:A",
            "slot://",
            "slot:/A//B",
            "slot:/A/../B",
            "slot:/A|bql:select *",
            "sql:select 1",
            "slot:/A\n",
            "h:",
            "h:xyz",
            "station:|station:|slot:/",
            "history:/S/H|view:x",
            "file:^../config.bog",
        ] {
            let text = if text == "slot:/A\n" {
                "slot:/A\n/B"
            } else {
                text
            };
            assert!(Ord::parse(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn history_and_alarm_spaces_keep_their_scheme() {
        assert_eq!(
            Ord::parse("history:^Oat").unwrap().absolute(),
            "history:^Oat"
        );
        assert_eq!(
            Ord::parse("history:/S/H").unwrap().absolute(),
            "history:/S/H"
        );
        assert_eq!(Ord::parse("history:").unwrap(), Ord::Histories);
        assert_eq!(
            Ord::parse("alarm:archive").unwrap(),
            Ord::Alarm("archive".into())
        );
        assert!(Ord::component("alarm:").is_err());
    }

    #[test]
    fn ord_lists_of_both_modes_give_the_same_ords() {
        let expected = ["station:|slot:/A", "station:|slot:/B"];
        assert_eq!(
            split_ord_list("station:|slot:/A\nstation:|slot:/B\n"),
            expected
        );
        assert_eq!(
            split_ord_list("station:|slot:/A; station:|slot:/B"),
            expected
        );
        assert!(split_ord_list("null").is_empty());
    }

    proptest! {
        #[test]
        fn any_path_of_names_survives_formatting(names in proptest::collection::vec("\\PC{1,8}", 0..5)) {
            let path = names.iter().fold(SlotPath::root(), |path, name| path.child(SlotName::escape(name).unwrap()));
            prop_assert_eq!(&path.to_string().parse::<SlotPath>().unwrap(), &path);
            prop_assert_eq!(Ord::parse(&Ord::Slot(path.clone()).absolute()).unwrap(), Ord::Slot(path));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*") {
            let _ = (Ord::parse(&text), unescape(&text), split_ord_list(&text), text.parse::<HistoryId>());
        }
    }
}
