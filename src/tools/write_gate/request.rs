//! What a tool wants to write, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::station::error::StationError;
use crate::station::facade::{
    ActionPlan, FacadeError, LostLinks, PointPlan, SlotPlan, StationFacade, WriteError,
};
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath};
use crate::station::priority::Priority;
use crate::tools::{ToolError, ToolOutput, ToolResult};

/// A write that a tool wants to send.
///
/// ```
/// use niagara_bridge::station::priority::Priority;
/// use niagara_bridge::tools::write_gate::WriteRequest;
/// let arguments = serde_json::Map::new();
/// let request = WriteRequest::new("writePoint", "write", "slot:/Logic/Setpoint", &arguments)
///     .at_priority(Priority::MANUAL);
/// assert_eq!(request.priority, Some(Priority::MANUAL));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct WriteRequest<'a> {
    pub tool: &'a str,
    /// Operation name of Tool surface §4.1, such as `set`.
    pub operation: &'a str,
    /// The ord of Tool surface §4.1 as the caller wrote it; it is recorded so.
    pub ord: &'a str,
    /// The component that the rules look at, where that is not `ord`: the sink of a link.
    pub judged: Option<&'a str>,
    /// The name that a new slot shall have: rules about the place where it would be count as well.
    pub added: Option<&'a str>,
    /// All arguments of the call; secrets are left out before they are recorded.
    pub arguments: &'a Map<String, Value>,
    pub priority: Option<Priority>,
    /// How long an override shall last; zero = until it is released.
    pub override_for: Option<Duration>,
    /// It removes something that cannot be brought back.
    pub destructive: bool,
    /// What it changes, it changes with everything below.
    pub with_subtree: bool,
    /// The ord leads to a property: rules about the component that has it count as well.
    pub of_property: bool,
    /// It concerns no single component, so rules about paths say nothing of it.
    pub of_whole_station: bool,
    /// What components elsewhere lose by it: rules about them count as well.
    pub lost: Option<&'a LostLinks>,
    /// The value is a secret whatever its slot is called, because type or facets say so.
    pub secret_value: bool,
}

impl<'a> WriteRequest<'a> {
    /// A write to the component at `ord`.
    pub fn new(
        tool: &'a str,
        operation: &'a str,
        ord: &'a str,
        arguments: &'a Map<String, Value>,
    ) -> Self {
        Self {
            tool,
            operation,
            ord,
            judged: None,
            added: None,
            arguments,
            priority: None,
            override_for: None,
            destructive: false,
            with_subtree: false,
            of_property: false,
            of_whole_station: false,
            lost: None,
            secret_value: false,
        }
    }

    /// The rules look at this component instead.
    pub fn judged_at(mut self, ord: &'a str) -> Self {
        self.judged = Some(ord);
        self
    }

    /// It adds a slot of this name to the component.
    pub fn adding(mut self, name: &'a str) -> Self {
        self.added = Some(name);
        self
    }

    /// At a level of the priority array.
    pub fn at_priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// As an override for this long; zero = until it is released.
    pub fn overriding_for(mut self, duration: Duration) -> Self {
        self.override_for = Some(duration);
        self
    }

    /// It removes something.
    pub fn removing(mut self) -> Self {
        self.destructive = true;
        self
    }

    /// It removes the component with everything below it, so rules about what is below count as well.
    pub fn removing_subtree(mut self) -> Self {
        self.destructive = true;
        self.with_subtree = true;
        self
    }

    /// It removes a property, such as a link, from the component that has it.
    pub fn removing_property(mut self) -> Self {
        self.destructive = true;
        self.of_property = true;
        self
    }

    /// Components that stay lose these links by it.
    pub fn cutting(mut self, lost: &'a LostLinks) -> Self {
        self.lost = Some(lost);
        self
    }

    /// It concerns the station as a whole, such as saving it.
    pub fn of_whole_station(mut self) -> Self {
        self.of_whole_station = true;
        self
    }

    /// Its value is a secret.
    pub fn with_secret_value(mut self) -> Self {
        self.secret_value = true;
        self
    }

