//! Components, values and extensions that are added: names, types, who may, and what is left when things go wrong.

use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::accounts;
use mock_station::model::audit::AuditOperation;
use mock_station::model::{Flags, Value};
use mock_station::server::WriteOutcome;
use niagara_bridge::station::error::StationError;
use niagara_bridge::station::facade::{
    CreatedSlot, FacadeError, NameStrategy, NewSlot, Reread, StationFacade, StructureError,
    WriteError,
};

use crate::mock::scope;
use crate::site::{Site, facade, ord, site};

const LOGIC: &str = "slot:/Logic";
const POINT: &str = "slot:/Logic/Setpoint";

fn new(type_spec: &str, name: &str, strategy: NameStrategy) -> NewSlot {
    NewSlot {
        type_spec: type_spec.to_owned(),
        name: name.to_owned(),
        strategy,
    }
}

impl Site {
    async fn create(&self, type_spec: &str, name: &str) -> Result<CreatedSlot, StructureError> {
        let new = new(type_spec, name, NameStrategy::Fail);
        self.admin
            .create_component(&scope(), &ord(LOGIC), &new)
            .await
    }

    async fn extend(&self, type_spec: &str, name: &str) -> Result<CreatedSlot, StructureError> {
        let new = new(type_spec, name, NameStrategy::Fail);
        self.admin.add_extension(&scope(), &ord(POINT), &new).await
    }

    /// Changes pass, then one meets a fault.
    fn break_write_after(&self, passing: u32, kind: FaultKind) {
        let fault = Fault::new(kind).on(Interface::Box).on_writes();
        let fault = fault.after(passing).requests(1);
        self.frozen.station.faults().set(fault).expect("a fault");
    }

    fn has(&self, path: &str) -> bool {
        let station = self.frozen.station.station().read();
        station.resolve(path).is_ok()
    }
}

#[tokio::test]
async fn a_component_is_added_in_the_users_name_with_one_message() {
    let site = site().await;
    let logic = site.handle(LOGIC);
    let created = site.create("baja:Folder", "Floor 1").await.expect("added");
    assert_eq!(created.ord, "station:|slot:/Logic/Floor$201");
    assert_eq!(
        (
            created.display_name.as_str(),
            created.resolved_name.as_str()
        ),
        ("Floor 1", "Floor$201")
    );
    assert_eq!(created.requested_name, "Floor 1");
    assert_eq!(created.observed, Ok("baja:Folder".to_owned()));
    assert_eq!(
        site.writes(),
        [(format!("a {logic}/Floor$201"), WriteOutcome::Done)]
    );
    let audit = site.frozen.station.audit_of("admin");
    let entry = audit
        .iter()
        .find(|entry| entry.operation == AuditOperation::Added);
    let entry = entry.expect("the station's own record");
    assert_eq!(
        (entry.target.as_str(), entry.slot.as_str()),
        ("slot:/Logic", "Floor$201")
    );
}

