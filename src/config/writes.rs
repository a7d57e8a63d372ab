//! What the bridge lets people write, on top of what the station lets them (Tool surface §12 item 8).
//!
//! The rules only narrow: the station decides about everything that they let pass.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::load::{ConfigError, Settings};
use crate::station::ord::{SlotName, SlotPath, unescape};
use crate::station::priority::Priority;

/// Why a write that a pattern of `writes.confirm` means is asked about.
const CHOSEN: &str =
    "writes to this component, or to one that goes with it, are to be confirmed (writes.confirm)";

/// Name of the service identity among `writes.principals`.
const SERVICE: &str = "service";

/// Slot paths, written with `*` for any part of a name and `**` for any names.
///
/// Names are compared as people read them, so they may be written as Workbench shows them or as the station stores
/// them: `Boiler-1` and `Boiler$2d1` are the same. `$2a` is a star that belongs to a name.
///
/// ```
/// use niagara_bridge::config::writes::PathPattern;
/// let pattern: PathPattern = "slot:/Drivers/**/SP_*".parse().unwrap();
/// assert!(pattern.matches(&"slot:/Drivers/Net/Ahu1/SP_Temp".parse().unwrap()));
/// assert!(!pattern.matches(&"slot:/Drivers/Net/Ahu1/Temp".parse().unwrap()));
/// assert!(pattern.may_match_below(&"slot:/Drivers/Net".parse().unwrap()));
/// assert!(!pattern.may_match_below(&"slot:/Logic".parse().unwrap()));
/// assert!(pattern.reaches(&"slot:/Drivers/Net/Ahu1/SP_Temp/Trend".parse().unwrap()));
/// let boiler: PathPattern = "slot:/Plant/Boiler-1".parse().unwrap();
/// assert!(boiler.matches(&"slot:/Plant/Boiler$2d1".parse().unwrap()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    parts: Vec<Part>,
}

/// What stands between two slashes of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**`: any names, or none.
    Names,
    Name(Vec<Sign>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `*`: any characters, or none.
    Any,
    One(char),
}

impl Part {
    fn read(text: &str) -> Self {
        if text == "**" {
            return Self::Names;
        }
        let mut signs = Vec::new();
        for (at, literal) in text.split('*').enumerate() {
            if at > 0 {
                signs.push(Sign::Any);
            }
            signs.extend(unescape(literal).chars().map(Sign::One));
        }
        Self::Name(signs)
    }

    fn fits(&self, name: &SlotName) -> bool {
        let Self::Name(signs) = self else {
            return true;
        };
        let shown: Vec<char> = name.display().chars().collect();
        fits(
            signs,
            &shown,
            |sign| *sign == Sign::Any,
            |sign, shown| *sign == Sign::One(*shown),
        )
    }
}

impl PathPattern {
    /// Whether the component at `path` is meant.
    pub fn matches(&self, path: &SlotPath) -> bool {
        fits(
            &self.parts,
            path.names(),
            |part| *part == Part::Names,
            Part::fits,
        )
    }

    /// Whether the component at `path`, or one that it lies in, is meant.
    pub fn reaches(&self, path: &SlotPath) -> bool {
        let names = path.names();
        let mut above = (0..=names.len()).filter_map(|length| names.get(..length));
        above.any(|names| fits(&self.parts, names, |part| *part == Part::Names, Part::fits))
    }

    /// Whether something below the component at `path` can be meant.
    pub fn may_match_below(&self, path: &SlotPath) -> bool {
        self.places_after(path)
            .into_iter()
            .any(|place| place < self.parts.len())
    }

    /// Whether the component at `path` is meant with everything below it.
    pub fn covers(&self, path: &SlotPath) -> bool {
        let ends_open = self.parts.last() == Some(&Part::Names);
        ends_open
            && self.places_after(path).into_iter().any(|place| {
                let mut rest = self.parts.iter().skip(place);
                rest.all(|part| *part == Part::Names)
            })
    }

