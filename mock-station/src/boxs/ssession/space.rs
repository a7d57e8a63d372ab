//! The handler keys of a component space (Station web specification §4.5).

use serde_json::Value;

use super::{action, link, load, lookup, path, subscribe, sync};
use crate::boxs::call::{Call, bad_body};
use crate::boxs::error::BoxError;

/// One `callssc` message: the handler key and its argument.
pub struct HandlerCall<'a> {
    pub call: &'a Call<'a>,
    pub space: &'a str,
    /// `sck`.
    pub key: &'a str,
    /// `scarg`; null when absent.
    pub argument: &'a Value,
}

impl HandlerCall<'_> {
    pub fn text(&self, wanted: &str) -> Result<&str, BoxError> {
        self.argument
            .as_str()
            .ok_or_else(|| bad_body(self.key, wanted))
    }
}

/// Answers one handler call.
///
/// # Errors
/// For an unknown key, and whatever the handler refuses.
pub fn answer(handler: &HandlerCall<'_>) -> Result<Value, BoxError> {
    match handler.key {
        "loadRoot" => load::load_root(handler),
        "loadSlots" => load::load_slots(handler),
        "loadSlotPath" => path::load_slot_path(handler),
        "sub" => subscribe::subscribe(handler),
        "unsub" => subscribe::unsubscribe(handler),
        "syncTo" => sync::sync_to(handler),
        "invokeAction" => action::invoke(handler),
        "save" => action::save(handler),
        "checkLinks" | "checkLink" if handler.call.switches.boxs.check_links => {
            link::check_links(handler)
        }
        "makeLink" if handler.call.switches.boxs.make_link => link::make_link(handler),
        "getActionParameterDefault" => action::parameter_default(handler),
        "handleToPath" => lookup::handle_to_path(handler),
        "serviceToPath" => lookup::service_to_path(handler),
        "navChildren" => lookup::nav_children(handler),
        key => Err(BoxError::UnknownHandlerKey {
            space: handler.space.to_owned(),
            key: key.to_owned(),
        }),
    }
}
