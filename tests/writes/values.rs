//! Values of every kind, at every level, in every simple slot, and what is refused before anything is sent.

use std::time::Duration;

use mock_station::model::accounts;
use mock_station::server::WriteOutcome;
use niagara_bridge::station::error::StationError;
use niagara_bridge::station::facade::{FacadeError, Given, PointValue, WriteError, WriteRoute};
use niagara_bridge::station::value::Value;

use crate::mock::scope;
use crate::site::{SIMPLES, facade, ord, order, site, text};

#[tokio::test]
async fn every_kind_is_commanded_and_released_at_every_level_by_one_message_each() {
    let site = site().await;
    let kinds = [
        ("slot:/Logic/Setpoint", Given::Number(21.5), "21.5", "21.5"),
        ("slot:/Logic/Fan", text(" On "), "true", "true"),
        (
            "slot:/Logic/Mode",
            text("Heat Pump"),
            "1@{Off=0,Heat$20Pump=1,Auto=7}",
            "enum(1)",
        ),
        (
            "slot:/Logic/Note",
            text("filter ordered"),
            "filter ordered",
            "\"filter ordered\"",
        ),
    ];
    for (path, value, held, requested) in kinds {
        let handle = site.handle(path);
        for level in 1..=16 {
            site.writes();
            let slot = format!("in{level}");
            let command = site.command(path, level, value.clone()).await;
            let command = command.unwrap_or_else(|error| panic!("{path} {level}: {error}"));
            assert_eq!(site.input(path, &slot), (held.to_owned(), "0".to_owned()));
            assert_eq!(command.requested_text(), requested);
            assert_eq!(command.route, WriteRoute::Input);
            assert_eq!(command.is_winning(), Some(true), "{path} {level}");
            assert_eq!(command.is_persistent(), level == 1 || level == 8);
            let observed = command.observed.expect("read back");
            assert_eq!(observed.reading.active_level, Some(level.to_string()));
            assert!(observed.input.is_some_and(|input| input.status.is_valid()));

            let released = site.command(path, level, Given::Null).await;
            let released = released.unwrap_or_else(|error| panic!("{path} {level}: {error}"));
            assert_eq!(site.input(path, &slot), (held.to_owned(), "40".to_owned()));
            assert_eq!(released.requested_text(), "null");
            assert_eq!(released.is_winning(), Some(false));
            assert!(released.previous.status.is_valid(), "it was commanded");
            let sent = (format!("s {handle}/{slot}"), WriteOutcome::Done);
            assert_eq!(site.writes(), [sent.clone(), sent], "{path} {level}");
        }
    }
}

#[tokio::test]
async fn a_command_below_another_is_taken_and_told_not_to_win() {
    let site = site().await;
    let path = "slot:/Logic/Setpoint";
    site.command(path, 8, Given::Integer(22))
        .await
        .expect("taken");
    let lower = site
        .command(path, 10, Given::Integer(18))
        .await
        .expect("taken");
    assert_eq!(lower.requested_text(), "18.0");
    assert_eq!(lower.is_winning(), Some(false));
    let observed = lower.observed.expect("read back");
    assert_eq!(observed.reading.typed, Some(PointValue::Number(22.0)));
    assert_eq!(observed.reading.active_level.as_deref(), Some("8"));
    assert_eq!(observed.input.expect("told").value, Value::Double(18.0));
}

