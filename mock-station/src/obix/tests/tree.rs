//! Lobby, about, folders, contracts, units and errors.

use super::site::{POINTS, Site, attribute, member, names, val};
use crate::model::accounts::{ADMIN, OBIX, OPERATOR, VIEWER};

#[tokio::test]
async fn a_client_finds_every_service_from_the_lobby() {
    let site = Site::start().await;
    let lobby = site.get(OBIX, "/obix/").await;
    assert_eq!(attribute(&lobby, "is"), "obix:Lobby");
    assert_eq!(
        attribute(&lobby, "href"),
        format!("{}/obix/", site.station.url())
    );
    assert_eq!(
        names(&lobby),
        [
            "about",
            "batch",
            "watchService",
            "config",
            "histories",
            "alarms"
        ]
    );
    assert_eq!(attribute(member(&lobby, "about"), "is"), "obix:About");
    assert_eq!(attribute(member(&lobby, "batch"), "in"), "obix:BatchIn");
    assert_eq!(
        attribute(member(&lobby, "config"), "is"),
        "/obix/def/baja:Station"
    );
    let alarms = member(&lobby, "alarms");
    assert_eq!(attribute(alarms, "href"), "config/Services/AlarmService/");
    assert!(attribute(alarms, "is").ends_with("obix:AlarmSubject"));
    let operator = site.get(OPERATOR, "/obix").await;
    assert_eq!(
        names(&operator),
        ["about", "batch", "watchService", "config", "histories"]
    );
}

#[tokio::test]
async fn about_says_what_the_station_knows_of_itself() {
    let site = Site::start().await;
    let about = site.get(OBIX, "/obix/about").await;
    assert_eq!(attribute(&about, "display"), "Obix About");
    assert_eq!(val(&about, "serverTime"), "2026-03-10T11:07:30.000+01:00");
    assert_eq!(val(&about, "tz"), "Europe/Paris");
    let (identity, components) = {
        let station = site.station.station().read();
        (station.identity.clone(), station.component_count())
    };
    assert_eq!(val(&about, "serverName"), identity.host_name);
    assert_eq!(val(&about, "productVersion"), identity.product_version);
    let count = member(&about, "componentCount");
    assert_eq!(
        (&*count.tag, attribute(count, "val")),
        ("str", &*components.to_string())
    );
    assert_eq!(member(&about, "vendorUrl").tag, "uri");
    assert_eq!(attribute(count, "href"), "componentCount/");
}

#[tokio::test]
async fn a_folder_is_one_level_deep_and_hints_at_its_values() {
    let site = Site::start().await;
    let folder = site.get(OBIX, POINTS).await;
    assert_eq!(folder.tag, "obj");
    let expected = format!("{}{POINTS}/", site.station.url());
    assert_eq!(
        attribute(&folder, "href"),
        expected,
        "the canonical href has a slash"
    );
    let supply = member(&folder, "SupplyTempSp");
    assert_eq!(supply.tag, "ref");
    assert!(supply.children.is_empty());
    assert_eq!(attribute(supply, "display"), "15.5 °C {ok} @ 10");
    assert_eq!(
        attribute(supply, "is"),
        "/obix/def/control:NumericWritable /obix/def/control:NumericPoint obix:Point"
    );
    assert_eq!(attribute(member(&folder, "DeadSensor"), "status"), "down");
    assert_eq!(attribute(member(&folder, "EmptySensor"), "null"), "true");
    let escaped = member(&folder, "Temp$e9rature$20ext");
    assert_eq!(attribute(escaped, "displayName"), "Température ext");
    assert_eq!(attribute(escaped, "href"), "Temp$e9rature$20ext/");
}

#[tokio::test]
async fn escaped_names_are_reached_in_both_spellings() {
    let site = Site::start().await;
    let plain = site
        .get(OBIX, &format!("{POINTS}/Temp$e9rature$20ext/out/"))
        .await;
    let coded = site
        .get(OBIX, &format!("{POINTS}/Temp%24e9rature%2420ext/out"))
        .await;
    assert_eq!(plain, coded);
    assert_eq!(attribute(&plain, "val"), "-5.25");
}

