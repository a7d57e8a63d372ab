//! `/obix/histories/`: devices, their histories, and what can be asked of them (oBIX specification §10).

mod filter;
mod preset;
mod query;
mod rollup;

pub use filter::Filter;

use super::address::Address;
use super::element::Element;
use super::error::ObixError;
use super::scope::Scope;
use super::time::abstime;
use crate::model::History;
use crate::model::slot_name;

/// Reads below `histories/`: the devices, the histories of one, a history, or a query with its filter in the URL.
///
/// # Errors
/// When there is nothing, or not for this user.
pub fn read(scope: &Scope<'_>, address: &Address, names: &[&str]) -> Result<Element, ObixError> {
    match names {
        [] => Ok(devices(scope)),
        [device] => device_list(scope, device, address),
        [device, name] => find(scope, device, name, address).map(|found| object(scope, found)),
        [device, name, "~historyQuery"] => {
            let found = find(scope, device, name, address)?;
            let filter = Filter::of_parameters(address, found.time_zone)?;
            Ok(query::answer(scope, found, &filter, href(scope, found)))
        }
        [device, name, child] if is_virtual(child) => {
            find(scope, device, name, address)?;
            Err(ObixError::Unsupported(format!(
                "{} cannot be read",
                address.text
            )))
        }
        _ => Err(address.unknown()),
    }
}

/// Invokes the ops of a history.
///
/// # Errors
/// When there is no such op, its argument does not fit, or the user may not.
pub fn invoke(
    scope: &Scope<'_>,
    address: &Address,
    names: &[&str],
    argument: Option<&Element>,
) -> Result<Element, ObixError> {
    let [device, name, op] = names else {
        return match names {
            [] | [_] | [_, _] => Err(ObixError::Unsupported(format!("{} is no op", address.text))),
            _ => Err(address.unknown()),
        };
    };
    let found = find(scope, device, name, address)?;
    match *op {
        "~historyQuery" => {
            let filter = Filter::of_argument(argument, found.time_zone)?;
            Ok(query::answer(scope, found, &filter, href(scope, found)))
        }
        "~historyRollup" => {
            let filter = Filter::of_argument(argument, found.time_zone)?;
            let interval = filter::interval(argument)?;
            rollup::answer(scope, found, &filter, interval)
        }
        "~historyAppend" => Err(ObixError::Permission(format!(
            "{} may not append to {}",
            scope.user.name, found.id
        ))),
        "~historyFeed" => Err(ObixError::Unsupported(format!(
            "{} is a feed and no op",
            address.text
        ))),
        _ => Err(address.unknown()),
    }
}

fn is_virtual(name: &str) -> bool {
    matches!(name, "~historyRollup" | "~historyAppend" | "~historyFeed")
}

fn readable(scope: &Scope<'_>, history: &History) -> bool {
    history.point.is_none_or(|point| scope.can_read(point))
}

fn find<'a>(
    scope: &Scope<'a>,
    device: &str,
    name: &str,
    address: &Address,
) -> Result<&'a History, ObixError> {
    let id = format!("/{device}/{name}");
    let found = scope.station.histories.get(&id);
    let found = found.ok_or_else(|| address.unknown())?;
    if readable(scope, found) {
        Ok(found)
    } else {
        Err(scope.denied(&address.text))
    }
}

fn devices(scope: &Scope<'_>) -> Element {
    let histories = &scope.station.histories;
    let mut object = Element::new("obj").with("display", "Obix Histories");
    object.children.extend(
        histories
            .devices()
            .into_iter()
            .filter(|device| histories.of_device(device).any(|one| readable(scope, one)))
            .map(|device| {
                Element::new("ref")
                    .into_member(device)
                    .with("display", "BHistoryDevice")
                    .with("displayName", slot_name::unescape(device))
            }),
    );
    object
}

fn device_list(scope: &Scope<'_>, device: &str, address: &Address) -> Result<Element, ObixError> {
    let mut known = scope.station.histories.of_device(device).peekable();
    if known.peek().is_none() {
        return Err(address.unknown());
    }
    let mut object = Element::new("obj").with("display", "BHistoryDevice");
    object
        .children
        .extend(known.filter(|one| readable(scope, one)).map(|one| {
            Element::new("ref")
                .into_member(one.name())
                .with("is", "obix:History")
                .with("display", "BLocalHistory")
                .with("displayName", slot_name::unescape(one.name()))
        }));
    if object.children.is_empty() {
        return Err(scope.denied(&address.text));
    }
    Ok(object)
}

fn object(scope: &Scope<'_>, history: &History) -> Element {
    let bounds = history.bounds(scope.now);
    let zone = history.time_zone;
    let op = |tag, name, href: &str| Element::named(tag, name).with("href", href);
    let mut object = Element::new("obj")
        .with("is", "obix:History")
        .with("display", "BLocalHistory")
        .with_child(Element::value(
            "int",
            "count",
            history.count(scope.now).to_string(),
        ))
        .with_child(abstime(bounds.map(|(first, _)| first), zone).with_name("start"))
        .with_child(abstime(bounds.map(|(_, last)| last), zone).with_name("end"))
        .with_child(
            op("op", "query", "~historyQuery/")
                .with("in", "/obix/def/obix:HistoryFilter")
                .with("out", "/obix/def/obix:HistoryQueryOut"),
        )
        .with_child(
            op("op", "rollup", "~historyRollup/")
                .with("in", "/obix/def/obix:HistoryRollupIn")
                .with("out", "/obix/def/obix:HistoryRollupOut"),
        )
        .with_child(
            op("feed", "feed", "~historyFeed/")
                .with("in", "/obix/def/obix:HistoryFilter")
                .with("of", "/obix/def/obix:HistoryRecord"),
        )
        .with_child(
            op("op", "append", "~historyAppend/")
                .with("in", "/obix/def/obix:HistoryAppendIn")
                .with("out", "/obix/def/obix:HistoryAppendOut"),
        );
    object
        .children
        .extend(preset::references(scope.now, scope.station.zone()));
    object
}

/// The absolute href of a history.
fn href(scope: &Scope<'_>, history: &History) -> String {
    format!(
        "{}/obix/histories/{}/{}/",
        scope.origin,
        history.device(),
        history.name()
    )
}
