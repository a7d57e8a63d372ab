//! Links that are made and removed: names, checks, converters, and what the station shows of them.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts;
use mock_station::server::WriteOutcome;
use mock_station::switches::LinkConversion;
use niagara_bridge::station::error::StationError;
use niagara_bridge::station::facade::{
    FacadeError, LinkState, MadeLink, NewLink, Reread, StructureError, WriteError,
};

use crate::mock::scope;
use crate::site::{Site, facade, ord, site};

const SETPOINT: &str = "slot:/Logic/Setpoint";
const LINKED: &str = "slot:/Logic/Linked";
const NOTE: &str = "slot:/Logic/Note";

fn new(source: &str, sink: &str, sink_slot: &str) -> NewLink {
    NewLink {
        source: ord(source),
        source_slot: "out".into(),
        sink: ord(sink),
        sink_slot: sink_slot.into(),
        name: None,
        converter: None,
    }
}

impl Site {
    async fn link(&self, new: &NewLink) -> Result<MadeLink, StructureError> {
        self.admin.link_slots(&scope(), new).await
    }

    fn refuse_conversions(&self) {
        let switches = self.frozen.station.switches();
        switches.change(|switches| switches.boxs.link_conversion = LinkConversion::Refused);
    }

    /// Source path and slots of a link in the station's own model.
    fn wire(&self, sink: &str, name: &str) -> Option<(String, String, String)> {
        let sink = self.handle(sink);
        let station = self.frozen.station.station().read();
        let links = station.links().to(sink);
        let link = links.iter().find(|link| &*link.slot == name)?;
        Some((
            station.slot_path(link.ends.source),
            link.ends.source_slot.to_string(),
            link.ends.target_slot.to_string(),
        ))
    }
}

#[tokio::test]
async fn slots_are_linked_under_a_name_made_of_the_source() {
    let site = site().await;
    let sink = site.handle(LINKED);
    for name in ["SetpointOutLink", "SetpointOutLink_2"] {
        let slot = if name.ends_with('2') { "in5" } else { "in4" };
        let made = site.link(&new(SETPOINT, LINKED, slot)).await.expect("made");
        assert_eq!(made.ord, format!("station:|slot:/Logic/Linked/{name}"));
        assert_eq!((made.state, made.check_note), (LinkState::Active, None));
        assert_eq!(made.converter, None);
        assert_eq!(made.sink_status.as_deref(), Some("{ok}"));
        assert_eq!(
            site.wire(LINKED, name),
            Some((SETPOINT.into(), "out".into(), slot.into()))
        );
        assert_eq!(
            site.writes(),
            [(format!("a {sink}/{name}"), WriteOutcome::Done)],
            "checks make no link by themselves"
        );
    }
    assert_eq!(
        site.input(LINKED, "in4").0,
        "20.0",
        "the value came through"
    );
}