    /// The places of the pattern that the next name below `path` can meet; its length where nothing is left for one.
    fn places_after(&self, path: &SlotPath) -> Vec<usize> {
        let after_any = |at: usize| {
            let more = self.parts.iter().skip(at);
            let more = more.take_while(|part| **part == Part::Names);
            (at..=at + more.count()).collect::<Vec<_>>()
        };
        let mut at = after_any(0);
        for name in path.names() {
            let mut next: Vec<usize> = Vec::new();
            for place in at {
                match self.parts.get(place) {
                    Some(Part::Names) => next.extend(after_any(place)),
                    Some(part) if part.fits(name) => next.extend(after_any(place + 1)),
                    _ => {}
                }
            }
            next.sort_unstable();
            next.dedup();
            at = next;
        }
        at
    }
}

impl std::str::FromStr for PathPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let path = text.strip_prefix("station:|").unwrap_or(text);
        let path = path.strip_prefix("slot:").unwrap_or(path);
        let names = path.strip_prefix('/').ok_or_else(|| {
            format!("'{text}' is no pattern of slot paths such as slot:/Drivers/**")
        })?;
        let names: Vec<&str> = match names {
            "" => Vec::new(),
            names => names.split('/').collect(),
        };
        let wrong = |name: &&&str| {
            name.is_empty() || name.contains('|') || (name.contains("**") && **name != "**")
        };
        if let Some(name) = names.iter().find(wrong) {
            return Err(format!(
                "'{text}' has the part '{name}'; write names between single slashes, with * for a part of a name and ** for any names"
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            parts: names.into_iter().map(Part::read).collect(),
        })
    }
}

/// Whether `items` are what `pattern` describes; a part that `is_any` stands for any number of items.
///
/// After a mismatch only the last such part takes one item more, so the time is the product of both lengths at most.
fn fits<P, T>(
    pattern: &[P],
    items: &[T],
    is_any: impl Fn(&P) -> bool,
    same: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    let mut any: Option<(usize, usize)> = None;
    while let Some(next) = items.get(item) {
        match pattern.get(at) {
            Some(part) if is_any(part) => {
                any = Some((at, item));
                at += 1;
            }
            Some(part) if same(part, next) => {
                at += 1;
                item += 1;
            }
            _ => {
                let Some((part, from)) = any else {
                    return false;
                };
                any = Some((part, from + 1));
                at = part + 1;
                item = from + 1;
            }
        }
    }
    pattern.iter().skip(at).all(is_any)
}

/// Some of the sixteen priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Priorities(u16);

impl Default for Priorities {
    fn default() -> Self {
        Self(u16::MAX)
    }
}

impl Priorities {
    fn bit(priority: Priority) -> u16 {
        1 << (priority.level() - 1)
    }

    fn contains(self, priority: Priority) -> bool {
        self.0 & Self::bit(priority) != 0
    }

    /// Reads single levels and ranges, such as `8` and `10-16`.
    fn read(items: &[String]) -> Result<Self, String> {
        let mut set = 0;
        for item in items {
            let (from, to) = item.split_once('-').unwrap_or((item, item));
            let level = |text: &str| text.parse::<Priority>().map_err(|error| error.to_string());
            let (from, to) = (level(from)?, level(to)?);
            if from > to {
                return Err(format!("'{item}' runs backwards; write {to}-{from}"));
            }
            set = Priority::all()
                .filter(|level| (from..=to).contains(level))
                .fold(set, |set, level| set | Self::bit(level));
        }
        Ok(Self(set))
    }
}

/// Rules of one person; what is none is as for everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct OwnRules {
    allow: Option<Vec<PathPattern>>,
    deny: Vec<PathPattern>,
    priorities: Option<Priorities>,
}

