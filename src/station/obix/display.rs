//! The text of a status value, `21.5 °C {ok} @ 16`: flags and active level (oBIX specification §5.4).
//!
//! The text is in the language of the station's user. A flag word that is not known makes the value
//! uncertain, never good.

use std::collections::HashMap;

use super::object::{Attribute, Object};
use crate::station::priority::ActiveLevel;
use crate::station::status::{StatusBits, StatusWords};

/// How far a value can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    Good,
    /// A flag word is in a language that is not configured.
    Uncertain,
    /// Null, fault, down, stale or disabled.
    Bad,
}

/// Flag words of other languages than English, lower case.
#[derive(Debug, Clone, Default)]
pub struct FlagTranslations {
    words: HashMap<String, StatusBits>,
}

impl FlagTranslations {
    /// No translation: English only.
    pub fn english() -> Self {
        Self::default()
    }

    /// Adds a word, such as `vers le bas` for down.
    pub fn with(mut self, word: &str, bits: StatusBits) -> Self {
        self.words.insert(word.trim().to_lowercase(), bits);
        self
    }

    fn translate(&self, word: &str) -> Option<StatusBits> {
        self.words.get(&word.to_lowercase()).copied()
    }
}

/// A display text taken apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DisplayParts {
    /// The value's text before the flags.
    pub text: String,
    pub flags: StatusBits,
    /// Flag words without a known meaning.
    pub unknown_flags: Vec<String>,
    pub active_level: Option<ActiveLevel>,
}

/// Takes a display text apart; the last `{…}` group holds the flags.
///
/// ```
/// use niagara_bridge::station::obix::display::{FlagTranslations, parse_display};
/// let parts = parse_display("72.5 °F {alarm,unackedAlarm} @ def", &FlagTranslations::english());
/// assert_eq!(parts.text, "72.5 °F");
/// assert_eq!(parts.flags.bits(), 0x88);
/// assert_eq!(parts.active_level.unwrap().to_string(), "def");
/// ```
pub fn parse_display(display: &str, translations: &FlagTranslations) -> DisplayParts {
    let group = display.rfind('{').and_then(|open| {
        let (text, rest) = display.split_at(open);
        let (flags, after) = rest.get(1..)?.split_once('}')?;
        Some((text, flags, after))
    });
    let Some((text, flags, after)) = group else {
        return DisplayParts {
            text: display.trim().to_owned(),
            ..DisplayParts::default()
        };
    };
    let words = StatusWords::parse(flags);
    let mut parts = DisplayParts {
        text: text.trim().to_owned(),
        flags: words.bits,
        unknown_flags: Vec::new(),
        active_level: after
            .trim()
            .strip_prefix('@')
            .and_then(|level| level.parse().ok()),
    };
    for word in words.unknown {
        match translations.translate(&word) {
            Some(bits) => parts.flags = parts.flags | bits,
            None => parts.unknown_flags.push(word),
        }
    }
    parts
}

/// The status bits behind a `status` attribute (oBIX specification §2.3).
///
/// `unacked` is an alarm that went back to normal without acknowledgement: no alarm bit.
pub fn status_attribute_bits(text: &str) -> Option<StatusBits> {
    Some(match text.trim() {
        "ok" => StatusBits::OK,
        "disabled" => StatusBits::DISABLED,
        "fault" => StatusBits::FAULT,
        "down" => StatusBits::DOWN,
        "unackedAlarm" => StatusBits::ALARM | StatusBits::UNACKED_ALARM,
        "alarm" => StatusBits::ALARM,
        "unacked" => StatusBits::UNACKED_ALARM,
        "overridden" => StatusBits::OVERRIDDEN,
        _ => return None,
    })
}

/// Status of an object from its null and status attributes and its display text together; stations
/// fill one, the other or both (oBIX specification §2.3, field finding).
pub fn object_status(object: &Object, translations: &FlagTranslations) -> DisplayParts {
    let mut parts = parse_display(object.display().unwrap_or_default(), translations);
    if object.is_null() {
        parts.flags = parts.flags | StatusBits::NULL;
    }
    if let Some(text) = object.attribute(Attribute::Status) {
        match status_attribute_bits(text) {
            Some(bits) => parts.flags = parts.flags | bits,
            None => parts.unknown_flags.push(text.trim().to_owned()),
        }
    }
    parts
}

impl DisplayParts {
    /// Good only without invalidating flag and without unknown word.
    pub fn quality(&self) -> Quality {
        match (self.flags.is_valid(), self.unknown_flags.is_empty()) {
            (false, _) => Quality::Bad,
            (true, false) => Quality::Uncertain,
            (true, true) => Quality::Good,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::object::Element;
    use proptest::prelude::*;

    fn english(display: &str) -> DisplayParts {
        parse_display(display, &FlagTranslations::english())
    }

    #[test]
    fn flags_and_level_are_read_from_the_last_group() {
        let parts = english("Mode {A} running {overridden} @ 8");
        assert_eq!(parts.text, "Mode {A} running");
        assert_eq!(parts.flags, StatusBits::OVERRIDDEN);
        assert_eq!(parts.active_level.expect("level").to_string(), "8");
        assert_eq!(english("- {null}").quality(), Quality::Bad);
        assert_eq!(english("21.5 °C {ok}").quality(), Quality::Good);
        assert_eq!(english("21.5 {stale}").quality(), Quality::Bad);
        assert_eq!(english("21.5 {ok} @ 99").active_level, None);
        assert_eq!(
            english("plain"),
            DisplayParts {
                text: "plain".into(),
                ..DisplayParts::default()
            }
        );
    }

    #[test]
    fn a_word_of_another_language_is_never_good_until_it_is_translated() {
        let display = "42,0 {vers le bas,éventé}";
        assert_eq!(english(display).quality(), Quality::Uncertain);
        assert_eq!(english(display).unknown_flags, ["vers le bas", "éventé"]);
        let french = FlagTranslations::english()
            .with("Vers le bas", StatusBits::DOWN)
            .with("éventé", StatusBits::STALE);
        let parts = parse_display(display, &french);
        assert_eq!((parts.flags.bits(), parts.quality()), (0x14, Quality::Bad));
    }

    #[test]
    fn attribute_and_display_are_read_together() {
        let mut object = Object::new(Element::Real);
        object.set(Attribute::Display, "42,0 {vers le bas,éventé}");
        object.set(Attribute::Status, "down");
        let parts = object_status(&object, &FlagTranslations::english());
        assert_eq!(
            (parts.flags, parts.quality()),
            (StatusBits::DOWN, Quality::Bad)
        );
        let mut strange = Object::new(Element::Real);
        strange.set(Attribute::Status, "sleeping");
        assert_eq!(
            object_status(&strange, &FlagTranslations::english()).quality(),
            Quality::Uncertain
        );
    }

    proptest! {
        #[test]
        fn no_text_upsets_the_grammar(text in "\\PC{0,30}") {
            let _ = english(&text);
        }

        #[test]
        fn a_composed_text_reads_back(bits in 0u32..256, level in 1i32..=17) {
            let bits = StatusBits::new(bits);
            let names = bits.names();
            let flags = if names.is_empty() { "ok".to_owned() } else { names.join(",") };
            let level = ActiveLevel::from_ordinal(level).expect("in range");
            let parts = english(&format!("1.5 kW {{{flags}}} @ {level}"));
            prop_assert_eq!(parts, DisplayParts { text: "1.5 kW".into(), flags: bits, unknown_flags: vec![], active_level: Some(level) });
        }
    }
}
