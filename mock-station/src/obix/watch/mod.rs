//! `/obix/watchService/`: watches (oBIX specification §7).

mod member;
mod store;

use super::address::Address;
use super::argument::milliseconds;
use super::element::Element;
use super::error::ObixError;
use super::scope::{Caller, Scope};
use super::time::duration_text;
use crate::server::ServerContext;
use store::{Ticket, WatchStore};

/// The ops of a watch with their contracts.
const OPS: [(&str, &str, &str); 5] = [
    ("add", "obix:WatchIn", "obix:WatchOut"),
    ("remove", "obix:WatchIn", "obix:Nil"),
    ("pollChanges", "obix:Nil", "obix:WatchOut"),
    ("pollRefresh", "obix:Nil", "obix:WatchOut"),
    ("delete", "obix:Nil", "obix:Nil"),
];

/// Number of watches whose lease has not run out.
pub fn count(context: &ServerContext) -> usize {
    let store = context.servlet_state::<WatchStore>();
    store.numbers(context.now()).len()
}

/// The ref that the lobby has.
pub fn reference() -> Element {
    Element::named("ref", "watchService")
        .with("href", "watchService/")
        .with("is", "obix:WatchService")
        .with("displayName", "Watch Service")
}

/// The service, a watch of this user, or a part of either.
///
/// # Errors
/// When there is none, or the watch is another user's.
pub fn read(caller: &Caller<'_>, address: &Address, names: &[&str]) -> Result<Element, ObixError> {
    let store = caller.context.servlet_state::<WatchStore>();
    match names {
        [] => Ok(service(caller, &store)),
        ["make"] => Ok(make_op()),
        ["defaultLeaseTime"] => Ok(lease_element(store.default_lease())),
        [name] => {
            let ticket = ticket(caller, &store, address, name)?;
            Ok(object(caller, &ticket))
        }
        [name, "lease"] => {
            let ticket = ticket(caller, &store, address, name)?;
            Ok(lease_element(ticket.lease))
        }
        [name, op] => {
            ticket(caller, &store, address, name)?;
            op_of(op).ok_or_else(|| address.unknown())
        }
        _ => Err(address.unknown()),
    }
}

/// Makes a watch, or invokes an op of one; every op renews the lease.
///
/// # Errors
/// When there is no such op or watch, the watch is another user's, or the argument names no hrefs.
pub fn invoke(
    caller: &Caller<'_>,
    address: &Address,
    names: &[&str],
    body: Option<&Element>,
) -> Result<Element, ObixError> {
    let store = caller.context.servlet_state::<WatchStore>();
    let nothing = || Element::new("obj").with("null", "true");
    match names {
        ["make"] => {
            let ticket = store.make(&caller.user.name, caller.context.now());
            Ok(object(caller, &ticket))
        }
        [name, op] if op_of(op).is_some() => {
            let ticket = ticket(caller, &store, address, name)?;
            match *op {
                "add" => member::add(caller, &ticket, body),
                "remove" => member::remove(&ticket, body).map(|()| nothing()),
                "pollChanges" => Ok(member::changes(caller, &ticket)),
                "pollRefresh" => Ok(member::refresh(caller, &ticket)),
                _ => {
                    store.delete(ticket.number);
                    Ok(nothing())
                }
            }
        }
        [] | ["defaultLeaseTime"] | [_, "lease"] => {
            Err(ObixError::Unsupported(format!("{} is no op", address.text)))
        }
        [name] => {
            ticket(caller, &store, address, name)?;
            Err(ObixError::Unsupported(format!("{} is no op", address.text)))
        }
        _ => Err(address.unknown()),
    }
}

