//! What a user's token may be used for, within what the station allows its user.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::IdentityError;
use crate::tools::{Category, ToolSets};

const READ: &str = "read";
const KNOWLEDGE: &str = "knowledge";
const WRITE: &str = "write";

/// The tools a token opens. Reading is always among them; the station's own permissions stay above these rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rights {
    /// Tools that change the knowledge file.
    pub knowledge: bool,
    /// Tools that change the station.
    pub write: bool,
    /// Names of tool sets; empty means all.
    #[serde(default)]
    pub toolsets: Vec<String>,
}

impl Default for Rights {
    /// Everything that the station lets this user do.
    fn default() -> Self {
        Self {
            knowledge: true,
            write: true,
            toolsets: Vec::new(),
        }
    }
}

impl Rights {
    /// Rights by words: `read`, `knowledge`, `write`.
    ///
    /// # Errors
    /// A word that names no right, or a name that is no tool set.
    pub fn parse(words: &[String], toolsets: &[String]) -> Result<Self, IdentityError> {
        let mut rights = Self {
            knowledge: false,
            write: false,
            toolsets: Vec::new(),
        };
        for word in trimmed(words) {
            match word {
                READ => {}
                KNOWLEDGE => rights.knowledge = true,
                WRITE => rights.write = true,
                other => {
                    return Err(IdentityError::BadRight {
                        word: other.to_owned(),
                    });
                }
            }
        }
        rights.toolsets = trimmed(toolsets).map(str::to_owned).collect();
        rights.check()?;
        Ok(rights)
    }

    /// Refuses names that are no tool sets.
    pub(super) fn check(&self) -> Result<(), IdentityError> {
        let unknown = self
            .toolsets
            .iter()
            .find(|name| Category::from_name(name).is_none());
        match unknown {
            None => Ok(()),
            Some(name) => Err(IdentityError::BadRight { word: name.clone() }),
        }
    }

    /// What is left of the tool sets that a session asked for.
    pub fn within(&self, asked: ToolSets) -> ToolSets {
        let mut left = asked;
        if !self.toolsets.is_empty() {
            left = left.and(
                self.toolsets
                    .iter()
                    .filter_map(|name| Category::from_name(name)),
            );
        }
        if !self.write {
            left = left.without_station_changes();
        }
        if !self.knowledge {
            left = left.without_knowledge_changes();
        }
        left
    }
}

fn trimmed(words: &[String]) -> impl Iterator<Item = &str> {
    words
        .iter()
        .flat_map(|words| words.split(','))
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(READ)?;
        if self.knowledge {
            write!(f, ",{KNOWLEDGE}")?;
        }
        if self.write {
            write!(f, ",{WRITE}")?;
        }
        if !self.toolsets.is_empty() {
            write!(f, " of {}", self.toolsets.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn rights_are_words_and_narrow_the_tool_sets_that_were_asked_for() {
        let rights =
            Rights::parse(&words(&["read, write"]), &words(&["read,write"])).expect("rights");
        assert_eq!(rights.to_string(), "read,write of read,write");
        let left = rights.within(ToolSets::parse("read,history").expect("sets"));
        assert!(left.contains(Category::Read));
        assert!(!left.contains(Category::History) && !left.contains(Category::Write));
        let reader = Rights::parse(&words(&["read"]), &[]).expect("rights");
        assert!(!reader.within(ToolSets::all()).may_change_station());
        assert!(
            Rights::default()
                .within(ToolSets::all())
                .may_change_station()
        );
        let all = Rights::default();
        assert_eq!(all.to_string(), "read,knowledge,write");
        assert_eq!(all.within(ToolSets::all()), ToolSets::all());
        for (rights, toolsets) in [("reed", ""), ("read", "reed")] {
            let error = Rights::parse(&words(&[rights]), &words(&[toolsets]))
                .expect_err("no such word")
                .to_string();
            assert!(error.starts_with("'reed' is no right"), "{error}");
        }
    }
}
