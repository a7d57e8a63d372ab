//! Channel `ord`: resolving ords and paging tables (Station web specification §4.8, §4.9).

use serde_json::{Value, json};

use super::call::{Argument, Call};
use super::error::BoxError;
use super::node::NodeWriter;
use super::table::{self, Page};
use super::target::{self, Target};

pub fn answer(call: &Call<'_>) -> Result<Value, BoxError> {
    match call.key {
        "resolve" => resolve(call),
        "cursor" => cursor(call),
        _ => Err(call.unknown_key()),
    }
}

fn resolve(call: &Call<'_>) -> Result<Value, BoxError> {
    let argument = call.object()?;
    let (ord, base) = (argument.text("o")?, argument.optional_text("bo"));
    let page = match argument.get("c") {
        None | Some(Value::Null) => Page::default(),
        Some(cursor) => Page::read(&Argument::read(call.key, cursor)?)?,
    };
    let station = call.context.station.read();
    let user = call.account(&station)?;
    let unresolved = |reason: &str| BoxError::Unresolved {
        ord: ord.to_owned(),
        reason: reason.to_owned(),
    };
    let writer = NodeWriter::new(&station, user, &call.switches.boxs);
    let node = match target::resolve(&station, user, ord, base)? {
        Target::Table(query) => {
            let table = table::run(&station, user, &query, &call.switches.export)?;
            return Ok(table::first_page(&writer, &query, &table, page));
        }
        Target::Component(handle) => writer.component(handle, 0),
        Target::Property(handle, path) => match writer.property(handle, &path) {
            Some(node) => Some(node),
            None => {
                return Err(BoxError::Permission {
                    missing: "adminRead".to_owned(),
                    place: format!("{}/{path}", station.slot_path(handle)),
                });
            }
        },
    };
    let mut reply = json!({"o": null});
    reply["o"] = node.ok_or_else(|| unresolved("the component was removed"))?;
    Ok(reply)
}

fn cursor(call: &Call<'_>) -> Result<Value, BoxError> {
    let argument = call.object()?;
    let (query, page) = (argument.text("o")?, Page::read(&argument)?);
    let station = call.context.station.read();
    let user = call.account(&station)?;
    let writer = NodeWriter::new(&station, user, &call.switches.boxs);
    let table = table::run(&station, user, query, &call.switches.export)?;
    Ok(table::rows(&writer, &table, page))
}
