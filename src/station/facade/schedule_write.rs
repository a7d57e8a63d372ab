//! Changing the program of a schedule: periods of weekdays, special events.
//!
//! Everything is checked before anything is sent. Each changed part is one message, sent once; after a failure nothing
//! more is sent, and the program is read again either way.

use chrono_tz::Tz;
use serde_json::{Value as Json, json};

use super::StationFacade;
use super::error::FacadeError;
use super::points::shown_facets;
use super::schedule_part::WholeSchedule;
use super::schedule_picture::SchedulePicture;
use super::schedule_program::not_a_schedule;
use super::schedule_write_days::{EventDays, day_slots};
use super::schedule_write_periods::same_periods;
use super::schedule_write_plan::{Planner, ScheduleEdit, Step, Values, period_name};
use super::view::PointFacets;
use super::write_error::{Reread, WriteError, WriteResult};
use super::write_target::{WriteTarget, doubt, doubt_scope};
use crate::station::boxp::Node;
use crate::station::boxp::point::PointKind;
use crate::station::boxp::tree::ComponentTree;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::value::DynamicEnum;

/// Most messages of one call, which has less than two minutes: each takes two requests.
const MOST_MESSAGES: usize = 60;

/// Parts of a schedule that have no operator flag take admin write (Station web specification §4.8).
const NEEDS: char = 'W';

/// Why a schedule is not changed; nothing was sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScheduleEditError {
    #[error(transparent)]
    Facade(#[from] FacadeError),
    /// What the caller gave does not fit.
    #[error("{place}: {reason}")]
    Invalid { place: String, reason: String },
    /// The schedule has a form that is not changed here.
    #[error("{ord} cannot be changed: {reason}")]
    NotEditable { ord: String, reason: String },
}

/// What will be sent, and what comes of it.
#[derive(Debug, Clone)]
pub struct SchedulePlan {
    /// Absolute ord.
    pub ord: String,
    pub display_name: String,
    pub type_spec: String,
    pub zone: Tz,
    pub facets: PointFacets,
    /// Facets for the texts of values.
    pub value_facets: Facets,
    pub before: SchedulePicture,
    /// As it will be.
    pub after: SchedulePicture,
    /// Messages that change something.
    pub messages: usize,
    /// The first component that the user's permissions do not let be changed, as far as the station told them.
    pub denied: Option<String>,
    tree: ComponentTree,
    steps: Vec<Step>,
}

impl SchedulePlan {
    /// Whether there is anything to send.
    pub fn changes_something(&self) -> bool {
        !self.steps.is_empty()
    }
}

/// What became of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleOutcome {
    /// Messages that the station took.
    pub sent: usize,
    /// What ended it early; earlier messages stay done.
    pub failure: Option<WriteError>,
    /// The program read back, or why that failed.
    pub after: Result<SchedulePicture, String>,
}

impl StationFacade {
    /// Checks a change of a schedule against the station and finds the messages that make it; a read.
    ///
    /// # Errors
    /// [`ScheduleEditError::Invalid`] for times, values or names that do not fit.
    pub async fn plan_schedule(
        &self,
        scope: &CallScope,
        ord: &Ord,
        edit: &ScheduleEdit,
    ) -> Result<SchedulePlan, ScheduleEditError> {
        let zone = self.zone(scope).await?;
        let (whole, tree) = self.editable_schedule(scope, ord).await?;
        let values = self.values(scope, ord, &whole).await?;
        let not_editable = |reason: String| ScheduleEditError::NotEditable {
            ord: ord.absolute(),
            reason,
        };
        let before = SchedulePicture::read(&whole.root).map_err(not_editable)?;
        let mut planner = Planner {
            root: &whole.root,
            root_path: &tree.root_path,
            values: &values,
            after: before.clone(),
            steps: Vec::new(),
        };
        planner.week(&edit.week)?;
        planner.removed_events(&edit.removed_events)?;
        planner.events(&edit.events)?;
        let Planner { after, steps, .. } = planner;
        let messages = steps.iter().map(Step::messages).sum();
        if messages > MOST_MESSAGES {
            return Err(ScheduleEditError::Invalid {
                place: ord.absolute(),
                reason: format!(
                    "the change takes {messages} messages to the station, and one call may send {MOST_MESSAGES}; change a few days at a time"
                ),
            });
        }
        let denied = steps.iter().find_map(|step| {
            let node = component(&tree, step.path())?;
            let letters = node.permissions.as_deref()?;
            (!letters.contains(NEEDS)).then(|| format!("station:|{}", step.path()))
        });
        Ok(SchedulePlan {
            ord: ord.absolute(),
            display_name: whole.root.display_name.clone(),
            type_spec: whole.root.type_spec.clone(),
            zone,
            facets: shown_facets(&whole.facets),
            value_facets: whole.facets,
            before,
            after,
            messages,
            denied,
            tree,
            steps,
        })
    }

