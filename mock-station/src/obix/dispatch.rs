//! Which branch of the tree answers; requests and batch members come through here alike.

use super::address::Address;
use super::element::Element;
use super::error::ObixError;
use super::scope::Caller;
use super::{about, alarm, batch, command, config, definition, history, lobby, units, watch};

/// Reads the object at an address; its href may still be missing.
///
/// # Errors
/// When there is none, or not for this user.
pub fn read(caller: &Caller<'_>, address: &Address) -> Result<Element, ObixError> {
    let names = address.names();
    if let ["watchService", below @ ..] = names.as_slice() {
        return watch::read(caller, address, below);
    }
    caller.view(|scope| match names.as_slice() {
        [] => Ok(lobby::object(scope)),
        ["about"] => Ok(about::object(scope)),
        ["batch"] => Ok(lobby::batch_op()),
        ["config", below @ ..] => config::read(scope, address, below),
        ["histories", below @ ..] => history::read(scope, address, below),
        ["def", below @ ..] => definition::read(scope, address, below),
        ["units", below @ ..] => units::read(address, below),
        ["alarm", below @ ..] => alarm::read(scope, address, below),
        _ => Err(unknown(address)),
    })
}

/// Invokes the op at an address.
///
/// # Errors
/// When there is none, the argument does not fit, or the user may not.
pub fn invoke(
    caller: &Caller<'_>,
    address: &Address,
    argument: Option<&Element>,
) -> Result<Element, ObixError> {
    let names = address.names();
    match names.as_slice() {
        ["batch"] => batch::invoke(caller, argument),
        ["config", below @ ..] => command::invoke(caller, address, below, argument),
        ["watchService", below @ ..] => watch::invoke(caller, address, below, argument),
        ["alarm", below @ ..] => alarm::acknowledge(caller, address, below, argument),
        ["histories", below @ ..] => {
            caller.view(|scope| history::invoke(scope, address, below, argument))
        }
        [] | ["about"] | ["def" | "units", ..] => {
            Err(ObixError::Unsupported(format!("{} is no op", address.text)))
        }
        _ => Err(unknown(address)),
    }
}

/// Writes the property at an address and answers it as read again.
///
/// # Errors
/// When there is none, the value does not fit, or the user may not.
pub fn write(
    caller: &Caller<'_>,
    address: &Address,
    value: &Element,
) -> Result<Element, ObixError> {
    let names = address.names();
    match names.as_slice() {
        ["config", below @ ..] => command::write(caller, address, below, value),
        ["watchService", below @ ..] => watch::write(caller, address, below, value),
        []
        | [
            "about" | "batch" | "histories" | "def" | "units" | "alarm",
            ..,
        ] => Err(ObixError::Unsupported(format!(
            "{} cannot be written",
            address.text
        ))),
        _ => Err(unknown(address)),
    }
}

/// Virtual children exist on their owners only: at the lobby they have none (§3 rule 6).
fn unknown(address: &Address) -> ObixError {
    match address.names().as_slice() {
        [name] if name.starts_with('~') => {
            ObixError::Failed(format!("Cannot find lobby agent for {name}"))
        }
        _ => address.unknown(),
    }
}
