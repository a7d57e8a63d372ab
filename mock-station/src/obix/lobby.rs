//! `/obix/`: where clients start (oBIX specification §4.1).

use super::element::Element;
use super::scope::Scope;
use super::{config, watch};

/// The lobby with what this user may see.
pub fn object(scope: &Scope<'_>) -> Element {
    let station = scope.station;
    let mut lobby = Element::new("obj")
        .with("is", "obix:Lobby")
        .with("display", "Obix Lobby")
        .with_child(
            Element::named("ref", "about")
                .with("href", "about/")
                .with("is", "obix:About")
                .with("displayName", "About"),
        )
        .with_child(batch_op())
        .with_child(watch::reference());
    if let Some(root) = station.component(station.root())
        && scope.can_read(root.handle())
    {
        lobby
            .children
            .push(config::reference_from_lobby(scope, root, "config"));
    }
    lobby.children.push(
        Element::named("ref", "histories")
            .with("href", "histories/")
            .with("displayName", "Histories"),
    );
    let service = station.service("alarm:AlarmService");
    if let Some(service) = service.and_then(|handle| station.component(handle))
        && scope.can_read(service.handle())
    {
        lobby
            .children
            .push(config::reference_from_lobby(scope, service, "alarms"));
    }
    lobby
}

/// The op that carries many requests in one.
pub fn batch_op() -> Element {
    Element::named("op", "batch")
        .with("href", "batch/")
        .with("in", "obix:BatchIn")
        .with("out", "obix:BatchOut")
        .with("displayName", "Batch")
}
