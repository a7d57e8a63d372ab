//! Connections that break around a write: nothing is sent twice, and what is not known is said.

use std::time::Duration;

use mock_station::faults::{FaultKind, Interface};
use mock_station::server::WriteOutcome;
use niagara_bridge::station::facade::{Given, Reread, WriteError, WriteRoute};
use niagara_bridge::station::value::Value;

use crate::mock::scope;
use crate::site::{SIMPLES, Site, ord, order, site, text};

/// Breaks before the station acted, after it, and in the middle of the answer, and what gateways answer; whether it
/// acted.
fn breaks() -> [(FaultKind, bool); 9] {
    let status = |status| FaultKind::ServerError { status };
    [
        (status(408), false),
        (status(500), false),
        (status(502), false),
        (status(503), false),
        (status(504), false),
        (FaultKind::Cut, false),
        (FaultKind::CutAfter, true),
        (FaultKind::HalfBody { bytes: None }, true),
        (FaultKind::HtmlPage, false),
    ]
}

fn outcomes(site: &Site) -> Vec<WriteOutcome> {
    site.writes()
        .into_iter()
        .map(|(_, outcome)| outcome)
        .collect()
}

fn expected(acted: bool) -> Vec<WriteOutcome> {
    vec![if acted {
        WriteOutcome::Done
    } else {
        WriteOutcome::Lost
    }]
}

#[tokio::test]
async fn a_command_whose_answer_is_lost_is_in_doubt_with_the_point_read_back() {
    let site = site().await;
    let path = "slot:/Logic/Setpoint";
    for (kind, acted) in breaks() {
        site.command(path, 9, Given::Null).await.expect("released");
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let error = site
            .command(path, 9, Given::Integer(25))
            .await
            .expect_err("in doubt");
        let WriteError::InDoubt {
            target,
            reread: Reread::Point(seen),
            ..
        } = &error
        else {
            panic!("{kind:?}: {error:?}");
        };
        assert_eq!(target, "station:|slot:/Logic/Setpoint");
        let input = seen.input.as_ref().expect("told");
        assert_eq!(input.status.is_valid(), acted, "{kind:?}");
        assert!(error.to_string().contains("was not sent again"), "{error}");
        assert_eq!(outcomes(&site), expected(acted), "{kind:?}");
    }
}

#[tokio::test]
async fn a_slot_and_an_action_are_in_doubt_as_well() {
    let site = site().await;
    for (number, (kind, acted)) in breaks().into_iter().enumerate() {
        let before = site.held(SIMPLES, "string");
        let value = format!("value {number}");
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let error = site
            .admin
            .set_slot(&scope(), &ord(SIMPLES), "string", &text(&value))
            .await;
        let Err(WriteError::InDoubt {
            reread: Reread::Slot(seen),
            ..
        }) = error
        else {
            panic!("{kind:?}: {error:?}");
        };
        let held = if acted { value } else { before };
        assert_eq!(*seen, Value::String(held), "{kind:?}");
        assert_eq!(outcomes(&site), expected(acted), "{kind:?}");

        site.break_next_write(Interface::Box, kind.clone());
        let given = Given::Integer(24);
        let path = ord("slot:/Logic/Setpoint");
        let error = site
            .admin
            .invoke_action(&scope(), &path, "set", Some(&given))
            .await;
        assert!(error.expect_err("in doubt").is_in_doubt(), "{kind:?}");
        assert_eq!(outcomes(&site), expected(acted), "{kind:?}");
    }
}

#[tokio::test]
async fn an_expired_server_session_is_renewed_before_the_write_not_after_it() {
    let site = site().await;
    let path = "slot:/Logic/Setpoint";
    site.command(path, 9, Given::Integer(21))
        .await
        .expect("taken");
    site.writes();
    site.frozen.clock.advance(chrono::TimeDelta::seconds(200));
    site.command(path, 9, Given::Integer(22))
        .await
        .expect("taken in a new session");
    assert_eq!(outcomes(&site), [WriteOutcome::Done]);
    site.frozen.station.end_sessions();
    site.command(path, 9, Given::Integer(23))
        .await
        .expect("taken after a new login");
    assert_eq!(outcomes(&site), [WriteOutcome::Done]);
    assert_eq!(site.input(path, "in9").0, "23.0");
}