    /// Sends what was planned, one message after the other, and reads the program back.
    pub async fn write_schedule(
        &self,
        scope: &CallScope,
        ord: &Ord,
        plan: &SchedulePlan,
    ) -> ScheduleOutcome {
        let mut sent = 0;
        let mut failure = None;
        for step in &plan.steps {
            if let Err(error) = self.take_step(scope, plan, step, &mut sent).await {
                failure = Some(in_doubt(error, step.path()));
                break;
            }
        }
        let again = match &failure {
            // The caller's own time may be over.
            Some(_) => self.schedule_picture(&doubt_scope(), ord).await,
            None => self.schedule_picture(scope, ord).await,
        };
        ScheduleOutcome {
            sent,
            failure,
            after: again.map_err(|error| error.to_string()),
        }
    }

    /// The program of a schedule as it is now.
    ///
    /// # Errors
    /// As [`StationFacade::plan_schedule`].
    pub async fn schedule_picture(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> Result<SchedulePicture, ScheduleEditError> {
        let (whole, _) = self.editable_schedule(scope, ord).await?;
        SchedulePicture::read(&whole.root).map_err(|reason| ScheduleEditError::NotEditable {
            ord: ord.absolute(),
            reason,
        })
    }

    async fn editable_schedule(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> Result<(WholeSchedule, ComponentTree), ScheduleEditError> {
        self.check_schedule(scope, ord).await?;
        let (whole, tree) = self.schedule_with_tree(scope, ord).await?;
        if whole.is_truncated || tree.entries.iter().any(|entry| entry.problem.is_some()) {
            return Err(ScheduleEditError::NotEditable {
                ord: ord.absolute(),
                reason: "not all parts of it could be read".to_owned(),
            });
        }
        if whole.root.child("schedule").is_none() {
            return Err(not_a_schedule(ord, &whole.root.type_spec).into());
        }
        Ok((whole, tree))
    }

    async fn values(
        &self,
        scope: &CallScope,
        ord: &Ord,
        whole: &WholeSchedule,
    ) -> Result<Values, ScheduleEditError> {
        let output = ["defaultOutput", "out"]
            .iter()
            .find_map(|name| whole.root.slot(name));
        let kind = output.and_then(|output| kind_of(&output.type_spec));
        let (Some(kind), Some(output)) = (kind, output) else {
            return Err(ScheduleEditError::NotEditable {
                ord: ord.absolute(),
                reason: format!(
                    "its output is of no known kind; {} is no boolean, numeric, enum or string schedule",
                    whole.root.type_spec
                ),
            });
        };
        let own = output
            .members
            .iter()
            .find(|(name, _)| name == "value")
            .and_then(|(_, text)| text.parse::<DynamicEnum>().ok())
            .map(|choice| choice.range)
            .filter(|range| !range.is_empty());
        let range = own
            .or_else(|| whole.facets.range().cloned())
            .unwrap_or_default();
        Ok(Values {
            kind,
            choices: self.choices(scope, &range).await?,
            range,
            facets: whole.facets.clone(),
        })
    }

    async fn take_step(
        &self,
        scope: &CallScope,
        plan: &SchedulePlan,
        step: &Step,
        sent: &mut usize,
    ) -> WriteResult<()> {
        match step {
            Step::Set { path, slot, value } => {
                let target = target(component(&plan.tree, path), path)?;
                self.set_part(scope, &target, slot, value.clone()).await?;
                *sent += 1;
            }
            Step::Remove { path, name } => {
                let target = target(component(&plan.tree, path), path)?;
                self.remove_part(scope, &target, name).await?;
                *sent += 1;
            }
            Step::Add { path, name, body } => {
                let target = target(component(&plan.tree, path), path)?;
                self.add_part(scope, &target, name, body.clone()).await?;
                *sent += 1;
            }
            Step::AddEvent {
                path,
                name,
                days,
                periods,
            } => {
                let target = target(component(&plan.tree, path), path)?;
                self.add_event(scope, &target, name, *days, periods, sent)
                    .await?;
            }
        }
        Ok(())
    }

    /// Adds a special event: first its days, then its periods, without which it has no effect.
    async fn add_event(
        &self,
        scope: &CallScope,
        events: &WriteTarget,
        name: &str,
        days: EventDays,
        periods: &[Json],
        sent: &mut usize,
    ) -> WriteResult<()> {
        let body = json!({"nm": "p", "t": "schedule:DailySchedule"});
        let before = *sent;
        let name = self.add_part(scope, events, name, body).await?;
        *sent += 1;
        let made = self
            .fill_event(scope, events, &name, days, periods, sent)
            .await;
        let Err(error) = made else {
            return Ok(());
        };
        // An event on the wrong days is worse than none; after a lost answer nothing more is sent.
        if doubt(&error).is_some() {
            return Err(error);
        }
        // The caller's own time may be over.
        let Err(second) = self.remove_part(&doubt_scope(), events, &name).await else {
            *sent = before;
            return Err(error);
        };
        Err(left_half_made(
            &format!("{}/{name}", events.ord),
            &error,
            &second,
        ))
    }

    async fn fill_event(
        &self,
        scope: &CallScope,
        events: &WriteTarget,
        name: &str,
        days: EventDays,
        periods: &[Json],
        sent: &mut usize,
    ) -> WriteResult<()> {
        let path = format!("{}/{name}", events.ord);
        let ord = Ord::component(&path).map_err(crate::station::error::StationError::from)?;
        let (mut whole, mut tree) = self.schedule_with_tree(scope, &ord).await?;
        let root = tree.root_path.clone();
        let kind = whole.root.child("days").map(|part| part.type_spec.clone());
        if kind.as_deref() != Some(days.type_spec()) {
            let event = target(Some(&tree.root), &root)?;
            let body = json!({"nm": "p", "t": days.type_spec()});
            self.set_part(scope, &event, "days", body).await?;
            *sent += 1;
            (whole, tree) = self.schedule_with_tree(scope, &ord).await?;
        }
        let unknown = |detail: String| WriteError::Refused {
            target: path.clone(),
            detail: format!(
                "its schedule module describes days in a form that is not known here: {detail}"
            ),
        };
        let part = whole.root.child("days");
        let part = part.ok_or_else(|| unknown("an event has no days".to_owned()))?;
        for slot in day_slots(part, days).map_err(unknown)? {
            let place = format!("{root}/days/{}", slot.path.join("/"));
            let place = place.trim_end_matches('/');
            let target = target(component(&tree, place), place)?;
            self.set_part(scope, &target, slot.slot, slot.value).await?;
            *sent += 1;
        }
        let place = format!("{root}/day");
        let day = target(component(&tree, &place), &place)?;
        for (number, body) in periods.iter().enumerate() {
            self.add_part(scope, &day, &period_name(number), body.clone())
                .await?;
            *sent += 1;
        }
        Ok(())
    }

    async fn set_part(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        slot: &str,
        value: Json,
    ) -> WriteResult<()> {
        let what = format!("{}/{slot}", target.ord);
        in_time(scope, &what)?;
        let work = self.boxp().set_property(scope, &target.handle, slot, value);
        self.change(target, &what, NEEDS, work).await
    }

    async fn remove_part(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        name: &str,
    ) -> WriteResult<()> {
        let what = format!("{}/{name}", target.ord);
        in_time(scope, &what)?;
        let operation = json!({"nm": "v", "h": target.handle, "n": name});
        let work = self.boxp().synchronise(scope, &what, operation);
        self.change(target, &what, NEEDS, work).await.map(drop)
    }

    /// The name that the station gave is that of the reply.
    async fn add_part(
        &self,
        scope: &CallScope,
        target: &WriteTarget,
        name: &str,
        body: Json,
    ) -> WriteResult<String> {
        let what = format!("{}/{name}", target.ord);
        in_time(scope, &what)?;
        let operation = json!({"nm": "a", "h": target.handle, "n": name, "b": body});
        let work = self.boxp().synchronise(scope, &what, operation);
        let answer = self.change(target, &what, NEEDS, work).await?;
        let given = answer
            .as_array()
            .and_then(|items| items.first()?.get("nn")?.as_str())
            .unwrap_or(name);
        Ok(given.to_owned())
    }
}

fn kind_of(status_type: &str) -> Option<PointKind> {
    [
        PointKind::Numeric,
        PointKind::Boolean,
        PointKind::Enum,
        PointKind::Text,
    ]
    .into_iter()
    .find(|kind| kind.status_type() == status_type)
}

fn component<'a>(tree: &'a ComponentTree, path: &str) -> Option<&'a Node> {
    if path == tree.root_path {
        return Some(&tree.root);
    }
    tree.entries
        .iter()
        .find(|entry| entry.slot_path == path)
        .map(|entry| &entry.node)
}

