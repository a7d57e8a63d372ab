//! `invokeAction`: an action of a component, with its argument (Tool surface §8.4, §13.5.4).

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::{put_value, value_json};
use super::schema::{self, object};
use super::station_access::sentence;
use super::write_gate::{
    SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::{Arguments, CallContext, ToolError};
use crate::secrecy::{REDACTED, is_secret_name};
use crate::station::facade::{ActionPlan, ActionResult, Given, WriteError};

/// `invokeAction`.
pub struct InvokeAction(pub SharedGate);

impl Tool for InvokeAction {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "invokeAction",
            Category::Write,
            Annotations::MUTATION,
            "Invokes an action of a component once, as the calling station user, and answers what it returns. An action \
             with a simple parameter takes 'args'; without 'args' the station's default of the parameter is sent. \
             Override a point with overridePoint, which takes a duration. Actions that command priority 1 or 8 of a \
             point need a confirmation. \
             Example: {\"ord\":\"station:|slot:/Logic/Setpoint\",\"actionName\":\"set\",\"args\":21.5}.",
        )
        .input(with_confirm(
            object()
                .required("ord", schema::string("Ord of the component, for example station:|slot:/Logic/Setpoint."))
                .required("actionName", schema::string("Name of the action, see probeOrd."))
                .optional(
                    "args",
                    schema::any_of_types(
                        "The argument; null or absent for the default of the parameter.",
                        &["string", "number", "integer", "boolean", "null"],
                    ),
                ),
        ))
        .output(
            object()
                .required("ord", schema::string("The ord as given."))
                .required("actionName", schema::string("The action as given."))
                .required(
                    "returnValue",
                    schema::any_of_types(
                        "What the action returned; structs by their text.",
                        &["string", "number", "boolean", "null"],
                    ),
                )
                .optional(
                    "nonFinite",
                    schema::one_of("Set when the number is not finite.", &["NaN", "Infinity", "-Infinity"]),
                )
                .required("returnType", schema::string("Its type as module:Type; null when nothing was returned."))
                .required("durationMs", schema::whole("Milliseconds until the station answered."))
                .required(
                    "asynchronous",
                    schema::boolean("The station answers before the action has ended."),
                ),
        )
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let call = ActionCall::of(&arguments)?;
            let request = WriteRequest::new("invokeAction", "invoke", call.ord, arguments.values());
            let look = |write: StationWrite| async move { call.plan(&write).await };
            let checked = self.0.check(context, &request, look).await?;
            let request = request.for_action(&checked.plan);
            self.0
                .check_permitted(context, &request, checked.plan.is_permitted())
                .await?;
            // Commands of levels may be confirmed by themselves, so the plan can be old by then.
            let plan = checked.fresh().filter(|plan| plan.level().is_none());
            let work = |write: StationWrite| async move {
                let plan = match plan {
                    Some(plan) => plan,
                    None => call.plan(&write).await?,
                };
                let sent = write.station.carry_out_action(&write.scope, plan).await;
                let result = sent.map_err(|error| call.failure(error))?;
                let returned = value_json(&result.returned);
                Ok(Written::new(result).to(returned))
            };
            let sent = self.0.run(context, request, work).await?;
            sent.answered(|result| Ok(call.answer(&result)))
        })
    }
}

#[derive(Clone, Copy)]
struct ActionCall<'a> {
    ord: &'a str,
    name: &'a str,
    argument: Option<&'a Value>,
}

impl<'a> ActionCall<'a> {
    fn of(arguments: &'a Arguments) -> Result<Self, ToolError> {
        Ok(Self {
            ord: arguments.string("ord")?,
            name: arguments.string("actionName")?,
            argument: arguments.get("args"),
        })
    }

    async fn plan(self, write: &StationWrite) -> Result<ActionPlan, WriteFailure> {
        let given = self.argument.and_then(Given::of_json);
        let plan = write
            .station
            .plan_action(&write.scope, &write.ord, self.name, given.as_ref());
        plan.await.map_err(|error| self.failure(error))
    }

    /// What this tool owes callers beside the codes of all writes.
    fn failure(self, error: WriteError) -> WriteFailure {
        let (error, is_secret) = error.bared();
        let failure = self.told(error, is_secret || is_secret_name(self.name));
        match is_secret {
            true => WriteFailure::OfSecret(Box::new(failure)),
            false => failure,
        }
    }

    fn told(self, error: WriteError, is_secret: bool) -> WriteFailure {
        let WriteError::BadValue {
            target,
            given,
            reason,
        } = error
        else {
            return error.into();
        };
        let given = if is_secret {
            REDACTED.to_owned()
        } else {
            given
        };
        let shown = match self.argument {
            Some(argument) if !is_secret => argument.clone(),
            _ => json!(given),
        };
        let error = WriteError::BadValue {
            target,
            given,
            reason: reason.clone(),
        };
        ToolError::invalid_params(sentence(&error))
            .with("ord", self.ord)
            .with("actionName", self.name)
            .with("args", shown)
            .with("reason", reason)
            .into()
    }

    fn answer(self, result: &ActionResult) -> ToolOutput {
        let mut map = Map::new();
        map.insert("ord".to_owned(), json!(self.ord));
        map.insert("actionName".to_owned(), json!(self.name));
        put_value(&mut map, "returnValue", "nonFinite", &result.returned);
        let returned = result.return_type.as_deref().unwrap_or("null");
        map.insert("returnType".to_owned(), json!(returned));
        let millis = u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX);
        map.insert("durationMs".to_owned(), json!(millis));
        map.insert("asynchronous".to_owned(), json!(result.is_asynchronous));
        ToolOutput::json(Value::Object(map))
    }
}