    /// With what a plan tells of an action: a command of a level is judged as that, however it is spelled.
    pub fn for_action(mut self, plan: &ActionPlan) -> Self {
        if plan.is_secret() {
            self = self.with_secret_value();
        }
        if let Some(level) = plan.level() {
            self = self.at_priority(level);
        }
        match plan.override_for() {
            Some(duration) => self.overriding_for(duration),
            None => self,
        }
    }

    /// The same of a slot.
    pub fn for_slot(mut self, plan: &SlotPlan) -> Self {
        if plan.is_secret() {
            self = self.with_secret_value();
        }
        match plan.level() {
            Some(level) => self.at_priority(level),
            None => self,
        }
    }

    /// The same of a point's command: one that only an override without end can carry out is judged as that.
    pub fn for_point(self, plan: &PointPlan) -> Self {
        match plan.is_endless() {
            true => self.overriding_for(Duration::ZERO),
            false => self,
        }
    }

    /// The text of the ord that the rules look at.
    pub(super) fn judged_ord(&self) -> &'a str {
        self.judged.unwrap_or(self.ord)
    }
}

/// What the work of a write gets: the caller's own station session, and the component that was judged.
#[derive(Debug, Clone)]
pub struct StationWrite {
    pub station: Arc<StationFacade>,
    /// Ends early enough that a lost answer can still be read back within the call's time.
    pub scope: CallScope,
    /// The judged component, as the caller named it.
    pub ord: Ord,
    /// Where it is; handles are resolved.
    pub path: SlotPath,
}

/// A write that the station took.
#[derive(Debug, Clone, PartialEq)]
pub struct Written<T> {
    /// What the tool goes on with.
    pub value: T,
    /// What stood there before; recorded.
    pub old_value: Option<Value>,
    /// What was read back, or sent; recorded.
    pub new_value: Option<Value>,
}

impl<T> Written<T> {
    /// A write without values, such as a removal.
    pub fn new(value: T) -> Self {
        Self {
            value,
            old_value: None,
            new_value: None,
        }
    }

    /// With the value before.
    pub fn from(mut self, old_value: impl Into<Value>) -> Self {
        self.old_value = Some(old_value.into());
        self
    }

    /// With the value after.
    pub fn to(mut self, new_value: impl Into<Value>) -> Self {
        self.new_value = Some(new_value.into());
        self
    }
}

/// A write that did not end with success.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteFailure {
    /// The station said no, or its answer was lost; the gate finds code and data (Tool surface §5.3).
    Station(WriteError),
    /// The tool's own refusal, answered as it is: nothing was changed.
    Tool(ToolError),
    /// The same with a value that is a secret, which only a look at the station showed; the records leave it out.
    OfSecret(Box<WriteFailure>),
    /// The station may have done it; answered with `inDoubt`.
    InDoubt(ToolError),
    /// Some of it was done before it failed; the values are what is recorded of it.
    Partly {
        error: ToolError,
        /// Whether the message that failed may have been carried out.
        in_doubt: bool,
        old_value: Option<Box<Value>>,
        /// As it was read back.
        new_value: Option<Box<Value>>,
    },
}

impl From<WriteError> for WriteFailure {
    fn from(error: WriteError) -> Self {
        Self::Station(error)
    }
}

impl From<FacadeError> for WriteFailure {
    fn from(error: FacadeError) -> Self {
        Self::Station(error.into())
    }
}

impl From<StationError> for WriteFailure {
    fn from(error: StationError) -> Self {
        Self::Station(error.into())
    }
}

impl From<ToolError> for WriteFailure {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

/// What the gate answers a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum Gated<T> {
    /// The station did it.
    Done(T),
    /// Answer with this: the client asks a person and repeats the call (revision 2026-07-28).
    Asked(ToolOutput),
}

impl Gated<ToolOutput> {
    /// The answer of a tool that has nothing to add.
    pub fn into_output(self) -> ToolOutput {
        match self {
            Self::Done(output) | Self::Asked(output) => output,
        }
    }
}

impl<T> Gated<T> {
    /// Shapes the answer of a write that was done.
    ///
    /// # Errors
    /// What `shape` reports.
    pub fn answered(self, shape: impl FnOnce(T) -> ToolResult) -> ToolResult {
        match self {
            Self::Done(value) => shape(value),
            Self::Asked(output) => Ok(output),
        }
    }
}