/// The block `writes` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteRules {
    /// `writes.enabled`: tools may change the station.
    pub enabled: bool,
    /// `writes.serviceAccountMayWrite`: writePoint works with `apiToken`.
    pub service_account_may_write: bool,
    /// `writes.readbackDelayMs`: time between a write and reading it back.
    pub readback_delay: Duration,
    /// `writes.ratePerMinute`: writes of one person in a minute; 0 = no limit.
    pub rate_per_minute: u32,
    allow: Vec<PathPattern>,
    deny: Vec<PathPattern>,
    priorities: Priorities,
    principals: BTreeMap<String, OwnRules>,
    longest_override: Option<Duration>,
    confirm: Vec<PathPattern>,
    confirm_destructive: bool,
}

/// A write that somebody wants, as far as the rules look at it.
#[derive(Debug, Clone, Copy)]
pub struct Intended<'a> {
    /// Station user; none for the service identity.
    pub user: Option<&'a str>,
    /// The component, or the parent or sink of Tool surface §4.1.
    pub path: &'a SlotPath,
    pub priority: Option<Priority>,
    /// How long an override shall last; zero = until it is released.
    pub override_for: Option<Duration>,
    /// The tool removes something that cannot be brought back.
    pub destructive: bool,
    /// Everything below the component is changed with it.
    pub with_subtree: bool,
    /// No single component is meant: patterns of paths say nothing.
    pub of_whole_station: bool,
}

impl Intended<'_> {
    /// Whether a pattern of `deny` or `confirm` means the component, one that it lies in, or one that is changed with it.
    fn meets(&self, pattern: &PathPattern) -> bool {
        pattern.reaches(self.path) || (self.with_subtree && pattern.may_match_below(self.path))
    }
}

/// What the rules say about a write that they let pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    Allowed,
    /// Somebody must say yes first; the reason is for people.
    NeedsConfirmation(&'static str),
}

/// Why a write is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {remedy}")]
pub struct Refusal {
    /// One word for programs: `read-only`, `service-account`, `ord-denied`, `ord-not-allowed`, `priority`, `override`.
    pub policy: &'static str,
    pub message: String,
    /// What to do, with the key to change.
    pub remedy: String,
}