#[tokio::test]
async fn points_lie_below_points_and_refs_lead_to_them() {
    let site = Site::start().await;
    let energy = "/obix/config/Drivers/ModbusTcpNetwork/Meter$20$231/points/Energy/";
    let point = site.get(OBIX, energy).await;
    assert_eq!(
        (&*point.tag, attribute(&point, "val")),
        ("real", "123456.75")
    );
    assert_eq!(attribute(&point, "unit"), "obix:units/kilowatt_hours");
    let month = member(&point, "LastMonth");
    assert_eq!(month.tag, "ref");
    let below = site
        .get(OBIX, &format!("{energy}{}", attribute(month, "href")))
        .await;
    assert_eq!(attribute(&below, "val"), "9876.5");
}

#[tokio::test]
async fn structs_stand_in_place_and_their_members_can_be_read() {
    let site = Site::start().await;
    let device = site
        .get(ADMIN, "/obix/config/Drivers/BacnetNetwork/AHU_1/")
        .await;
    let health = member(&device, "health");
    let seen = member(health, "lastOkTime");
    assert_eq!(
        (&*seen.tag, attribute(seen, "val")),
        ("abstime", "2026-03-10T11:04:30.000+01:00")
    );
    let target = "/obix/config/Drivers/BacnetNetwork/AHU_1/health/lastOkTime/";
    let alone = site.get(ADMIN, target).await;
    assert_eq!(attribute(&alone, "val"), attribute(seen, "val"));
    assert_eq!(attribute(&alone, "tz"), "Europe/Paris");
    let average = site.get(ADMIN, "/obix/config/Logic/Average/").await;
    let link = average
        .children
        .iter()
        .find(|child| child.get("is") == Some("/obix/def/baja:Link"));
    let link = link.expect("a linked component shows its links");
    assert_eq!(member(link, "sourceOrd").tag, "uri");
    assert_eq!(val(link, "sourceSlotName"), "out");
}

#[tokio::test]
async fn an_alarm_subject_counts_its_open_alarms() {
    let site = Site::start().await;
    let subject = site.get(OBIX, "/obix/config/Services/AlarmService/").await;
    assert_eq!(
        attribute(&subject, "is"),
        "/obix/def/alarm:AlarmService obix:AlarmSubject"
    );
    let open = site.station.station().read().alarms.open().count();
    assert_eq!(val(&subject, "count"), open.to_string());
    assert_eq!(attribute(member(&subject, "query"), "href"), "~alarmQuery/");
    assert_eq!(attribute(member(&subject, "feed"), "href"), "~alarmFeed/");
    let urgent = member(&subject, "urgent");
    assert_eq!(
        attribute(urgent, "is"),
        "/obix/def/alarm:AlarmClass obix:AlarmSubject"
    );
    let class = site
        .get(OBIX, "/obix/config/Services/AlarmService/urgent/")
        .await;
    assert_eq!(val(&class, "count"), "2");
}

#[tokio::test]
async fn ranges_name_the_tags_and_their_texts() {
    let site = Site::start().await;
    let out = site.get(OBIX, &format!("{POINTS}/Mode/out/")).await;
    assert_eq!(
        (&*out.tag, attribute(&out, "val")),
        ("enum", "Not$20occupied")
    );
    let range = site
        .get(
            OBIX,
            &format!("{POINTS}/Mode/out/{}", attribute(&out, "range")),
        )
        .await;
    assert_eq!(attribute(&range, "is"), "obix:Range");
    assert_eq!(names(&range), ["Off", "Not$20occupied", "Occupied"]);
    let shown = member(&range, "Not$20occupied");
    assert_eq!(attribute(shown, "displayName"), "Not occupied");
    let fan = site.get(OBIX, &format!("{POINTS}/FanStatus/")).await;
    let range = attribute(member(&fan, "out"), "range");
    assert_eq!(range, "out/~bool");
    let range = site.get(OBIX, &format!("{POINTS}/FanStatus/{range}")).await;
    assert_eq!(
        attribute(member(&range, "false"), "displayName"),
        "Not running"
    );
    let frozen = site
        .get(OBIX, "/obix/def/kitControl:RampWaveform/~range")
        .await;
    assert_eq!(names(&frozen), ["triangle", "sawTooth", "invertedSawTooth"]);
}