fn target(node: Option<&Node>, path: &str) -> WriteResult<WriteTarget> {
    let path = path.trim_start_matches("station:|");
    let ord = format!("station:|{path}");
    let handle = node.and_then(|node| node.handle.clone());
    match (node, handle) {
        (Some(node), Some(handle)) => Ok(WriteTarget {
            ord,
            handle,
            node: node.clone(),
            contract: None,
            slots: Vec::new(),
        }),
        _ => Err(WriteError::Refused {
            target: ord,
            detail: "it did not tell the component's handle".to_owned(),
        }),
    }
}

fn in_time(scope: &CallScope, what: &str) -> WriteResult<()> {
    match scope.may_begin_write() {
        true => Ok(()),
        false => Err(WriteError::OutOfTime {
            target: what.to_owned(),
        }),
    }
}

/// A special event that could neither be finished nor removed.
fn left_half_made(target: &str, error: &WriteError, second: &WriteError) -> WriteError {
    match doubt(second) {
        Some(cause) => WriteError::InDoubt {
            target: target.to_owned(),
            cause: format!(
                "{error}; then the answer to removing the half-made event was lost ({cause})"
            ),
            reread: Reread::Nothing,
        },
        None => WriteError::Refused {
            target: target.to_owned(),
            detail: format!(
                "{error}; the half-made event stays, because it could not be removed ({second})"
            ),
        },
    }
}

/// A lost answer, told for the part that was being changed.
fn in_doubt(error: WriteError, path: &str) -> WriteError {
    match doubt(&error).map(str::to_owned) {
        Some(cause) => WriteError::InDoubt {
            target: format!("station:|{path}"),
            cause,
            reread: Reread::Nothing,
        },
        None => error,
    }
}

/// Whether two programs do the same on every day whose rule is known.
pub fn same_program(one: &SchedulePicture, two: &SchedulePicture) -> bool {
    one.week.len() == two.week.len()
        && one.events.len() == two.events.len()
        && one
            .week
            .iter()
            .zip(&two.week)
            .all(|(one, two)| same_periods(&one.periods, &two.periods))
        && one.events.iter().zip(&two.events).all(|(one, two)| {
            one.name == two.name && one.rule == two.rule && same_periods(&one.periods, &two.periods)
        })
}