impl WriteRules {
    /// Reads the block.
    ///
    /// # Errors
    /// A pattern, priority or name that makes no sense.
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let patterns = |key: &str| {
            read_patterns(&settings.list(key)).map_err(|problem| settings.wrong(key, problem))
        };
        let principals = settings.map("writes.principals");
        let minutes = settings.count("writes.maxOverrideMinutes") as u64;
        Ok(Self {
            enabled: settings.flag("writes.enabled"),
            service_account_may_write: settings.flag("writes.serviceAccountMayWrite"),
            readback_delay: Duration::from_millis(settings.count("writes.readbackDelayMs") as u64),
            rate_per_minute: settings.count("writes.ratePerMinute") as u32,
            allow: patterns("writes.allow")?,
            deny: patterns("writes.deny")?,
            priorities: Priorities::read(&settings.list("writes.priorities"))
                .map_err(|problem| settings.wrong("writes.priorities", problem))?,
            principals: principals
                .iter()
                .map(|(name, rules)| Ok((name.clone(), own_rules(name, rules)?)))
                .collect::<Result<_, String>>()
                .map_err(|problem| settings.wrong("writes.principals", problem))?,
            longest_override: (minutes > 0).then(|| Duration::from_secs(minutes * 60)),
            confirm: patterns("writes.confirm")?,
            confirm_destructive: settings.flag("writes.confirmDestructive"),
        })
    }

    /// Whether this may be sent to the station, and whether somebody must confirm it before.
    ///
    /// # Errors
    /// The first rule that forbids it.
    pub fn judge(&self, intended: &Intended<'_>) -> Result<Ruling, Refusal> {
        self.check_switches(intended)?;
        let own = self.principals.get(intended.user.unwrap_or(SERVICE));
        if !intended.of_whole_station {
            self.check_path(intended, own)?;
        }
        self.check_priority(intended, own)?;
        self.check_override(intended)?;
        Ok(self.confirmation(intended))
    }

    /// Whether a slot may be added at `path`, beside what [`WriteRules::judge`] says of the component that gets it.
    ///
    /// # Errors
    /// A pattern denies writes to it.
    pub fn judge_added(&self, user: Option<&str>, path: &SlotPath) -> Result<Ruling, Refusal> {
        let own = self.principals.get(user.unwrap_or(SERVICE));
        self.check_denied(path, own, |pattern| pattern.reaches(path))?;
        match self.confirm.iter().any(|pattern| pattern.reaches(path)) {
            true => Ok(Ruling::NeedsConfirmation(CHOSEN)),
            false => Ok(Ruling::Allowed),
        }
    }

    /// Whether a component that cannot be seen may lose a link.
    ///
    /// # Errors
    /// Rules hold for some components or levels: it may be one of those.
    pub fn judge_unseen(&self, user: Option<&str>) -> Result<Ruling, Refusal> {
        let own = self.principals.get(user.unwrap_or(SERVICE));
        let denies = !self.deny.is_empty() || own.is_some_and(|own| !own.deny.is_empty());
        // An own list of what is allowed takes the place of the general one, and an empty one allows nothing.
        let allows_some = match own.and_then(|own| own.allow.as_ref()) {
            Some(_) => true,
            None => !self.allow.is_empty(),
        };
        let priorities = own.and_then(|own| own.priorities);
        let at_all_levels = priorities.unwrap_or(self.priorities) == Priorities::default();
        if denies || allows_some || !at_all_levels {
            return Err(refusal(
                "ord-not-allowed",
                "the rules name components or priorities, and it may be one that they forbid"
                    .to_owned(),
                "remove the links first, or have it done by somebody who sees all of them",
            ));
        }
        Ok(match self.confirm.is_empty() {
            true => Ruling::Allowed,
            false => Ruling::NeedsConfirmation(
                "this cuts links to components that cannot be seen, and writes to some are to be confirmed (writes.confirm)",
            ),
        })
    }

    /// How long an override may last (`writes.maxOverrideMinutes`), none without a limit.
    pub fn longest_override(&self) -> Option<Duration> {
        self.longest_override
    }

    /// Whether anything may be written at all by this caller; the path makes no difference.
    ///
    /// # Errors
    /// The switch that is off.
    pub fn check_switches(&self, intended: &Intended<'_>) -> Result<(), Refusal> {
        if !self.enabled {
            return Err(refusal(
                "read-only",
                "the bridge is read-only".to_owned(),
                "set writes.enabled: true in its configuration to let tools change the station",
            ));
        }
        if intended.user.is_none() && !self.service_account_may_write {
            return Err(refusal(
                "service-account",
                "writing with apiToken is switched off".to_owned(),
                "use the token of a station user, or set writes.serviceAccountMayWrite: true",
            ));
        }
        Ok(())
    }

    fn check_denied(
        &self,
        path: &SlotPath,
        own: Option<&OwnRules>,
        meets: impl Fn(&PathPattern) -> bool,
    ) -> Result<(), Refusal> {
        let own_deny = own.map_or(&[][..], |own| own.deny.as_slice());
        let mut denied = self.deny.iter().chain(own_deny);
        match denied.find(|pattern| meets(pattern)) {
            None => Ok(()),
            Some(pattern) => Err(refusal(
                "ord-denied",
                format!(
                    "writes to {path} are denied by the pattern {}",
                    pattern.text
                ),
                "change writes.deny or the person's deny in writes.principals if this is not meant",
            )),
        }
    }

    fn check_path(&self, intended: &Intended<'_>, own: Option<&OwnRules>) -> Result<(), Refusal> {
        let path = intended.path;
        self.check_denied(path, own, |pattern| intended.meets(pattern))?;
        let own_allow = own.and_then(|own| own.allow.as_ref());
        let allowed = own_allow.unwrap_or(&self.allow);
        // An own list that is empty allows nothing; the general one, everything.
        let everything = own_allow.is_none() && allowed.is_empty();
        let is_allowed = |pattern: &PathPattern| match intended.with_subtree {
            true => pattern.covers(path),
            false => pattern.matches(path),
        };
        if everything || allowed.iter().any(is_allowed) {
            return Ok(());
        }
        let below = match intended.with_subtree {
            true => " and everything below it",
            false => "",
        };
        Err(refusal(
            "ord-not-allowed",
            format!("no pattern allows writes to {path}{below}"),
            "add one to writes.allow or to the person's allow in writes.principals",
        ))
    }

    fn check_priority(
        &self,
        intended: &Intended<'_>,
        own: Option<&OwnRules>,
    ) -> Result<(), Refusal> {
        let priorities = own
            .and_then(|own| own.priorities)
            .unwrap_or(self.priorities);
        match intended.priority {
            Some(priority) if !priorities.contains(priority) => Err(refusal(
                "priority",
                format!("writes at priority {priority} are not allowed"),
                "choose another priority, or add it to writes.priorities or to the person's priorities in writes.principals",
            )),
            _ => Ok(()),
        }
    }

    fn check_override(&self, intended: &Intended<'_>) -> Result<(), Refusal> {
        let (Some(longest), Some(wanted)) = (self.longest_override, intended.override_for) else {
            return Ok(());
        };
        if !wanted.is_zero() && wanted <= longest {
            return Ok(());
        }
        let minutes = longest.as_secs() / 60;
        Err(refusal(
            "override",
            format!("an override may last {minutes} minutes at most"),
            "give a shorter duration, or raise writes.maxOverrideMinutes",
        ))
    }

    fn confirmation(&self, intended: &Intended<'_>) -> Ruling {
        let level = intended.priority;
        if level == Some(Priority::EMERGENCY) {
            Ruling::NeedsConfirmation("priority 1 is the emergency level and overrides everything")
        } else if level == Some(Priority::MANUAL) {
            Ruling::NeedsConfirmation("priority 8 is the level of operators' manual overrides")
        } else if intended.destructive && self.confirm_destructive {
            Ruling::NeedsConfirmation("what this removes cannot be brought back")
        } else if !intended.of_whole_station
            && self.confirm.iter().any(|pattern| intended.meets(pattern))
        {
            Ruling::NeedsConfirmation(CHOSEN)
        } else {
            Ruling::Allowed
        }
    }
}

