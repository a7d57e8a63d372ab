//! Removing components: links in both directions over the whole subtree are seen before anything is cut.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{self, Account};
use mock_station::model::audit::AuditOperation;
use mock_station::model::users::Role;
use mock_station::model::{Permissions, User};
use mock_station::server::WriteOutcome;
use niagara_bridge::station::error::StationError;
use niagara_bridge::station::facade::{
    FacadeError, RemovalSurvey, Reread, StructureError, WriteError,
};

use crate::mock::scope;
use crate::site::{SIMPLES, Site, facade, ord, site};

const PLANT: &str = "slot:/Logic/Plant";

/// A folder with a pump whose speed comes from the setpoint and goes to the linked point, with a trend, an alarm and
/// a schedule, and a link between two points inside.
fn plant(site: &Site) {
    let mut station = site.frozen.station.station().write();
    let resolve = |station: &mock_station::model::Station, path: &str| {
        station.resolve_component(path).expect("there")
    };
    let logic = resolve(&station, "slot:/Logic");
    let setpoint = resolve(&station, "slot:/Logic/Setpoint");
    let linked = resolve(&station, "slot:/Logic/Linked");
    let mut add = |parent, name: &str, spec: &str| {
        station.add(parent, Some(name), spec).expect("a component")
    };
    let plant = add(logic, "Plant", "baja:Folder");
    let pump = add(plant, "Pump", "baja:Folder");
    let speed = add(pump, "Speed", "control:NumericWritable");
    let echo = add(pump, "Echo", "control:NumericWritable");
    add(speed, "Trend", "history:NumericCovHistoryExt");
    add(speed, "Limits", "alarm:AlarmSourceExt");
    add(plant, "Hours", "schedule:BooleanSchedule");
    for (source, target, slot) in [
        (setpoint, speed, "in10"),
        (speed, echo, "in10"),
        (echo, linked, "in7"),
    ] {
        station.link(source, "out", target, slot).expect("linked");
    }
}

impl Site {
    async fn survey(&self, path: &str) -> Result<RemovalSurvey, StructureError> {
        self.admin.survey_removal(&scope(), &ord(path)).await
    }

    fn exists(&self, path: &str) -> bool {
        let station = self.frozen.station.station().read();
        station.resolve(path).is_ok()
    }
}

#[tokio::test]
async fn a_survey_sees_links_of_the_whole_subtree_in_both_directions() {
    let site = site().await;
    plant(&site);
    let survey = site.survey(PLANT).await.expect("surveyed");
    assert_eq!(survey.ord, "station:|slot:/Logic/Plant");
    assert_eq!(survey.type_spec, "baja:Folder");
    assert_eq!((survey.inbound.count, survey.outbound.count), (0, 0));
    assert_eq!(
        survey.descendants.count, 2,
        "the link between two of its points goes with it and counts as none"
    );
    let mut ends = survey.descendants.samples.clone();
    ends.sort();
    assert_eq!(
        ends,
        [
            "station:|slot:/Logic/Linked",
            "station:|slot:/Logic/Setpoint"
        ]
    );
    let below = |name: &str| vec![format!("station:|slot:/Logic/Plant/{name}")];
    assert_eq!(survey.history_extensions, below("Pump/Speed/Trend"));
    assert_eq!(survey.alarm_extensions, below("Pump/Speed/Limits"));
    assert_eq!(survey.schedules, below("Hours"));
    assert!(!survey.is_incomplete);
    assert!(survey.components >= 7, "{}", survey.components);

    let speed = site.survey("slot:/Logic/Plant/Pump/Speed").await;
    let speed = speed.expect("surveyed");
    assert_eq!(speed.inbound.samples, ["station:|slot:/Logic/Setpoint"]);
    assert_eq!(
        speed.outbound.samples,
        ["station:|slot:/Logic/Plant/Pump/Echo"]
    );
    assert_eq!(speed.descendants.count, 0);
    assert_eq!(site.writes(), [], "a survey changes nothing");
}

#[tokio::test]
async fn links_stop_a_removal_unless_it_is_forced() {
    let site = site().await;
    plant(&site);
    let refused = site
        .admin
        .remove_component(&scope(), &ord(PLANT), false)
        .await;
    let error = refused.expect_err("refused");
    let StructureError::HasLinks { survey } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(survey.links(), 2);
    assert!(
        error
            .to_string()
            .contains("2 links to or from what lies below"),
        "{error}"
    );
    assert_eq!(site.writes(), []);
    let logic = site.handle("slot:/Logic");
    let removed = site
        .admin
        .remove_component(&scope(), &ord(PLANT), true)
        .await;
    let removed = removed.expect("removed");
    assert_eq!(removed.is_gone, Ok(true));
    assert_eq!(removed.survey.links(), 2);
    assert!(!site.exists(PLANT));
    assert_eq!(
        site.writes(),
        [(format!("v {logic}/Plant"), WriteOutcome::Done)]
    );
    let audit = site.frozen.station.audit_of("admin");
    assert!(
        audit
            .iter()
            .any(|entry| { entry.operation == AuditOperation::Removed && entry.slot == "Plant" }),
        "{audit:?}"
    );
}

#[tokio::test]
async fn what_has_no_links_is_removed_and_properties_too() {
    let site = site().await;
    for path in ["slot:/Logic/Sensor", "slot:/Logic/Simples/string"] {
        let removed = site
            .admin
            .remove_component(&scope(), &ord(path), false)
            .await;
        let removed = removed.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(removed.is_gone, Ok(true));
        assert!(!site.exists(path));
    }
    assert!(site.exists(SIMPLES));
}