#[tokio::test]
async fn values_of_every_simple_type_and_structs_can_be_added() {
    let site = site().await;
    for (number, (type_spec, held)) in [
        ("baja:String", ""),
        ("baja:Boolean", "false"),
        ("baja:Integer", "0"),
        ("baja:Long", "0"),
        ("baja:Float", "0.0"),
        ("baja:Double", "0.0"),
        ("baja:RelTime", "0"),
        ("baja:Facets", ""),
        ("baja:Ord", "null"),
        ("baja:DynamicEnum", "0"),
        ("baja:EnumRange", "{}"),
        ("baja:NameMap", "{}"),
        ("baja:Unit", "null;;;;"),
        ("baja:Status", "0"),
        ("alarm:SourceState", "normal"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("value{number}");
        let created = site.create(type_spec, &name).await;
        let created = created.unwrap_or_else(|error| panic!("{type_spec}: {error}"));
        assert_eq!(created.ord, format!("station:|slot:/Logic/{name}"));
        assert_eq!(created.observed, Ok(type_spec.to_owned()));
        assert_eq!(site.held(LOGIC, &name), held, "{type_spec}");
    }
    site.create("baja:StatusNumeric", "struct")
        .await
        .expect("a struct");
    assert_eq!(site.held(LOGIC, "struct/value"), "0.0");
}

#[tokio::test]
async fn a_taken_name_is_refused_or_numbered() {
    let site = site().await;
    let error = site.create("baja:Folder", "Fan").await.expect_err("taken");
    assert_eq!(
        error,
        StructureError::NameTaken {
            parent: "station:|slot:/Logic".into(),
            name: "Fan".into()
        }
    );
    let extended = new("baja:String", "out", NameStrategy::Fail);
    let frozen = site
        .admin
        .create_component(&scope(), &ord(POINT), &extended)
        .await;
    assert!(
        matches!(frozen, Err(StructureError::NameTaken { .. })),
        "a slot of the type, at its default, has the name as well"
    );
    assert_eq!(site.writes(), []);
    let folder = new("baja:Folder", "Fan", NameStrategy::Suffix);
    for expected in ["Fan_2", "Fan_3"] {
        let created = site
            .admin
            .create_component(&scope(), &ord(LOGIC), &folder)
            .await;
        let created = created.expect("numbered");
        assert_eq!(created.resolved_name, expected);
        assert_eq!(created.requested_name, "Fan");
        assert_eq!(created.ord, format!("station:|slot:/Logic/{expected}"));
        assert!(site.has(&format!("slot:/Logic/{expected}")));
    }
}

#[tokio::test]
async fn what_cannot_be_made_is_refused_before_anything_is_sent() {
    let site = site().await;
    for (type_spec, part) in [
        ("Folder", "module:Type"),
        ("baja:NoSuchType", "does not have it"),
        ("control:ControlPoint", "abstract"),
        ("baja:IStatus", "interface"),
    ] {
        let error = site.create(type_spec, "New").await.expect_err("refused");
        assert!(
            matches!(error, StructureError::UnusableType { .. }),
            "{type_spec}: {error:?}"
        );
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = site.create("baja:Folder", " ").await.expect_err("refused");
    assert!(matches!(error, StructureError::BadName { .. }), "{error:?}");
    for parent in ["slot:/Nowhere", "slot:/Logic/Simples/string"] {
        let folder = new("baja:Folder", "New", NameStrategy::Fail);
        let refused = site
            .admin
            .create_component(&scope(), &ord(parent), &folder)
            .await;
        let error = refused.expect_err("refused");
        assert!(
            matches!(
                error,
                StructureError::Write(WriteError::Facade(
                    FacadeError::Station(StationError::NotFound { .. })
                        | FacadeError::NotAComponent { .. }
                ))
            ),
            "{parent}: {error:?}"
        );
    }
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn the_station_decides_who_may_add() {
    let site = site().await;
    for account in [accounts::VIEWER, accounts::OPERATOR, accounts::BRIDGE] {
        let facade = facade(&site.frozen, account);
        let folder = new("baja:Folder", "New", NameStrategy::Fail);
        let refused = facade
            .create_component(&scope(), &ord(LOGIC), &folder)
            .await;
        let error = refused.expect_err("refused");
        assert!(
            matches!(
                error,
                StructureError::Write(WriteError::Facade(FacadeError::Station(
                    StationError::PermissionDenied { .. } | StationError::NotFound { .. }
                )))
            ),
            "{}: {error:?}",
            account.user
        );
    }
    assert!(!site.has("slot:/Logic/New"));
}

/// A folder in which the builder cannot see that the name `Hidden` is taken, as if somebody had taken it after the
/// check.
fn with_hidden_folder(site: &Site) -> StationFacade {
    let logic = site.handle(LOGIC);
    let hidden = {
        let mut station = site.frozen.station.station().write();
        let hidden = station.add(logic, Some("Hidden"), "baja:Folder");
        hidden.expect("a folder")
    };
    site.builder_without(hidden)
}

#[tokio::test]
async fn a_name_that_is_taken_between_check_and_addition_leaves_nothing_behind() {
    let site = site().await;
    let builder = with_hidden_folder(&site);
    let logic = site.handle(LOGIC);
    let before = site.frozen.station.station().read().component_count();
    let folder = new("baja:Folder", "Hidden", NameStrategy::Fail);
    let refused = builder
        .create_component(&scope(), &ord(LOGIC), &folder)
        .await;
    assert_eq!(
        refused,
        Err(StructureError::NameTaken {
            parent: "station:|slot:/Logic".into(),
            name: "Hidden".into()
        })
    );
    let writes = site.writes();
    assert_eq!(writes.len(), 2, "added, and removed again: {writes:?}");
    assert_eq!(writes[0].0, format!("a {logic}/Hidden"));
    assert!(writes[1].0.starts_with(&format!("v {logic}/Hidden")));
    let after = site.frozen.station.station().read().component_count();
    assert_eq!(before, after);

    let folder = new("baja:Folder", "Hidden", NameStrategy::Suffix);
    let created = builder
        .create_component(&scope(), &ord(LOGIC), &folder)
        .await;
    let created = created.expect("under the station's name");
    assert_ne!(created.resolved_name, "Hidden");
    assert!(site.has(&format!("slot:/Logic/{}", created.resolved_name)));
}

#[tokio::test]
async fn what_could_not_be_taken_back_is_named() {
    let site = site().await;
    let builder = with_hidden_folder(&site);
    let folder = new("baja:Folder", "Hidden", NameStrategy::Fail);
    // The first change passes, the second meets the fault.
    site.break_write_after(1, FaultKind::Cut);
    let refused = builder
        .create_component(&scope(), &ord(LOGIC), &folder)
        .await;
    let Err(StructureError::LeftBehind { found, name, .. }) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(name, "Hidden");
    assert!(site.has(&format!("slot:/Logic/{found}")));
}

#[tokio::test]
async fn an_addition_whose_answer_is_lost_is_in_doubt_and_not_repeated() {
    let site = site().await;
    for (number, (kind, acted)) in [
        (FaultKind::Cut, false),
        (FaultKind::CutAfter, true),
        (FaultKind::HalfBody { bytes: None }, true),
        (FaultKind::HtmlPage, false),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("Doubt{number}");
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let error = site
            .create("baja:Folder", &name)
            .await
            .expect_err("in doubt");
        let StructureError::Write(WriteError::InDoubt { target, reread, .. }) = &error else {
            panic!("{kind:?}: {error:?}");
        };
        assert_eq!(target, &format!("station:|slot:/Logic/{name}"));
        assert_eq!(reread, &Reread::Exists(acted), "{kind:?}");
        assert_eq!(site.writes().len(), 1, "{kind:?}");
        assert_eq!(site.has(&format!("slot:/Logic/{name}")), acted);
    }
}

#[tokio::test]
async fn an_extension_is_added_to_a_point_that_takes_it() {
    let site = site().await;
    let extension = "history:NumericCovHistoryExt";
    let added = site.extend(extension, "Trend").await.expect("added");
    assert_eq!(added.ord, "station:|slot:/Logic/Setpoint/Trend");
    assert_eq!(added.observed, Ok(extension.to_owned()));
    let numbered = new(extension, "Trend", NameStrategy::Suffix);
    let numbered = site
        .admin
        .add_extension(&scope(), &ord(POINT), &numbered)
        .await;
    assert_eq!(numbered.expect("added").resolved_name, "Trend_2");
    site.writes();
    let taken = site.extend(extension, "Trend").await.expect_err("taken");
    assert!(
        matches!(taken, StructureError::NameTaken { .. }),
        "{taken:?}"
    );
    for (type_spec, name, part) in [
        ("baja:Folder", "New", "no point extension"),
        ("baja:String", "New", "no point extension"),
        (extension, "proxyExt", "part of the point itself"),
    ] {
        let error = site.extend(type_spec, name).await.expect_err("refused");
        assert!(
            matches!(error, StructureError::NotApplicable { .. }),
            "{type_spec}: {error:?}"
        );
        assert!(error.to_string().contains(part), "{error}");
    }
    let unknown = site.extend("history:NoSuchExt", "New").await;
    assert!(
        matches!(unknown, Err(StructureError::UnusableType { .. })),
        "{unknown:?}"
    );
    let on_folder = new(extension, "New", NameStrategy::Fail);
    let on_folder = site
        .admin
        .add_extension(&scope(), &ord(LOGIC), &on_folder)
        .await;
    let Err(StructureError::NotApplicable {
        parent_type,
        reason,
        ..
    }) = on_folder
    else {
        panic!("a folder takes no extensions");
    };
    assert_eq!(parent_type, "baja:Folder");
    assert!(reason.contains("control points"), "{reason}");
    assert_eq!(site.writes(), [], "nothing was sent");
}

#[tokio::test]
async fn the_stations_refusal_of_an_extension_is_told_in_its_words() {
    let site = site().await;
    let logic_point = "slot:/Logic/Fan";
    let wrong = new("history:NumericCovHistoryExt", "Trend", NameStrategy::Fail);
    let refused = site
        .admin
        .add_extension(&scope(), &ord(logic_point), &wrong)
        .await;
    let error = refused.expect_err("a boolean point takes no numeric history");
    let StructureError::NotApplicable { reason, .. } = &error else {
        panic!("{error:?}");
    };
    let writes = site.writes();
    let [(_, WriteOutcome::Refused(text))] = writes.as_slice() else {
        panic!("{writes:?}");
    };
    assert_eq!(reason, text);
    let viewer = facade(&site.frozen, accounts::VIEWER);
    let right = new("history:BooleanCovHistoryExt", "Trend", NameStrategy::Fail);
    let denied = viewer
        .add_extension(&scope(), &ord(logic_point), &right)
        .await;
    assert!(
        matches!(
            denied,
            Err(StructureError::Write(WriteError::Facade(
                FacadeError::Station(StationError::PermissionDenied { .. })
            )))
        ),
        "{denied:?}"
    );
}

#[tokio::test]
async fn a_station_without_a_type_registry_is_added_to_all_the_same() {
    let site = site().await;
    let switches = site.frozen.station.switches();
    switches.change(|switches| switches.boxs.registry = false);
    site.create("baja:Folder", "Plain")
        .await
        .expect("a stock type");
    assert!(site.has("slot:/Logic/Plain"));
    site.extend("history:NumericCovHistoryExt", "Trend")
        .await
        .expect("a stock type");
    let unknown = site.create("acme:Gadget", "New").await;
    assert!(
        matches!(unknown, Err(StructureError::UnusableType { .. })),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn components_are_named_by_handle_as_well() {
    let site = site().await;
    let logic = ord(&format!("h:{}", site.handle(LOGIC)));
    let folder = new("baja:Folder", "Below", NameStrategy::Fail);
    let created = site.admin.create_component(&scope(), &logic, &folder).await;
    assert_eq!(created.expect("added").ord, "station:|slot:/Logic/Below");
    let mut station = site.frozen.station.station().write();
    let below = station
        .resolve_component("slot:/Logic/Below")
        .expect("there");
    let value = Value::from("x");
    station
        .add_value(below, Some("note"), value, Flags::NONE, None)
        .expect("a slot");
}
