//! Regular expressions of schemas, built when a text is first held against them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use regex::Regex;

/// All patterns so far: schemas repeat a few, and each takes hundreds of kilobytes once it is built.
static KNOWN: LazyLock<Mutex<HashMap<String, Pattern>>> = LazyLock::new(Mutex::default);

/// One expression, shared by all schemas that name it.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Arc<Lazy>);

#[derive(Debug)]
struct Lazy {
    source: String,
    built: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Reads an expression without building it.
    ///
    /// # Errors
    /// It is no regular expression.
    pub(super) fn parse(source: &str) -> Result<Self, Box<regex_syntax::Error>> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pattern) = known.get(source) {
            return Ok(pattern.clone());
        }
        regex_syntax::parse(source).map_err(Box::new)?;
        let pattern = Self(Arc::new(Lazy {
            source: source.to_owned(),
            built: OnceLock::new(),
        }));
        known.insert(source.to_owned(), pattern.clone());
        Ok(pattern)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0.source
    }

    /// Whether the text matches; none does when the expression is too large to be built, which the log tells once.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let build = || match Regex::new(&self.0.source) {
            Ok(regex) => Some(regex),
            Err(error) => {
                tracing::error!(pattern = self.0.source, %error, "a schema's pattern cannot be built; it refuses all texts");
                None
            }
        };
        let regex = self.0.built.get_or_init(build).as_ref();
        regex.is_some_and(|regex| regex.is_match(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_read_at_once_built_when_needed_and_shared() {
        let first = Pattern::parse("^shared-[0-9]{1,40}$").unwrap();
        assert!(first.0.built.get().is_none());
        let second = Pattern::parse("^shared-[0-9]{1,40}$").unwrap();
        assert!(second.is_match("shared-7") && !second.is_match("shared-"));
        assert!(first.0.built.get().is_some());
        assert_eq!(first.as_str(), "^shared-[0-9]{1,40}$");
    }

    #[test]
    fn what_is_no_expression_is_refused_and_what_is_too_large_matches_nothing() {
        for broken in ["(", "[a-", "a{2,1}", r"\p{Nonsense}"] {
            assert!(Pattern::parse(broken).is_err(), "{broken}");
        }
        let huge = Pattern::parse(r"(?:\w{900}){900}").unwrap();
        assert!(!huge.is_match("a"));
    }
}