/// Sets the lease of a watch, or the lease that new watches get: a duration, or a bare number of milliseconds.
///
/// # Errors
/// When there is nothing to write, the watch is another user's, or the value is no positive duration.
pub fn write(
    caller: &Caller<'_>,
    address: &Address,
    names: &[&str],
    value: &Element,
) -> Result<Element, ObixError> {
    let store = caller.context.servlet_state::<WatchStore>();
    let number = match names {
        ["defaultLeaseTime"] => None,
        [name, "lease"] => Some(ticket(caller, &store, address, name)?.number),
        _ => {
            return Err(ObixError::Unsupported(format!(
                "{} cannot be written",
                address.text
            )));
        }
    };
    let text = value.get("val").unwrap_or_default();
    let lease = milliseconds(text)
        .and_then(chrono::TimeDelta::try_milliseconds)
        .filter(|lease| *lease > chrono::TimeDelta::zero())
        .ok_or_else(|| {
            ObixError::Failed(format!(
                "Invalid lease {text:?}: a positive duration is needed"
            ))
        })?;
    match number {
        Some(number) => store.set_lease(number, lease),
        None => store.set_default_lease(lease),
    }
    read(caller, address, names)
}

fn ticket(
    caller: &Caller<'_>,
    store: &WatchStore,
    address: &Address,
    name: &str,
) -> Result<Ticket, ObixError> {
    let number = name.strip_prefix("watch").filter(|digits| {
        // `watch07` and `watch+7` name no watch.
        !digits.starts_with(['0', '+'])
    });
    let number = number.and_then(|digits| digits.parse().ok());
    let ticket = number.and_then(|number| store.renew(number, caller.context.now()));
    let ticket = ticket.ok_or_else(|| address.unknown())?;
    if ticket.owner == caller.user.name {
        return Ok(ticket);
    }
    Err(ObixError::Permission(format!(
        "{} may not use {}, which another user made",
        caller.user.name, address.text
    )))
}

fn service(caller: &Caller<'_>, store: &WatchStore) -> Element {
    let mut service = Element::new("obj")
        .with("is", "obix:WatchService")
        .with("display", "Obix Watch Service")
        .with_child(lease_element(store.default_lease()).into_member("defaultLeaseTime"))
        .with_child(make_op().into_member("make"));
    let live = store.numbers(caller.context.now());
    service.children.extend(live.into_iter().map(|number| {
        Element::new("ref")
            .into_member(&format!("watch{number}"))
            .with("is", "obix:Watch")
    }));
    service
}

fn make_op() -> Element {
    Element::new("op")
        .with("in", "obix:Nil")
        .with("out", "obix:Watch")
}

fn op_of(name: &str) -> Option<Element> {
    let (_, input, output) = OPS.iter().find(|(op, ..)| *op == name)?;
    Some(Element::new("op").with("in", *input).with("out", *output))
}

fn lease_element(lease: chrono::TimeDelta) -> Element {
    Element::new("reltime")
        .with("val", duration_text(lease.num_milliseconds()))
        .with("writable", "true")
}

/// A watch; unlike other answers to ops this one has an `href`, which is how its maker learns its name.
fn object(caller: &Caller<'_>, ticket: &Ticket) -> Element {
    let href = format!(
        "{}/obix/watchService/watch{}/",
        caller.origin, ticket.number
    );
    let mut watch = Element::new("obj")
        .with("href", href.clone())
        .with("is", "obix:Watch")
        .with("display", "Obix Watch")
        .with_child(
            lease_element(ticket.lease)
                .with_name("lease")
                .with("href", format!("{href}lease/")),
        );
    watch.children.extend(OPS.iter().filter_map(|(name, ..)| {
        let op = op_of(name)?;
        Some(op.with_name(name).with("href", format!("{href}{name}/")))
    }));
    watch
}

/// The object at an address as watches see it: what has no state of its own, or costs a query, is not watched.
fn watched(caller: &Caller<'_>, address: &Address) -> Result<Element, ObixError> {
    let names = address.names();
    let unsupported = || ObixError::Unsupported(format!("{} cannot be watched", address.text));
    match names.as_slice() {
        ["config", below @ .., "~alarmFeed"] => caller.view(|scope: &Scope<'_>| {
            let of = super::config::resolve(scope, address, below)?;
            super::alarm::feed(scope, &of, address)
        }),
        ["watchService", ..] => Err(unsupported()),
        [.., last] if last.starts_with('~') => Err(unsupported()),
        _ => super::dispatch::read(caller, address),
    }
}