#[tokio::test]
async fn what_does_not_fit_is_refused_before_anything_is_sent() {
    let site = site().await;
    site.command("slot:/Logic/Setpoint", 9, Given::Integer(21))
        .await
        .expect("taken");
    site.writes();
    for (path, value, part) in [
        (
            "slot:/Logic/Setpoint",
            Given::Number(30.5),
            "above the maximum 30.0",
        ),
        (
            "slot:/Logic/Setpoint",
            Given::Integer(-4),
            "below the minimum 5.0",
        ),
        ("slot:/Logic/Setpoint", text("warm"), "finite number"),
        ("slot:/Logic/Setpoint", text("nan"), "finite number"),
        ("slot:/Logic/Setpoint", Given::Flag(true), "finite number"),
        ("slot:/Logic/Fan", text("maybe"), "Running"),
        ("slot:/Logic/Mode", Given::Integer(3), "Heat Pump (1)"),
        ("slot:/Logic/Mode", text("Cool"), "none of the choices"),
    ] {
        let error = site.command(path, 9, value).await.expect_err("refused");
        assert!(matches!(error, WriteError::BadValue { .. }), "{error:?}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let linked = site
        .command("slot:/Logic/Linked", 16, Given::Integer(7))
        .await;
    let Err(WriteError::Linked { slot, from, .. }) = linked else {
        panic!("{linked:?}");
    };
    assert_eq!((slot.as_str(), from.slot.as_str()), ("in16", "out"));
    assert_eq!(from.ord, "station:|slot:/Logic/Setpoint");
    for path in ["slot:/Logic/Sensor", "slot:/Logic"] {
        let error = site
            .command(path, 9, Given::Integer(7))
            .await
            .expect_err("refused");
        assert!(matches!(error, WriteError::NotWritable { .. }), "{error:?}");
    }
    assert_eq!(site.writes(), [], "nothing was sent");
    assert_eq!(
        site.input("slot:/Logic/Setpoint", "in9"),
        ("21.0".to_owned(), "0".to_owned()),
        "the level keeps its old value"
    );
}

#[tokio::test]
async fn inputs_that_only_actions_command_are_commanded_by_actions() {
    let site = site().await;
    site.frozen
        .station
        .switches()
        .change(|switches| switches.boxs.read_only_commands = true);
    let expected = [
        (
            "slot:/Logic/Setpoint",
            8,
            Given::Number(21.5),
            "override",
            "auto",
        ),
        (
            "slot:/Logic/Setpoint",
            1,
            Given::Number(21.5),
            "emergencyOverride",
            "emergencyAuto",
        ),
        ("slot:/Logic/Fan", 8, Given::Flag(true), "active", "auto"),
        (
            "slot:/Logic/Fan",
            1,
            Given::Flag(false),
            "emergencyInactive",
            "emergencyAuto",
        ),
        ("slot:/Logic/Mode", 8, Given::Integer(7), "override", "auto"),
        (
            "slot:/Logic/Note",
            1,
            text("x"),
            "emergencyOverride",
            "emergencyAuto",
        ),
    ];
    for (path, level, value, action, release) in expected {
        let handle = site.handle(path);
        site.writes();
        let command = site.command(path, level, value).await;
        let command = command.unwrap_or_else(|error| panic!("{path} {level}: {error}"));
        assert_eq!(command.route, WriteRoute::Action);
        assert_eq!(command.is_winning(), Some(true), "{path} {level}");
        assert_eq!(command.observed.expect("read back").expires, None);
        site.command(path, level, Given::Null)
            .await
            .expect("released");
        let done = |name: &str| (format!("{handle}.{name}"), WriteOutcome::Done);
        assert_eq!(site.writes(), [done(action), done(release)]);
        assert_eq!(site.input(path, &format!("in{level}")).1, "40");
    }
}

#[tokio::test]
async fn an_override_ends_by_itself_and_its_end_is_told() {
    let site = site().await;
    let mut overriding = order(8, Given::Number(25.0));
    overriding.overriding = Some(Duration::from_secs(900));
    let path = ord("slot:/Logic/Setpoint");
    let command = site
        .admin
        .command_point(&scope(), &path, &overriding, Duration::ZERO)
        .await
        .expect("taken");
    let expires = command.observed.expect("read back").expires.expect("told");
    assert_eq!(expires.to_utc().to_rfc3339(), "2026-03-02T12:15:00+00:00");
}

#[tokio::test]
async fn every_simple_slot_takes_its_values_and_refuses_others() {
    let site = site().await;
    let handle = site.handle(SIMPLES);
    let range = "{off=0,on=1}";
    let table = [
        ("string", Given::Integer(12), "12", None),
        ("boolean", text(" TRUE "), "true", Some(text("on"))),
        (
            "integer",
            Given::Number(42.0),
            "42",
            Some(Given::Number(1.5)),
        ),
        ("long", text("9000000000"), "9000000000", Some(text("x"))),
        ("float", Given::Number(1.5), "1.5", Some(text("x"))),
        ("double", text("21"), "21.0", Some(Given::Flag(true))),
        ("relTime", text("PT15M"), "900000", Some(text("soon"))),
        (
            "absTime",
            text("2024-03-01T12:00:00.000+01:00"),
            "2024-03-01T12:00:00.000+01:00",
            Some(text("noon")),
        ),
        (
            "date",
            text("2025-12-24"),
            "2025-12-24",
            Some(text("2025-13-24")),
        ),
        (
            "time",
            text("17:30:00"),
            "17:30:00.000",
            Some(text("25:00:00")),
        ),
        (
            "dynamicEnum",
            text("on"),
            "1@{off=0,on=1}",
            Some(Given::Integer(5)),
        ),
        (
            "enumRange",
            text("{low=0,high=1}"),
            "{low=0,high=1}",
            Some(text("{low}")),
        ),
        ("ord", text("slot:/Logic"), "slot:/Logic", None),
        (
            "ordList",
            text("slot:/Logic\nslot:/"),
            "slot:/Logic\nslot:/",
            None,
        ),
        (
            "unit",
            text("celsius;°C;(K);+273.15;"),
            "celsius;°C;(K);+273.15;",
            None,
        ),
        (
            "facets",
            text("precision=i:2"),
            "precision=i:2",
            Some(text("precision")),
        ),
        ("status", text("8"), "8", Some(text("zz"))),
        ("format", text("%displayName%"), "%displayName%", None),
        (
            "typeSpec",
            text("control:NumericPoint"),
            "control:NumericPoint",
            None,
        ),
        ("nameMap", text("{c=d;}"), "{c=d;}", None),
    ];
    for (slot, value, held, wrong) in table {
        let before = site.held(SIMPLES, slot);
        site.writes();
        if let Some(wrong) = wrong {
            let refused = site
                .admin
                .set_slot(&scope(), &ord(SIMPLES), slot, &wrong)
                .await;
            let error = refused.expect_err("refused");
            assert!(
                matches!(error, WriteError::BadValue { .. }),
                "{slot}: {error:?}"
            );
        }
        assert_eq!(
            (site.held(SIMPLES, slot), site.writes()),
            (before.clone(), vec![])
        );
        let change = site
            .admin
            .set_slot(&scope(), &ord(SIMPLES), slot, &value)
            .await;
        let change = change.unwrap_or_else(|error| panic!("{slot}: {error}"));
        assert_eq!(site.held(SIMPLES, slot), held, "{slot}");
        assert_eq!(change.previous.encode(), before, "{slot}");
        assert_eq!(change.new.encode(), held, "{slot}");
        assert_eq!(change.observed.expect("read back").encode(), held, "{slot}");
        assert_eq!(
            site.writes(),
            [(format!("s {handle}/{slot}"), WriteOutcome::Done)]
        );
    }
    assert!(site.held(SIMPLES, "dynamicEnum").ends_with(range));
}

#[tokio::test]
async fn slots_that_cannot_be_set_are_refused_by_reason() {
    let site = site().await;
    let set = |path: &'static str, slot: &'static str, value: Given| {
        let admin = &site.admin;
        async move {
            admin
                .set_slot(&scope(), &ord(path), slot, &value)
                .await
                .expect_err("refused")
        }
    };
    let point = "slot:/Logic/Setpoint";
    let limited = set(SIMPLES, "limited", Given::Integer(40)).await;
    assert!(
        limited.to_string().contains("above the maximum 30.0"),
        "{limited}"
    );
    assert!(matches!(
        set(SIMPLES, "locked", text("y")).await,
        WriteError::ReadOnly { .. }
    ));
    assert!(matches!(
        set(SIMPLES, "absent", text("y")).await,
        WriteError::NoSlot { .. }
    ));
    assert!(matches!(
        set(point, "in10", Given::Integer(1)).await,
        WriteError::NotSimple { .. }
    ));
    assert!(matches!(
        set(point, "override", text("y")).await,
        WriteError::NoSlot { .. }
    ));
    assert!(matches!(
        set(SIMPLES, "string", Given::Null).await,
        WriteError::BadValue { .. }
    ));
    assert!(matches!(
        set("slot:/Nowhere", "x", text("y")).await,
        WriteError::Facade(FacadeError::Station(StationError::NotFound { .. }))
    ));
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn a_slot_goes_back_to_the_default_of_its_type_and_a_dynamic_one_stays() {
    let site = site().await;
    let path = "slot:/Logic/Setpoint";
    let facets = site
        .admin
        .clear_slot(&scope(), &ord(path), "facets")
        .await
        .expect("cleared");
    assert!(facets.changed);
    assert_eq!(site.held(path, "facets"), facets.new.encode());
    let again = site
        .admin
        .clear_slot(&scope(), &ord(path), "facets")
        .await
        .expect("cleared");
    assert!(!again.changed, "it was the default already");
    assert_eq!(site.writes().len(), 2, "the write happens all the same");
    site.command(path, 9, Given::Integer(21))
        .await
        .expect("taken");
    site.writes();
    let input = site
        .admin
        .clear_slot(&scope(), &ord(path), "in9")
        .await
        .expect("cleared");
    assert_eq!(site.input(path, "in9"), ("0.0".to_owned(), "40".to_owned()));
    assert!(input.changed);
    assert_eq!(site.writes().len(), 1);
    let dynamic = site
        .admin
        .clear_slot(&scope(), &ord(SIMPLES), "string")
        .await
        .expect("left");
    assert_eq!(
        dynamic.untouched.map(|why| why.name()),
        Some("dynamic-slot")
    );
    assert!(!dynamic.changed && site.writes().is_empty());
    let error = site
        .admin
        .clear_slot(&scope(), &ord(path), "out")
        .await
        .expect_err("refused");
    assert!(matches!(error, WriteError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn actions_take_arguments_of_their_type() {
    let site = site().await;
    let path = "slot:/Logic/Setpoint";
    let handle = site.handle(path);
    let invoke = |name: &'static str, given: Option<Given>| {
        let admin = &site.admin;
        async move {
            admin
                .invoke_action(&scope(), &ord(path), name, given.as_ref())
                .await
        }
    };
    let set = invoke("set", Some(text("23.5"))).await.expect("invoked");
    assert_eq!(
        (set.argument, set.returned),
        (Some(Value::Double(23.5)), Value::Null)
    );
    assert_eq!(
        (set.return_type, site.input(path, "fallback").0),
        (None, "23.5".to_owned())
    );
    assert_eq!(
        site.writes(),
        [(format!("{handle}.set"), WriteOutcome::Done)]
    );
    let error = invoke("set", Some(text("warm")))
        .await
        .expect_err("refused");
    assert!(matches!(error, WriteError::BadValue { .. }), "{error:?}");
    let error = invoke("set", Some(Given::Integer(99)))
        .await
        .expect_err("refused");
    assert!(error.to_string().contains("above the maximum"), "{error}");
    let error = invoke("explode", None).await.expect_err("refused");
    assert!(matches!(error, WriteError::NoAction { .. }), "{error:?}");
    let error = invoke("override", Some(Given::Integer(9)))
        .await
        .expect_err("refused");
    assert!(
        matches!(error, WriteError::ComplexParameter { .. }),
        "{error:?}"
    );
    let error = invoke("auto", Some(Given::Integer(9)))
        .await
        .expect_err("refused");
    assert!(error.to_string().contains("takes no argument"), "{error}");
    assert_eq!(site.writes(), []);
    invoke("override", None)
        .await
        .expect("its default is asked for");
    assert_eq!(
        site.writes(),
        [(format!("{handle}.override"), WriteOutcome::Done)]
    );
}

#[tokio::test]
async fn the_station_is_saved_by_who_may() {
    let site = site().await;
    let saved = site.admin.save_station(&scope()).await.expect("saved");
    assert_eq!(saved.station_name, "Bench");
    let writes = site.writes();
    assert_eq!(writes.len(), 1);
    assert!(writes[0].0.ends_with(".save"), "{writes:?}");
    let viewer = facade(&site.frozen, accounts::VIEWER);
    let error = viewer.save_station(&scope()).await.expect_err("refused");
    assert!(
        matches!(
            error,
            WriteError::Facade(FacadeError::Station(StationError::PermissionDenied { .. }))
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_station_decides_who_may_command() {
    let site = site().await;
    for account in [accounts::VIEWER, accounts::OPERATOR] {
        let facade = facade(&site.frozen, account);
        let command = order(9, Given::Integer(21));
        let path = ord("slot:/Logic/Setpoint");
        let refused = facade
            .command_point(&scope(), &path, &command, Duration::ZERO)
            .await;
        let error = refused.expect_err("refused");
        assert!(
            matches!(
                error,
                WriteError::Facade(FacadeError::Station(StationError::PermissionDenied { .. }))
            ),
            "{}: {error:?}",
            account.user
        );
    }
    assert_eq!(site.input("slot:/Logic/Setpoint", "in9").1, "40");
}
