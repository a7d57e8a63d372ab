//! `/obix/batch/`: many requests in one (oBIX specification §8).

use super::address::Address;
use super::dispatch;
use super::element::Element;
use super::error::ObixError;
use super::scope::Caller;

/// Answers each member in its place; a bad member does not affect the others.
///
/// # Errors
/// When the argument is no `list`.
pub fn invoke(caller: &Caller<'_>, argument: Option<&Element>) -> Result<Element, ObixError> {
    let list = argument
        .filter(|root| root.tag == "list")
        .ok_or_else(|| ObixError::Failed("Invalid batch: the root must be a list".into()))?;
    let mut answers = Element::new("list").with("of", "obix:BatchOut");
    answers.children.extend(list.children.iter().map(|member| {
        let href = member.get("val").unwrap_or_default();
        answer(caller, member, href).unwrap_or_else(|error| error.element(href))
    }));
    Ok(answers)
}

fn answer(caller: &Caller<'_>, member: &Element, href: &str) -> Result<Element, ObixError> {
    if member.tag != "uri" {
        return Err(ObixError::Failed(format!(
            "Invalid batch member: a uri is needed, not {}",
            member.tag
        )));
    }
    let address = Address::of_href(href)?;
    let operations = member.get("is").unwrap_or_default();
    let is = |contract: &str| operations.split_whitespace().any(|one| one == contract);
    let input = || {
        member
            .child("in")
            .ok_or_else(|| ObixError::Failed(format!("{href} needs a child named in")))
    };
    if is("obix:Read") {
        let read = dispatch::read(caller, &address)?;
        return Ok(read.with("href", href.strip_suffix('/').unwrap_or(href)));
    }
    if is("obix:Write") {
        return dispatch::write(caller, &address, input()?);
    }
    if is("obix:Invoke") {
        if address.names() == ["batch"] {
            return Err(ObixError::Unsupported("a batch within a batch".into()));
        }
        return dispatch::invoke(caller, &address, Some(input()?));
    }
    Err(ObixError::Unsupported(format!(
        "{operations:?} is none of obix:Read, obix:Write, obix:Invoke"
    )))
}
