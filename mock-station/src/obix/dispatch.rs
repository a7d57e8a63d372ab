//! Which branch of the tree answers; requests and batch members come through here alike.

use super::address::Address;
use super::element::Element;
use super::error::ObixError;
use super::scope::Caller;
use super::{about, batch, config, definition, history, lobby, units};

/// Reads the object at an address; its href may still be missing.
///
/// # Errors
/// When there is none, or not for this user.
pub fn read(caller: &Caller<'_>, address: &Address) -> Result<Element, ObixError> {
    let names = address.names();
    caller.view(|scope| match names.as_slice() {
        [] => Ok(lobby::object(scope)),
        ["about"] => Ok(about::object(scope)),
        ["batch"] => Ok(lobby::batch_op()),
        ["config", below @ ..] => config::read(scope, address, below),
        ["histories", below @ ..] => history::read(scope, address, below),
        ["def", below @ ..] => definition::read(scope, address, below),
        ["units", below @ ..] => units::read(address, below),
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
        ["config", below @ ..] => caller.view(|scope| config::invoke(scope, address, below)),
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
    caller.view(|scope| match names.as_slice() {
        ["config", below @ ..] => config::write(scope, address, below, value),
        [] | ["about" | "batch" | "histories" | "def" | "units", ..] => Err(
            ObixError::Unsupported(format!("{} cannot be written", address.text)),
        ),
        _ => Err(unknown(address)),
    })
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
