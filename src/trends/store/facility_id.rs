//! Facility ids (Store §2).

use std::borrow::Borrow;
use std::fmt;
use std::fmt::Write as _;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::StoreError;

const LONGEST: usize = 200;

/// The name of a facility, as it stands in paths: letters, digits, `.`, `_`, `-`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FacilityId(String);

impl FacilityId {
    /// Takes a text that follows the rules, at most 200 characters long.
    ///
    /// # Errors
    /// The text breaks them.
    ///
    /// ```
    /// use niagara_bridge::trends::store::FacilityId;
    /// assert_eq!(FacilityId::parse("hq").unwrap().as_str(), "hq");
    /// for wrong in ["", "-hq", "../hq", "hq\n", "a b"] {
    ///     assert!(FacilityId::parse(wrong).is_err(), "{wrong:?}");
    /// }
    /// ```
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let mut bytes = text.bytes();
        let sound = bytes
            .next()
            .is_some_and(|first| first.is_ascii_alphanumeric())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && text.len() <= LONGEST;
        if sound {
            return Ok(Self(text.to_owned()));
        }
        Err(StoreError::Refused(format!(
            "{text:?} is no facility id: use letters, digits, `.`, `_` and `-`, beginning with a letter or digit, at most \
             {LONGEST} characters"
        )))
    }

    /// The id that a name stands for: its slug and six digits of its SHA-1.
    ///
    /// ```
    /// use niagara_bridge::trends::store::FacilityId;
    /// assert_eq!(FacilityId::from_name("Fox Lodge").as_str(), "fox-lodge-d61f7e");
    /// assert_eq!(FacilityId::from_name("!!!").as_str(), "9a7b00");
    /// assert_eq!(FacilityId::from_name("").as_str(), "da39a3");
    /// ```
    pub fn from_name(name: &str) -> Self {
        let mut hash = String::with_capacity(6);
        for byte in digest(&SHA1_FOR_LEGACY_USE_ONLY, name.as_bytes())
            .as_ref()
            .iter()
            .take(3)
        {
            // Writing to a String cannot fail.
            let _ = write!(hash, "{byte:02x}");
        }
        let mut slug = slug(name);
        // Slug, hyphen and hash together may not be longer than an id.
        slug.truncate(LONGEST - hash.len() - 1);
        let slug = slug.trim_end_matches('-');
        Self(if slug.is_empty() {
            hash
        } else {
            format!("{slug}-{hash}")
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Made of digits only: a store of nothing but such ids cannot be read by CAMBER 0.110, so none is issued (Store §2).
    pub fn is_all_digits(&self) -> bool {
        self.0.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// A data set's facility, which the licence rules treat apart (Core §5.2).
    pub fn is_dataset(&self) -> bool {
        self.0.starts_with("ds-")
    }
}

/// Lower case, every run of other characters than letters and digits one hyphen, none at the ends.
pub fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for character in name.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

impl fmt::Display for FacilityId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Borrow<str> for FacilityId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for FacilityId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_rules_of_the_store() {
        assert!(FacilityId::parse(&"a".repeat(200)).is_ok());
        assert!(FacilityId::parse(&"a".repeat(201)).is_err());
        assert!(FacilityId::parse("é").is_err());
        let error = FacilityId::parse("a/b").unwrap_err().to_string();
        assert!(
            error.contains("\"a/b\"") && error.contains("letters"),
            "{error}"
        );
        assert!(FacilityId::parse("123").unwrap().is_all_digits());
        assert!(FacilityId::parse("ds-bdg2").unwrap().is_dataset());
    }

    #[test]
    fn the_id_of_any_name_is_an_id() {
        for name in ["Fox Lodge", "ÄÖ Büro 3", "  ", &"long ".repeat(100)] {
            let id = FacilityId::from_name(name);
            assert_eq!(FacilityId::parse(id.as_str()).unwrap(), id, "{name}");
        }
    }
}