#[tokio::test]
async fn contracts_and_units_are_documents_of_their_own() {
    let site = Site::start().await;
    let contract = site.get(OBIX, "/obix/def/control:NumericOverride").await;
    assert_eq!(attribute(&contract, "is"), "/obix/def/control:Override");
    assert_eq!(val(&contract, "duration"), "PT0S");
    assert_eq!(member(&contract, "value").tag, "real");
    let writable = site.get(OBIX, "/obix/def/control:NumericWritable").await;
    assert_eq!(writable.tag, "real");
    assert_eq!(attribute(member(&writable, "set"), "in"), "obix:real");
    let filter = site.get(OBIX, "/obix/def/obix:HistoryFilter").await;
    assert_eq!(names(&filter), ["limit", "start", "end"]);
    let network = site.get(OBIX, "/obix/def/obix:ObixNetwork/").await;
    assert_eq!(attribute(&network, "display"), "ObixNetwork");
    let celsius = site.get(OBIX, "/obix/units/celsius/").await;
    assert_eq!(attribute(&celsius, "is"), "obix:Unit");
    assert_eq!(val(&celsius, "symbol"), "°C");
    assert_eq!(val(member(&celsius, "dimension"), "K"), "1");
    let missing = site.get(OBIX, "/obix/units/farenheit/").await;
    assert_eq!(attribute(&missing, "is"), "obix:BadUriErr");
}

#[tokio::test]
async fn a_path_that_leads_nowhere_is_an_error_object_with_that_path() {
    let site = Site::start().await;
    for path in [
        "/obix/config/Nowhere/",
        "/obix/nothing/at/all",
        "/obix/config/Logic/Sum/out/nothing/",
        "/obix/config/Logic/Sum/~historyQuery/",
        "/obix/def/nothing:Here",
    ] {
        let error = site.get(ADMIN, path).await;
        assert_eq!(
            (&*error.tag, attribute(&error, "is")),
            ("err", "obix:BadUriErr"),
            "{path}"
        );
        assert_eq!(attribute(&error, "display"), path);
    }
    let illegal = site.get(ADMIN, "/obix/config/Logic/My%20Sum/").await;
    assert_eq!(illegal.get("is"), None);
    assert!(attribute(&illegal, "display").contains("Invalid name in path"));
    let lobby = site.post(ADMIN, "/obix/~alarmQuery/", "").await;
    assert!(attribute(&lobby, "display").contains("Cannot find lobby agent"));
}

#[tokio::test]
async fn what_a_user_may_not_see_is_absent_and_refused() {
    let site = Site::start().await;
    let drivers = site.get(OPERATOR, "/obix/config/Drivers/").await;
    assert!(
        drivers.child("BacnetNetwork").is_some(),
        "the way to its own unit"
    );
    assert!(drivers.child("ModbusTcpNetwork").is_none());
    let error = site.get(OPERATOR, "/obix/config/Logic/Sum/").await;
    assert_eq!(attribute(&error, "is"), "obix:PermissionErr");
    // `facets` needs administrative read.
    let point = format!("{POINTS}/SupplyTempSp/");
    assert!(site.get(VIEWER, &point).await.child("facets").is_none());
    let error = site.get(VIEWER, &format!("{point}facets/")).await;
    assert_eq!(attribute(&error, "is"), "obix:PermissionErr");
    assert!(site.get(ADMIN, &point).await.child("facets").is_some());
}
