//! The capabilities of a process, and the one policy that every call goes through (CAMBER core §1.4, §2).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use niagara_analytics::run_config::section::close_names;
use serde_json::{Map, Value};

use super::answer::{check_answer, finish};
use super::call::{Call, Names, store_failure};
use super::capability::{Capability, CapabilityDefinition};
use super::context::{CallerPolicy, Watch};
use super::error::{CapabilityError, FailureCode};
use super::facility_policy::{FacilityPolicy, named_facilities, require_allowed};
use super::hygiene::{one_line, quoted};
use super::result::CapabilityResult;
use super::token::{TokenGround, call_token};
use super::workspace::Workspace;
use crate::schema::{CheckedSchema, SchemaError, Validator, Violation};
use crate::trends::store::{FacilityId, FenceState, StoreError, TrendStore};

/// A registry that cannot be built; every case is a mistake in this program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityRegistryError {
    #[error("capability '{0}' is registered twice")]
    Duplicate(String),
    #[error("'{0}' is no name of a capability: use lower-case letters, digits and _")]
    Name(String),
    #[error("capability '{capability}' has a broken {which} schema: {source}")]
    Schema {
        capability: String,
        which: &'static str,
        source: SchemaError,
    },
    #[error("the {which} schema of capability '{capability}' is not of an object")]
    NoObject {
        capability: String,
        which: &'static str,
    },
}

pub(super) struct Entry {
    pub(super) definition: CapabilityDefinition,
    input: CheckedSchema,
    output: CheckedSchema,
    capability: Box<dyn Capability>,
}

impl Entry {
    fn input(&self) -> &Validator {
        self.input
            .validator(|| self.definition.input_schema.to_value())
    }

    /// What its data are held against.
    pub(super) fn output(&self) -> &Validator {
        self.output
            .validator(|| self.definition.output_schema.to_value())
    }
}

/// The capabilities, sorted by name.
pub struct CapabilityRegistry {
    entries: BTreeMap<&'static str, Entry>,
}

impl CapabilityRegistry {
    /// The capabilities of this build.
    ///
    /// # Errors
    /// A definition is broken.
    pub fn built_in() -> Result<Self, CapabilityRegistryError> {
        Self::of(super::capabilities::all())
    }

    /// A registry of these.
    ///
    /// # Errors
    /// Two of one name, a name or schema that breaks the rules.
    pub fn of(
        capabilities: impl IntoIterator<Item = Box<dyn Capability>>,
    ) -> Result<Self, CapabilityRegistryError> {
        let mut entries = BTreeMap::new();
        for capability in capabilities {
            let definition = capability.definition();
            let name = definition.name;
            let sound = !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            if !sound {
                return Err(CapabilityRegistryError::Name(name.to_owned()));
            }
            let entry = Entry {
                input: compiled(name, "input", &definition.input_schema.to_value())?,
                output: compiled(name, "output", &definition.output_schema.to_value())?,
                definition,
                capability,
            };
            if entries.insert(name, entry).is_some() {
                return Err(CapabilityRegistryError::Duplicate(name.to_owned()));
            }
        }
        Ok(Self { entries })
    }

    /// All definitions, sorted by name.
    pub fn definitions(&self) -> impl Iterator<Item = &CapabilityDefinition> {
        self.entries.values().map(|entry| &entry.definition)
    }

    /// Whether there is a capability of that name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Answers one call on this thread.
    ///
    /// # Errors
    /// The call is refused or failed; nothing else ever leaves a call, panics included.
    pub fn call(
        &self,
        name: &str,
        arguments: Value,
        workspace: &Workspace,
        caller: &CallerPolicy,
        watch: &Watch,
    ) -> Result<CapabilityResult, CapabilityError> {
        let names = Names::default();
        let run = || self.run(name, arguments, workspace, caller, watch, &names);
        guarded(name, workspace, &names, run)
    }

