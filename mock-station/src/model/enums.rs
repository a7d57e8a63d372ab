//! Enum ranges and dynamic enums (Station web specification §5.1).

use super::registry;
use super::slot_name;
use std::sync::Arc;

/// The tags and ordinals a dynamic enum may take, optionally on top of a frozen enum.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EnumRange {
    /// The frozen enum type the range starts from, e.g. `control:PriorityLevel`.
    pub frozen: Option<String>,
    /// Own tags (escaped) with their ordinals, in order.
    pub tags: Vec<(String, i32)>,
    /// Text after `?` of the encoding, kept as it came.
    pub options: String,
}

impl EnumRange {
    /// A range of plain tags; tags are given unescaped.
    pub fn of(tags: &[(&str, i32)]) -> Self {
        Self {
            tags: tags
                .iter()
                .map(|(tag, ordinal)| (slot_name::escape(tag), *ordinal))
                .collect(),
            ..Self::default()
        }
    }

    /// The range of a frozen enum type.
    pub fn frozen(spec: &str) -> Self {
        Self {
            frozen: Some(spec.to_owned()),
            ..Self::default()
        }
    }

    /// Whether the range names nothing.
    pub fn is_empty(&self) -> bool {
        self.frozen.is_none() && self.tags.is_empty()
    }

    /// All (escaped tag, ordinal) pairs, those of the frozen base first.
    pub fn entries(&self) -> Vec<(String, i32)> {
        let base = self
            .frozen
            .as_deref()
            .and_then(registry::find)
            .map(|ty| ty.tags())
            .unwrap_or_default();
        base.iter()
            .map(|tag| (tag.tag.clone(), tag.ordinal))
            .chain(self.tags.iter().cloned())
            .collect()
    }

    /// The escaped tag of an ordinal.
    pub fn tag(&self, ordinal: i32) -> Option<String> {
        self.entries()
            .into_iter()
            .find(|(_, known)| *known == ordinal)
            .map(|(tag, _)| tag)
    }

    /// The ordinal of a tag, given escaped or unescaped.
    pub fn ordinal(&self, tag: &str) -> Option<i32> {
        self.entries()
            .into_iter()
            .find(|(known, _)| known == tag || slot_name::unescape(known) == tag)
            .map(|(_, ordinal)| ordinal)
    }

    /// `{tag=ordinal,…}`, `module:Type`, `module:Type+{…}`, with `?options`.
    pub fn encode(&self) -> String {
        let own = || {
            let tags: Vec<String> = self
                .tags
                .iter()
                .map(|(tag, ordinal)| format!("{tag}={ordinal}"))
                .collect();
            format!("{{{}}}", tags.join(","))
        };
        let mut text = match (&self.frozen, self.tags.is_empty()) {
            (Some(frozen), true) => frozen.clone(),
            (Some(frozen), false) => format!("{frozen}+{}", own()),
            (None, _) => own(),
        };
        if !self.options.is_empty() {
            text.push('?');
            text.push_str(&self.options);
        }
        text
    }

    /// Reads [`EnumRange::encode`]; empty text is the empty range.
    pub fn decode(text: &str) -> Option<Self> {
        let (body, options) = text.split_once('?').unwrap_or((text, ""));
        let (frozen, own) = match body.split_once('{') {
            Some((before, own)) => (before.trim_end_matches('+'), Some(own.strip_suffix('}')?)),
            None => (body, None),
        };
        let mut tags = Vec::new();
        for pair in own
            .unwrap_or_default()
            .split(',')
            .filter(|pair| !pair.is_empty())
        {
            let (tag, ordinal) = pair.split_once('=')?;
            tags.push((tag.to_owned(), ordinal.trim().parse().ok()?));
        }
        if !frozen.is_empty() && !frozen.contains(':') {
            return None;
        }
        Some(Self {
            frozen: (!frozen.is_empty()).then(|| frozen.to_owned()),
            tags,
            options: options.to_owned(),
        })
    }
}

/// An ordinal together with the range that names it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DynamicEnum {
    pub ordinal: i32,
    pub range: Arc<EnumRange>,
}

impl DynamicEnum {
    /// The escaped tag, or the ordinal as text when the range does not name it.
    pub fn tag(&self) -> String {
        self.range
            .tag(self.ordinal)
            .unwrap_or_else(|| self.ordinal.to_string())
    }

    /// `<ordinal>@<range>`, or the plain ordinal for an empty range.
    pub fn encode(&self) -> String {
        if self.range.is_empty() {
            self.ordinal.to_string()
        } else {
            format!("{}@{}", self.ordinal, self.range.encode())
        }
    }

    /// Reads [`DynamicEnum::encode`].
    pub fn decode(text: &str) -> Option<Self> {
        let (ordinal, range) = match text.split_once('@') {
            Some((ordinal, range)) => (ordinal, EnumRange::decode(range)?),
            None => (text, EnumRange::default()),
        };
        Some(Self {
            ordinal: ordinal.trim().parse().ok()?,
            range: Arc::new(range),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_survive_a_round_trip() {
        for text in [
            "{off=0,on=1}",
            "{}",
            "control:PriorityLevel",
            "alarm:SourceState+{extra=9}",
            "{a$20b=3}?lexicon=x",
        ] {
            assert_eq!(EnumRange::decode(text).unwrap().encode(), text);
        }
        assert_eq!(EnumRange::decode("nonsense"), None);
    }

    #[test]
    fn tags_are_found_by_ordinal_and_by_display_text() {
        let range = EnumRange::of(&[("Not occupied", 0), ("Occupied", 1)]);
        assert_eq!(range.tag(0).as_deref(), Some("Not$20occupied"));
        assert_eq!(range.ordinal("Not occupied"), Some(0));
        assert_eq!(
            EnumRange::frozen("control:PriorityLevel")
                .tag(17)
                .as_deref(),
            Some("fallback")
        );
        assert_eq!(DynamicEnum::decode("5@{off=0}").unwrap().tag(), "5");
    }
}
