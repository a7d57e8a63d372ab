//! Adding, removing and polling what a watch observes (oBIX specification §7.3, §7.4).

use super::super::address::Address;
use super::super::element::Element;
use super::super::error::ObixError;
use super::super::scope::Caller;
use super::store::{Member, Ticket};
use super::watched;

/// Subscribes hrefs and answers each in its place: its object, or an error that does not affect the others.
///
/// # Errors
/// When the argument has no list.
pub fn add(
    caller: &Caller<'_>,
    ticket: &Ticket,
    body: Option<&Element>,
) -> Result<Element, ObixError> {
    let mut members = ticket.members.lock();
    let mut values = Vec::new();
    for item in items(body)? {
        let href = item.get("val").unwrap_or_default();
        let value = match present(caller, item, href) {
            Ok(value) => value,
            Err(error) => {
                values.push(error.element(href));
                continue;
            }
        };
        values.push(value.clone());
        match members.iter_mut().find(|member| member.href == href) {
            Some(known) => known.told = value,
            None => members.push(Member {
                href: href.to_owned(),
                told: value,
            }),
        }
    }
    Ok(watch_out(values))
}

/// Ends subscriptions, in any spelling of their hrefs; what is not subscribed is passed over.
///
/// # Errors
/// When the argument has no list.
pub fn remove(ticket: &Ticket, body: Option<&Element>) -> Result<(), ObixError> {
    let segments = |href: &str| Address::of_href(href).map(|address| address.segments).ok();
    let gone: Vec<_> = items(body)?
        .iter()
        .filter_map(|item| segments(item.get("val")?))
        .collect();
    ticket
        .members
        .lock()
        .retain(|member| segments(&member.href).is_none_or(|own| !gone.contains(&own)));
    Ok(())
}

/// What is different from what was last told; what vanished is told once, as an error.
pub fn changes(caller: &Caller<'_>, ticket: &Ticket) -> Element {
    let mut news = Vec::new();
    for member in ticket.members.lock().iter_mut() {
        let value = reread(caller, &member.href);
        if value == member.told {
            continue;
        }
        news.push(match &*value.tag {
            "feed" => new_events(&value, &member.told),
            _ => value.clone(),
        });
        member.told = value;
    }
    watch_out(news)
}

/// All present values.
pub fn refresh(caller: &Caller<'_>, ticket: &Ticket) -> Element {
    let mut values = Vec::new();
    for member in ticket.members.lock().iter_mut() {
        member.told = reread(caller, &member.href);
        values.push(member.told.clone());
    }
    watch_out(values)
}

/// The hrefs of an `obix:WatchIn`, by whatever name the list has.
fn items(body: Option<&Element>) -> Result<&[Element], ObixError> {
    let list = body.and_then(|body| {
        let mut children = body.children.iter();
        match &*body.tag {
            "list" => Some(body),
            _ => body
                .child("hrefs")
                .or_else(|| children.find(|child| child.tag == "list")),
        }
    });
    list.map(|list| list.children.as_slice())
        .ok_or_else(|| ObixError::Failed("Invalid WatchIn: a list of hrefs is needed".into()))
}

fn present(caller: &Caller<'_>, item: &Element, href: &str) -> Result<Element, ObixError> {
    if item.tag != "uri" {
        return Err(ObixError::Failed(format!(
            "Invalid WatchIn: a uri is needed, not {}",
            item.tag
        )));
    }
    read(caller, href)
}

fn reread(caller: &Caller<'_>, href: &str) -> Element {
    read(caller, href).unwrap_or_else(|error| error.element(href))
}

fn read(caller: &Caller<'_>, href: &str) -> Result<Element, ObixError> {
    let address = Address::of_href(href)?;
    let mut value = watched(caller, &address)?;
    root_below(&mut value, &address.canonical());
    value.set("href", href);
    Ok(value)
}

/// Makes the hrefs of everything below server-absolute: a member's own base is not that of the document (§7.3).
fn root_below(element: &mut Element, base: &str) {
    absolute(element, "range", base);
    for child in &mut element.children {
        absolute(child, "href", base);
        // What has no href of its own has the base of what it is in (§3 rule 2).
        let own = child.get("href").unwrap_or(base).to_owned();
        absolute(child, "range", base);
        root_below(child, &own);
    }
}

fn absolute(element: &mut Element, key: &'static str, base: &str) {
    let relative = element
        .get(key)
        .filter(|href| !href.starts_with('/') && !href.starts_with('#') && !href.contains(':'));
    if let Some(relative) = relative.map(|href| format!("{base}{href}")) {
        element.set(key, relative);
    }
}

/// A feed with those events only that were not told, or told differently.
fn new_events(feed: &Element, told: &Element) -> Element {
    let mut news = feed.clone();
    news.children.retain(|event| !told.children.contains(event));
    news
}

fn watch_out(values: Vec<Element>) -> Element {
    let mut list = Element::named("list", "values").with("of", "obix:obj");
    list.children = values;
    Element::new("obj")
        .with("is", "obix:WatchOut")
        .with_child(list)
}
