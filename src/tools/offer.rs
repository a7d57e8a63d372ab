//! Which tools of the registry clients see: `disabledTools` and `toolsets` of the configuration (Tool surface §6).

use std::collections::BTreeSet;
use std::fmt;

use super::ToolSets;
use super::definition::ToolDefinition;

/// A name in `disabledTools` that no tool has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTool {
    /// In lower case.
    pub name: String,
    /// The tool with the most similar name.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "there is no tool '{}'", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(out, "; did you mean '{nearest}'?"),
            None => Ok(()),
        }
    }
}

/// A choice of tools; the neutral one offers all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    /// Names in lower case.
    disabled: BTreeSet<String>,
    toolsets: ToolSets,
}

impl Offer {
    /// Leaves out the tools of a comma list, ignoring case, and those outside the tool sets.
    pub fn new(disabled: &str, toolsets: ToolSets) -> Self {
        let disabled = disabled
            .split(',')
            .map(|name| name.trim().to_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        Self { disabled, toolsets }
    }

    /// Names that are left out, in lower case.
    pub fn disabled(&self) -> impl Iterator<Item = &str> {
        self.disabled.iter().map(String::as_str)
    }

    /// Whether clients see the tool.
    pub fn contains(&self, tool: &ToolDefinition) -> bool {
        self.toolsets.contains(tool.category) && !self.disabled.contains(&tool.name.to_lowercase())
    }
}