    /// Runs other work with the call that a capability would get: its arguments checked, under the same policy.
    ///
    /// # Errors
    /// As [`CapabilityRegistry::call`], and those of the work.
    pub fn within_call<T>(
        &self,
        name: &str,
        arguments: Value,
        workspace: &Workspace,
        caller: &CallerPolicy,
        watch: &Watch,
        work: impl FnOnce(&Call<'_>, &Map<String, Value>) -> Result<T, CapabilityError>,
    ) -> Result<T, CapabilityError> {
        let names = Names::default();
        let run = || {
            let admitted = self.admitted(name, arguments, workspace, caller, watch)?;
            let Admitted {
                arguments, policy, ..
            } = &admitted;
            let call = Call::new(workspace, caller, watch, policy, &names, arguments);
            let outcome = work(&call, arguments);
            admitted.check_unchanged(workspace, caller, watch)?;
            outcome
        };
        guarded(name, workspace, &names, run)
    }

    fn run(
        &self,
        name: &str,
        arguments: Value,
        workspace: &Workspace,
        caller: &CallerPolicy,
        watch: &Watch,
        names: &Names,
    ) -> Result<CapabilityResult, CapabilityError> {
        let admitted = self.admitted(name, arguments, workspace, caller, watch)?;
        let failed = |error: StoreError| store_failure(&error, caller, watch);
        let ground = admitted.reach.ground(workspace, caller).map_err(failed)?;
        let Admitted {
            entry,
            arguments,
            policy,
            ..
        } = &admitted;
        let call = Call::new(workspace, caller, watch, policy, names, arguments);
        let answer = entry.capability.run(&call, arguments);
        let notices = call.into_notices();
        admitted.check_unchanged(workspace, caller, watch)?;
        let mut result = answer?;
        check_answer(&result)?;
        result.truncated |= !notices.is_empty();
        result.banners.extend(notices);
        result.banners.extend(policy.notice());
        let token = call_token(
            name,
            &Value::Object(arguments.clone()),
            caller.allowed.iter(),
            &ground,
        );
        finish(entry, result, &token, workspace, caller, &names.written())
    }

    fn no_capability(&self, name: &str) -> String {
        let names: Vec<&str> = self.entries.keys().copied().collect();
        let close = close_names(name, names.iter().copied());
        let offer = match close.first() {
            Some(near) => format!(" (did you mean {near}?)"),
            None => String::new(),
        };
        format!(
            "there is no capability {}{offer}; there are {}",
            quoted(name),
            names.join(", ")
        )
    }

    /// Checks arguments, allowlist and licences, and remembers the fences of what the call reads.
    fn admitted(
        &self,
        name: &str,
        arguments: Value,
        workspace: &Workspace,
        caller: &CallerPolicy,
        watch: &Watch,
    ) -> Result<Admitted<'_>, CapabilityError> {
        let entry = self.entries.get(name).ok_or_else(|| {
            CapabilityError::new(FailureCode::UnknownCapability, self.no_capability(name))
        })?;
        let arguments = checked(entry, arguments)?;
        let named = named_facilities(&arguments);
        require_allowed(&named, caller)?;
        let failed = |error: StoreError| store_failure(&error, caller, watch);
        let policy = FacilityPolicy::read(&workspace.store).map_err(failed)?;
        for facility in &named {
            policy.require_clean(facility)?;
        }
        let reach = match entry.definition.reads_store {
            true => Reach::of(&workspace.store, &named, caller),
            false => Reach::default(),
        };
        let fences = reach.fences(&workspace.store).map_err(failed)?;
        watch.check()?;
        Ok(Admitted {
            entry,
            arguments,
            policy,
            reach,
            fences,
        })
    }
}

/// A call that may run.
struct Admitted<'r> {
    entry: &'r Entry,
    arguments: Map<String, Value>,
    policy: FacilityPolicy,
    reach: Reach,
    fences: Vec<FenceState>,
}

impl Admitted<'_> {
    /// Refuses an answer from data that were replaced meanwhile. Whoever began to be told too late is told nothing.
    fn check_unchanged(
        &self,
        workspace: &Workspace,
        caller: &CallerPolicy,
        watch: &Watch,
    ) -> Result<(), CapabilityError> {
        let fences = self.reach.fences(&workspace.store);
        let fences = fences.map_err(|error| store_failure(&error, caller, watch))?;
        if fences != self.fences {
            return Err(self.reach.replaced());
        }
        watch.check()
    }
}