#[tokio::test]
async fn obix_commands_levels_eight_and_one_where_box_is_not_offered() {
    let site = site().await;
    site.frozen
        .station
        .switches()
        .change(|switches| switches.boxs.present = false);
    for (path, value, held) in [
        ("slot:/Logic/Setpoint", Given::Number(21.5), "21.5"),
        ("slot:/Logic/Fan", Given::Flag(true), "true"),
        (
            "slot:/Logic/Mode",
            text("Auto"),
            "7@{Off=0,Heat$20Pump=1,Auto=7}",
        ),
        ("slot:/Logic/Note", text("a < b"), "a < b"),
    ] {
        for level in [8, 1] {
            let slot = format!("in{level}");
            let command = site.command(path, level, value.clone()).await;
            let command = command.unwrap_or_else(|error| panic!("{path} {level}: {error}"));
            assert_eq!(command.route, WriteRoute::Obix);
            assert_eq!(command.is_winning(), Some(true), "{path} {level}");
            assert_eq!(site.input(path, &slot), (held.to_owned(), "0".to_owned()));
            site.command(path, level, Given::Null)
                .await
                .expect("released");
            assert_eq!(site.input(path, &slot).1, "40");
        }
    }
    let error = site
        .command("slot:/Logic/Setpoint", 9, Given::Integer(7))
        .await
        .expect_err("BOX only");
    assert!(error.to_string().contains("does not offer BOX"), "{error}");
    let error = site
        .command("slot:/Logic/Setpoint", 8, Given::Integer(99))
        .await
        .expect_err("refused");
    assert!(matches!(error, WriteError::BadValue { .. }), "{error:?}");

    site.break_next_write(Interface::Obix, FaultKind::CutAfter);
    let posts = |site: &Site| {
        let requests = site.frozen.station.requests();
        requests
            .iter()
            .filter(|entry| entry.method == "POST" && entry.path().contains("/override"))
            .count()
    };
    let before = posts(&site);
    let command = order(8, Given::Integer(25));
    let path = ord("slot:/Logic/Setpoint");
    let error = site
        .admin
        .command_point(&scope(), &path, &command, Duration::ZERO)
        .await;
    let Err(WriteError::InDoubt {
        reread: Reread::Point(seen),
        ..
    }) = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(seen.reading.active_level.as_deref(), Some("8"));
    assert_eq!(posts(&site), before + 1, "it was sent once");
    assert_eq!(site.input("slot:/Logic/Setpoint", "in8").0, "25.0");
}

#[tokio::test]
async fn a_station_without_a_free_server_session_is_commanded_over_obix() {
    let site = site().await;
    let switches = site.frozen.station.switches();
    switches.change(|switches| switches.boxs.session_limit = 0);
    let path = "slot:/Logic/Setpoint";
    let command = site
        .command(path, 8, Given::Integer(22))
        .await
        .expect("taken");
    assert_eq!(command.route, WriteRoute::Obix);
    assert_eq!(site.input(path, "in8").0, "22.0");
    let error = site
        .command(path, 9, Given::Integer(22))
        .await
        .expect_err("BOX only");
    assert!(!error.is_in_doubt(), "{error:?}");
    assert!(error.to_string().contains("server session"), "{error}");
    assert_eq!(site.writes(), [], "no BOX message asked for a change");
    // Over oBIX it would be an override without end, which the caller has ruled out.
    let mut ending = order(8, Given::Integer(25));
    ending.may_be_endless = false;
    let error = site
        .admin
        .command_point(&scope(), &ord(path), &ending, Duration::ZERO)
        .await
        .expect_err("no override without end");
    assert!(error.to_string().contains("server session"), "{error}");
    assert_eq!(site.input("slot:/Logic/Setpoint", "in8").0, "22.0");
}

#[tokio::test]
async fn a_write_that_the_station_answers_as_gone_is_not_sent_again() {
    let site = site().await;
    let path = "slot:/Logic/Setpoint";
    site.command(path, 9, Given::Integer(21))
        .await
        .expect("taken");
    site.writes();
    site.break_next_write(Interface::Box, FaultKind::SessionLost);
    let error = site
        .command(path, 9, Given::Integer(25))
        .await
        .expect_err("the session ended under it");
    assert!(!error.is_in_doubt(), "the station said no: {error:?}");
    assert_eq!(outcomes(&site), [WriteOutcome::Lost]);
    assert_eq!(site.input(path, "in9").0, "21.0");
}

#[tokio::test]
async fn a_station_that_limits_requests_has_not_done_it() {
    let site = site().await;
    let limit = FaultKind::TooManyRequests {
        retry_after_seconds: None,
    };
    site.break_next_write(Interface::Box, limit);
    let path = "slot:/Logic/Setpoint";
    let error = site.command(path, 9, Given::Integer(25)).await;
    let error = error.expect_err("refused");
    assert!(!error.is_in_doubt(), "{error:?}");
    assert!(error.to_string().contains("429"), "{error}");
    assert_eq!(site.input(path, "in9").1, "40", "released as before");
}