#[tokio::test]
async fn parts_of_a_type_and_the_station_itself_cannot_be_removed() {
    let site = site().await;
    let root = site
        .admin
        .remove_component(&scope(), &ord("slot:/"), true)
        .await;
    assert_eq!(root, Err(StructureError::Root));
    for path in [
        "slot:/Logic/Setpoint/proxyExt",
        "slot:/Logic/Setpoint/fallback",
    ] {
        let refused = site
            .admin
            .remove_component(&scope(), &ord(path), true)
            .await;
        assert!(
            matches!(refused, Err(StructureError::Frozen { .. })),
            "{path}: {refused:?}"
        );
    }
    let gone = site.survey("slot:/Logic/Nothing").await;
    assert!(
        matches!(
            gone,
            Err(StructureError::Write(WriteError::Facade(
                FacadeError::Station(StationError::NotFound { .. })
            )))
        ),
        "{gone:?}"
    );
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn a_removal_by_handle_is_the_same() {
    let site = site().await;
    let handle = ord(&format!("h:{}", site.handle("slot:/Logic/Sensor")));
    let removed = site.admin.remove_component(&scope(), &handle, false).await;
    assert_eq!(
        removed.expect("removed").survey.ord,
        "station:|slot:/Logic/Sensor"
    );
    assert!(!site.exists("slot:/Logic/Sensor"));
}

#[tokio::test]
async fn who_may_not_remove_is_refused_by_the_station() {
    let site = site().await;
    for account in [accounts::VIEWER, accounts::OPERATOR] {
        let facade = facade(&site.frozen, account);
        let refused = facade
            .remove_component(&scope(), &ord("slot:/Logic/Sensor"), true)
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
    assert!(site.exists("slot:/Logic/Sensor"));
}

#[tokio::test]
async fn a_removal_whose_answer_is_lost_is_in_doubt() {
    let site = site().await;
    for (path, kind, acted) in [
        ("slot:/Logic/Sensor", FaultKind::Cut, false),
        ("slot:/Logic/Sensor", FaultKind::CutAfter, true),
    ] {
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let error = site
            .admin
            .remove_component(&scope(), &ord(path), false)
            .await;
        let error = error.expect_err("in doubt");
        assert!(
            matches!(
                &error,
                StructureError::Write(WriteError::InDoubt { reread: Reread::Exists(exists), .. })
                    if *exists != acted
            ),
            "{kind:?}: {error:?}"
        );
        assert_eq!(site.writes().len(), 1, "sent once");
        assert_eq!(site.exists(path), !acted);
    }
}

#[tokio::test]
async fn a_large_subtree_is_surveyed_in_few_requests() {
    let site = site().await;
    {
        let mut station = site.frozen.station.station().write();
        let logic = station.resolve_component("slot:/Logic").expect("there");
        let many = station
            .add(logic, Some("Many"), "baja:Folder")
            .expect("added");
        for number in 0..400 {
            let name = format!("P{number}");
            let point = station.add(many, Some(&name), "control:NumericWritable");
            let point = point.expect("a point");
            let trend = "history:NumericCovHistoryExt";
            station
                .add(point, Some("Trend"), trend)
                .expect("an extension");
        }
    }
    site.frozen.station.clear_logs();
    let survey = site.survey("slot:/Logic/Many").await.expect("surveyed");
    assert_eq!(survey.history_extensions.len(), 400);
    assert!(!survey.is_incomplete);
    let requests = site.frozen.station.requests().len();
    assert!(requests < 40, "{requests} requests");
}

/// Changes everything, but reads operator slots only: links are none.
const BLIND: Account = Account {
    user: "blind",
    password: "Blind-Harborview-1",
};

#[tokio::test]
async fn who_is_not_shown_links_removes_only_by_force() {
    let site = site().await;
    {
        let mut station = site.frozen.station.station().write();
        let granted = Permissions::OPERATOR_READ
            | Permissions::OPERATOR_WRITE
            | Permissions::ADMIN_WRITE
            | Permissions::ADMIN_INVOKE;
        let role = Role {
            name: "blind".into(),
            super_user: false,
            permissions: [(1, granted)].into(),
        };
        station.add_role(role).expect("a role");
        let user = User::new(BLIND.user, BLIND.password, 8, &["blind"]);
        station.add_user(user).expect("a user");
    }
    let blind = facade(&site.frozen, BLIND);
    let linked = ord("slot:/Logic/Linked");
    let survey = blind.survey_removal(&scope(), &linked).await;
    let survey = survey.expect("surveyed");
    assert!(survey.is_incomplete && survey.is_permitted && survey.needs_force());
    let refused = blind.remove_component(&scope(), &linked, false).await;
    let error = refused.expect_err("refused");
    assert!(
        matches!(error, StructureError::HasLinks { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("could not be read"), "{error}");
    let removed = blind.remove_component(&scope(), &linked, true).await;
    assert_eq!(removed.expect("forced").is_gone, Ok(true));

    let viewer = facade(&site.frozen, accounts::VIEWER);
    let survey = viewer
        .survey_removal(&scope(), &ord("slot:/Logic/Sensor"))
        .await;
    assert!(!survey.expect("surveyed").is_permitted);
}