fn refusal(policy: &'static str, message: String, remedy: &str) -> Refusal {
    Refusal {
        policy,
        message,
        remedy: remedy.to_owned(),
    }
}

fn read_patterns(texts: &[String]) -> Result<Vec<PathPattern>, String> {
    texts.iter().map(|text| text.parse()).collect()
}

fn own_rules(name: &str, rules: &Value) -> Result<OwnRules, String> {
    let about = |problem: String| format!("{name}: {problem}");
    let rules = rules
        .as_object()
        .ok_or_else(|| about("it must hold allow, deny or priorities".to_owned()))?;
    let mut own = OwnRules::default();
    for (key, value) in rules {
        let items = texts(value).ok_or_else(|| about(format!("{key} must be a list")))?;
        match key.as_str() {
            "allow" => own.allow = Some(read_patterns(&items).map_err(about)?),
            "deny" => own.deny = read_patterns(&items).map_err(about)?,
            "priorities" => own.priorities = Some(Priorities::read(&items).map_err(about)?),
            other => {
                return Err(about(format!(
                    "'{other}' is unknown; allow, deny and priorities can be set"
                )));
            }
        }
    }
    Ok(own)
}

/// A list of texts and numbers, or one of them alone.
fn texts(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        other => Some(vec![text(other)?]),
    }
}

#[cfg(test)]
#[path = "writes_tests.rs"]
mod tests;