/// Nothing but a result or an error without places of this machine leaves a call, panics included.
fn guarded<T>(
    name: &str,
    workspace: &Workspace,
    names: &Names,
    run: impl FnOnce() -> Result<T, CapabilityError>,
) -> Result<T, CapabilityError> {
    let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        tracing::error!(capability = name, "a capability ended with a panic");
        Err(CapabilityError::new(
            FailureCode::Internal,
            "the capability failed by a fault of the bridge; its log has the details",
        ))
    });
    outcome.map_err(|mut error| {
        error.message = one_line(&error.message);
        if error.pointers_only {
            return error;
        }
        let written = names.written();
        error.message = workspace.redactor.text(&error.message, &written);
        error.data = workspace.redactor.data(&error.data, &written);
        error
    })
}

fn compiled(
    capability: &str,
    which: &'static str,
    schema: &Value,
) -> Result<CheckedSchema, CapabilityRegistryError> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(CapabilityRegistryError::NoObject {
            capability: capability.to_owned(),
            which,
        });
    }
    CheckedSchema::new(schema).map_err(|source| CapabilityRegistryError::Schema {
        capability: capability.to_owned(),
        which,
        source,
    })
}

/// `<pointer>: <problem>` (CAMBER core §3).
pub(super) fn told(violation: &Violation) -> String {
    format!("{}: {}", violation.pointer(), violation.problem)
}

fn checked(entry: &Entry, arguments: Value) -> Result<Map<String, Value>, CapabilityError> {
    let mut arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        object @ Value::Object(_) => object,
        _ => return Err(CapabilityError::invalid("the arguments must be an object")),
    };
    let problems: Vec<String> = entry
        .input()
        .validate(&arguments)
        .iter()
        .map(told)
        .collect();
    if !problems.is_empty() {
        return Err(CapabilityError::schema(problems));
    }
    entry.input().make_integers(&mut arguments);
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        _ => Ok(Map::new()),
    }
}

/// The facilities that a call reads: those that its arguments name, else every allowed one.
#[derive(Debug, Default)]
struct Reach {
    reads: bool,
    facilities: Vec<FacilityId>,
}

impl Reach {
    fn of(store: &TrendStore, named: &[String], caller: &CallerPolicy) -> Self {
        let known = |id: &String| FacilityId::parse(id).ok();
        let facilities: Vec<FacilityId> = match named.is_empty() {
            false => named.iter().filter_map(known).collect(),
            true => caller.allowed.iter().filter_map(known).collect(),
        };
        tracing::trace!(store = %store.root().display(), ?facilities, "a call reads facilities");
        Self {
            reads: true,
            facilities,
        }
    }

    /// The fences of all facilities, once no swap goes on.
    fn fences(&self, store: &TrendStore) -> Result<Vec<FenceState>, StoreError> {
        self.facilities
            .iter()
            .map(|facility| store.settled_fence(facility))
            .collect()
    }

    /// What decides the values beside the arguments.
    fn ground(
        &self,
        workspace: &Workspace,
        caller: &CallerPolicy,
    ) -> Result<TokenGround, StoreError> {
        let stored: Vec<FacilityId> = self
            .facilities
            .iter()
            .filter(|facility| workspace.store.has_partition(facility))
            .cloned()
            .collect();
        let generation = match self.reads {
            true => workspace.store.generation(&stored)?,
            false => String::new(),
        };
        let digests: Vec<String> = workspace
            .points
            .iter()
            .flat_map(|points| stored.iter().map(|facility| points.ords(facility.as_str())))
            .filter(|ords| !ords.is_empty())
            .map(|ords| ords.digest().to_owned())
            .collect();
        Ok(TokenGround {
            config: workspace.run_configs.digest(),
            min_trust: caller.min_trust,
            generation,
            points: (!digests.is_empty()).then(|| digests.join(" ")),
        })
    }

    fn replaced(&self) -> CapabilityError {
        let error = CapabilityError::new(
            FailureCode::Unavailable,
            "stored data were replaced while the call ran; ask again",
        )
        .with("retryable", true);
        match self.facilities.as_slice() {
            [one] => error.with("facility_id", one.as_str()),
            _ => error,
        }
    }
}
