//! What changes the station: ops and properties below `config/` (oBIX specification §6).

use super::address::Address;
use super::argument;
use super::component::{self, facets_of, is_writable};
use super::config::{self, Place};
use super::element::Element;
use super::error::ObixError;
use super::scope::Caller;
use super::value::{self, Setting};
use super::{alarm, scope::Scope};
use crate::model::station::Operation;
use crate::model::{Facets, Handle, SlotContent, Value};

/// An op that the user may invoke, with its argument translated.
struct Command {
    owner: Handle,
    action: String,
    argument: Option<Value>,
}

/// Invokes what stands at a path below `config/`. The answer of a point is the point itself without `href`, its children
/// relative to it (§6.4).
///
/// # Errors
/// When nothing stands there, the user may not invoke it, or the argument cannot be translated.
pub fn invoke(
    caller: &Caller<'_>,
    address: &Address,
    names: &[&str],
    body: Option<&Element>,
) -> Result<Element, ObixError> {
    let prepared = caller.view(|scope| match config::resolve(scope, address, names)? {
        Place::Op { owner, slot } => {
            let SlotContent::Action(action) = &slot.content else {
                return Err(address.unknown());
            };
            if !scope.may(owner.handle(), slot.flags, Operation::Invoke) {
                return Err(refused(scope, "invoke", address));
            }
            let facets = scope.station.facets(owner.handle());
            // What an op without argument is sent is not looked at (§6.1).
            let argument = match action.parameter {
                Some(parameter) => argument::of_parameter(scope, parameter, &facets, body)?,
                None => None,
            };
            Ok(Ok(Command {
                owner: owner.handle(),
                action: slot.name.to_owned(),
                argument,
            }))
        }
        Place::Virtual { of, name } => {
            alarm::invoke_virtual(scope, &of, name, address, body).map(Err)
        }
        Place::Component(_) | Place::Property { .. } => {
            Err(ObixError::Unsupported(format!("{} is no op", address.text)))
        }
    })?;
    let command = match prepared {
        Ok(command) => command,
        Err(answer) => return Ok(answer),
    };
    let result = caller.context.station.write().invoke_as(
        &caller.user.name,
        command.owner,
        &command.action,
        command.argument,
    )?;
    caller.view(|scope| answer(scope, command.owner, result, address))
}

fn answer(
    scope: &Scope<'_>,
    owner: Handle,
    result: Option<Value>,
    address: &Address,
) -> Result<Element, ObixError> {
    if let Some(result) = result {
        let setting = Setting {
            facets: &Facets::new(),
            slot_href: "",
        };
        return Ok(value::element(scope, &result, &setting));
    }
    let owner = scope.station.component(owner);
    let owner = owner.ok_or_else(|| address.unknown())?;
    if owner.ty().point_kind().is_some() {
        return Ok(component::object(scope, owner));
    }
    Ok(Element::new("obj").with("null", "true"))
}

/// Writes the property at a path below `config/` and answers it as read again (§6.1).
///
/// # Errors
/// When nothing stands there, it is no property that this user may write, or the value cannot be translated.
pub fn write(
    caller: &Caller<'_>,
    address: &Address,
    names: &[&str],
    body: &Element,
) -> Result<Element, ObixError> {
    let (owner, name, new) = caller.view(|scope| {
        let unwritable = || ObixError::Unsupported(format!("{} cannot be written", address.text));
        let Place::Property {
            owner,
            slot,
            members,
        } = config::resolve(scope, address, names)?
        else {
            return Err(unwritable());
        };
        let held = slot.value().ok_or_else(unwritable)?;
        if held.as_status_value().is_some() {
            // §6.1: a value element does not fit a status value.
            return Err(argument::cannot(&body.tag, held.type_spec()));
        }
        if !scope.may(owner.handle(), slot.flags, Operation::Write) {
            return Err(refused(scope, "write", address));
        }
        if !members.is_empty() || !is_writable(scope, owner, &slot, held) {
            return Err(unwritable());
        }
        let facets = facets_of(scope, owner.handle(), &slot, held);
        let new = argument::of_kind(scope, held, &facets, body)?;
        Ok((owner.handle(), slot.name.to_owned(), new))
    })?;
    let mut station = caller.context.station.write();
    station.set_as(&caller.user.name, owner, &name, new)?;
    drop(station);
    caller.view(|scope| config::read(scope, address, names))
}

fn refused(scope: &Scope<'_>, what: &str, address: &Address) -> ObixError {
    ObixError::Permission(format!(
        "{} may not {what} {}",
        scope.user.name, address.text
    ))
}