#[tokio::test]
async fn a_wanted_name_is_kept_or_refused() {
    let site = site().await;
    let mut wanted = new(SETPOINT, LINKED, "in4");
    wanted.name = Some("From Setpoint".into());
    let made = site.link(&wanted).await.expect("made");
    assert_eq!(made.ord, "station:|slot:/Logic/Linked/From$20Setpoint");
    site.writes();
    wanted.sink_slot = "in5".into();
    let error = site.link(&wanted).await.expect_err("taken");
    assert_eq!(
        error,
        StructureError::NameTaken {
            parent: "station:|slot:/Logic/Linked".into(),
            name: "From$20Setpoint".into()
        }
    );
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn ends_that_are_not_there_are_named() {
    let site = site().await;
    let gone = site.link(&new("slot:/Nowhere", LINKED, "in4")).await;
    assert!(
        matches!(
            gone,
            Err(StructureError::Source(FacadeError::Station(
                StationError::NotFound { .. }
            )))
        ),
        "{gone:?}"
    );
    let value = site
        .link(&new(SETPOINT, "slot:/Logic/Simples/string", "in4"))
        .await;
    assert!(
        matches!(
            value,
            Err(StructureError::Sink(FacadeError::NotAComponent { .. }))
        ),
        "a property is no sink"
    );
    let slot = site.link(&new(SETPOINT, LINKED, "in17")).await;
    assert_eq!(
        slot,
        Err(StructureError::NoSlot {
            ord: "station:|slot:/Logic/Linked".into(),
            slot: "in17".into()
        })
    );
    let mut source = new(SETPOINT, LINKED, "in4");
    source.source_slot = "nothing".into();
    let source = site.link(&source).await;
    assert!(
        matches!(&source, Err(StructureError::NoSlot { ord, .. }) if ord.ends_with("Setpoint")),
        "{source:?}"
    );
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn slots_that_do_not_fit_are_refused_with_converters_that_may_help() {
    let site = site().await;
    site.refuse_conversions();
    let mut text = new(SETPOINT, NOTE, "in4");
    let error = site.link(&text).await.expect_err("refused");
    let StructureError::LinkRefused {
        converters, reason, ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert!(!reason.is_empty());
    let best = "converters:StatusNumericToStatusString";
    assert_eq!(converters.first().map(String::as_str), Some(best));
    assert!(error.to_string().contains(best), "{error}");
    assert_eq!(site.writes(), []);

    text.converter = Some(best.into());
    let made = site.link(&text).await.expect("made");
    assert_eq!(made.converter.as_deref(), Some(best));
    assert_eq!(made.state, LinkState::Active);
    assert_eq!(made.sink_status.as_deref(), Some("{ok}"));
    let note = made.check_note.expect("the check was overridden");
    assert!(note.contains(reason.as_str()), "{note}");
    assert!(
        site.input(NOTE, "in4").0.starts_with("20"),
        "{:?}",
        site.input(NOTE, "in4")
    );
}

#[tokio::test]
async fn a_wrong_converter_is_told_by_note_and_by_the_status_of_the_sink() {
    let site = site().await;
    site.refuse_conversions();
    let mut text = new(SETPOINT, NOTE, "in4");
    text.converter = Some("converters:StatusBooleanToStatusNumeric".into());
    let made = site.link(&text).await.expect("made all the same");
    let note = made.check_note.expect("a note");
    assert!(
        note.contains("converters:StatusNumericToStatusString"),
        "{note}"
    );
    let status = made.sink_status.expect("told");
    assert!(status.contains("fault"), "{status}");
    site.writes();

    for (converter, part) in [
        ("converters:NoSuchConverter", "does not have it"),
        ("baja:Folder", "no converter"),
    ] {
        text.converter = Some(converter.into());
        let error = site.link(&text).await.expect_err("refused");
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn the_stations_own_choice_of_converter_is_told() {
    let site = site().await;
    let made = site.link(&new(SETPOINT, NOTE, "in4")).await.expect("made");
    let converter = "converters:StatusNumericToStatusString";
    assert_eq!(made.converter.as_deref(), Some(converter));
    assert_eq!(made.state, LinkState::Active);
}

#[tokio::test]
async fn a_station_that_neither_checks_nor_makes_links_is_linked_unchecked() {
    let site = site().await;
    site.frozen.station.switches().change(|switches| {
        switches.boxs.check_links = false;
        switches.boxs.make_link = false;
    });
    let made = site
        .link(&new(SETPOINT, LINKED, "in4"))
        .await
        .expect("made");
    assert_eq!(made.state, LinkState::Active);
    let note = made.check_note.expect("a note");
    assert!(note.contains("does not check links"), "{note}");
    assert_eq!(site.input(LINKED, "in4").0, "20.0");
}

#[tokio::test]
async fn a_link_is_removed_with_its_ends_told() {
    let site = site().await;
    let made = site
        .link(&new(SETPOINT, LINKED, "in4"))
        .await
        .expect("made");
    assert!(made.ord.ends_with("/SetpointOutLink"));
    site.writes();
    let sink = site.handle(LINKED);
    let removed = site
        .admin
        .unlink_slots(&scope(), &ord(LINKED), "SetpointOutLink")
        .await
        .expect("removed");
    assert_eq!(removed.ord, "station:|slot:/Logic/Linked/SetpointOutLink");
    assert_eq!(
        removed.source.as_deref(),
        Some("station:|slot:/Logic/Setpoint")
    );
    assert_eq!(removed.sink, "station:|slot:/Logic/Linked");
    assert_eq!(
        (removed.source_slot.as_str(), removed.sink_slot.as_str()),
        ("out", "in4")
    );
    assert_eq!(removed.is_gone, Ok(true));
    assert_eq!(site.wire(LINKED, "SetpointOutLink"), None);
    assert_eq!(
        site.writes(),
        [(format!("v {sink}/SetpointOutLink"), WriteOutcome::Done)]
    );

    let again = site
        .admin
        .unlink_slots(&scope(), &ord(LINKED), "SetpointOutLink")
        .await;
    assert!(
        matches!(again, Err(StructureError::NoSuchLink { .. })),
        "{again:?}"
    );
    for slot in ["out", "proxyExt", "override"] {
        let refused = site.admin.unlink_slots(&scope(), &ord(LINKED), slot).await;
        assert!(
            matches!(refused, Err(StructureError::NotALink { .. })),
            "{slot}: {refused:?}"
        );
    }
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn a_link_whose_source_is_not_to_be_seen_can_still_be_removed() {
    let site = site().await;
    site.link(&new(SETPOINT, LINKED, "in4"))
        .await
        .expect("made");
    let builder = site.builder_without(site.handle(SETPOINT));
    let removed = builder
        .unlink_slots(&scope(), &ord(LINKED), "SetpointOutLink")
        .await
        .expect("removed");
    assert_eq!(removed.source, None);
    assert_eq!(removed.sink_slot, "in4");
    assert_eq!(site.wire(LINKED, "SetpointOutLink"), None);
}

#[tokio::test]
async fn only_who_may_change_the_sink_links_and_unlinks() {
    let site = site().await;
    site.link(&new(SETPOINT, LINKED, "in4"))
        .await
        .expect("made");
    let viewer = facade(&site.frozen, accounts::VIEWER);
    let denied = |error: &StructureError| {
        matches!(
            error,
            StructureError::Write(WriteError::Facade(FacadeError::Station(
                StationError::PermissionDenied { .. }
            )))
        )
    };
    let link = viewer
        .link_slots(&scope(), &new(SETPOINT, LINKED, "in5"))
        .await;
    let error = link.expect_err("refused");
    assert!(denied(&error), "{error:?}");
    let unlink = viewer
        .unlink_slots(&scope(), &ord(LINKED), "SetpointOutLink")
        .await;
    let error = unlink.expect_err("refused");
    assert!(
        denied(&error) || matches!(error, StructureError::NoSuchLink { .. }),
        "{error:?}"
    );
    assert!(site.wire(LINKED, "SetpointOutLink").is_some());
}

#[tokio::test]
async fn lost_answers_are_in_doubt_with_what_is_there_now() {
    let site = site().await;
    for (number, (kind, acted)) in [(FaultKind::Cut, false), (FaultKind::CutAfter, true)]
        .into_iter()
        .enumerate()
    {
        let slot = format!("in{}", number + 4);
        let mut link = new(SETPOINT, LINKED, &slot);
        link.name = Some(format!("L{number}"));
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let error = site.link(&link).await.expect_err("in doubt");
        assert!(
            matches!(
                &error,
                StructureError::Write(WriteError::InDoubt { reread: Reread::Exists(exists), .. })
                    if *exists == acted
            ),
            "{kind:?}: {error:?}"
        );
        assert_eq!(site.writes().len(), 1);
    }
    site.break_next_write(Interface::Box, FaultKind::CutAfter);
    let unlink = site.admin.unlink_slots(&scope(), &ord(LINKED), "L1").await;
    assert!(
        matches!(
            unlink,
            Err(StructureError::Write(WriteError::InDoubt {
                reread: Reread::Exists(false),
                ..
            }))
        ),
        "{unlink:?}"
    );
}
