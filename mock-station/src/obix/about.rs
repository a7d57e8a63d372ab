//! `/obix/about/` (oBIX specification §4.3).

use super::element::Element;
use super::scope::Scope;
use super::time::abstime;
use crate::model::slot_name;

/// What the station says about itself.
pub fn object(scope: &Scope<'_>) -> Element {
    let station = scope.station;
    let identity = &station.identity;
    let text = |tag, name, value: &str| (name, Element::new(tag).with("val", value));
    let zone = station.zone();
    let members = [
        text("str", "obixVersion", "1.1"),
        text("str", "serverName", &identity.host_name),
        ("serverTime", abstime(Some(scope.now), zone)),
        ("serverBootTime", abstime(Some(station.started()), zone)),
        text("str", "vendorName", &identity.vendor_name),
        text("uri", "vendorUrl", &identity.vendor_url),
        text("str", "productName", &identity.product_name),
        text("str", "productVersion", &identity.product_version),
        text("uri", "productUrl", &identity.product_url),
        text("str", "tz", zone.name()),
        // Counts come as text (§4.3).
        text(
            "str",
            "componentCount",
            &station.component_count().to_string(),
        ),
        text(
            "str",
            "localHistoryCount",
            &local_histories(scope).to_string(),
        ),
    ];
    let mut about = Element::new("obj")
        .with("is", "obix:About")
        .with("display", "Obix About");
    about
        .children
        .extend(members.into_iter().map(|(name, member)| {
            member
                .into_member(name)
                .with("displayName", slot_name::friendly(name))
        }));
    about
}

fn local_histories(scope: &Scope<'_>) -> usize {
    let name = slot_name::escape(&scope.station.name());
    scope.station.histories.of_device(&name).count()
}
