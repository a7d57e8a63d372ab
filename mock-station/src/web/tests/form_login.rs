use http::StatusCode;
use http::header::SET_COOKIE;

use super::browser::{BRIDGE, Browser, CHECK, location, text, wrong};
use super::fixture::Fixture;
use crate::model::accounts::{OBIX, VIEWER};
use crate::server::{LoginOutcome, LoginWay};
use crate::switches::{
    BadProofAnswer, ClientFirstCookie, SessionRenewal, UnauthenticatedAnswer, UnknownUserAnswer,
};

fn outcomes(fixture: &Fixture) -> Vec<LoginOutcome> {
    let entries = fixture.context.logins.entries();
    entries.into_iter().map(|entry| entry.outcome).collect()
}

#[test]
fn an_anonymous_visitor_is_led_to_the_user_name_step() {
    let fixture = Fixture::new();
    let mut visitor = Browser::new(&fixture);
    assert_eq!(location(&visitor.get("/")), "/login");
    assert_eq!(location(&visitor.get("/login")), "/prelogin");
    let page = visitor.get("/prelogin");
    assert_eq!(page.status, StatusCode::OK);
    assert!(text(&page).contains("login/loginN4.js"));
    for path in ["/ord/station:", "/box/", "/obix/about/", "/file/x", "/rpcx"] {
        let answer = visitor.get(path);
        assert_eq!(
            (answer.status, location(&answer)),
            (StatusCode::FOUND, "/login")
        );
        assert!(!answer.headers.contains_key("www-authenticate"));
    }
    let script = visitor.get("/login/loginN4.js");
    assert!(text(&script).contains("sendClientFirstMessage"));
}

#[test]
fn the_whole_login_opens_the_station() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    assert_eq!(user.cookie("niagara_userid").as_deref(), Some("bridge"));
    let home = user.get("/");
    assert_eq!(location(&home), "/ord/station:%7Cslot:/");
    let page = user.get("/ord/station:%7Cslot:/");
    assert_eq!(page.status, StatusCode::OK);
    assert!(text(&page).contains("id=\"csrfToken\""));
    let again = user.get("/login");
    assert_eq!(again.status, StatusCode::FOUND);
    assert!(again.body.is_empty());
    let entries = fixture.context.logins.entries();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].user, "bridge");
    assert_eq!(entries[0].way, LoginWay::FormScram);
    assert_eq!(entries[0].outcome, LoginOutcome::Success);
}

#[test]
fn the_login_works_without_its_first_step_and_on_every_path() {
    for path in ["/j_security_check", "/prelogin/j_security_check/", CHECK] {
        let fixture = Fixture::new();
        let mut user = Browser::new(&fixture);
        let proof = user.challenge(BRIDGE).expect("a challenge");
        let body = format!(
            "action=sendClientFinalMessage&clientFinalMessage={}",
            proof.message
        );
        let media_type = "application/x-niagara-login-support";
        assert_eq!(
            text(&user.post(path, media_type, &body)),
            proof.server_final
        );
        assert_eq!(user.post(path, media_type, "").status, StatusCode::FOUND);
        assert_eq!(user.get("/ord/station:").status, StatusCode::OK);
    }
}

#[test]
fn the_user_name_may_stand_in_the_query() {
    let fixture = Fixture::new();
    let mut user = Browser::new(&fixture);
    user.post("/prelogin?j_username=bridge", "text/plain", "");
    assert_eq!(user.cookie("niagara_userid").as_deref(), Some("bridge"));
    user.get("/prelogin?clear=true");
    assert_eq!(user.cookie("niagara_userid"), None);
}

#[test]
fn without_the_last_request_nobody_is_logged_in() {
    let fixture = Fixture::new();
    let mut user = Browser::new(&fixture);
    assert!(user.scram(BRIDGE).is_some());
    assert_eq!(user.get("/ord/station:").status, StatusCode::FOUND);
    user.get(CHECK);
    assert_eq!(user.get("/ord/station:").status, StatusCode::OK);
}

#[test]
fn the_session_id_changes_when_the_switch_says() {
    for (renewal, after_3, after_4) in [
        (SessionRenewal::AfterStep3, true, false),
        (SessionRenewal::AfterStep4, false, true),
        (SessionRenewal::Never, false, false),
    ] {
        let fixture = Fixture::new();
        fixture.change(|s| s.login.session_renewal = renewal);
        let mut user = Browser::new(&fixture);
        let proof = user.challenge(BRIDGE).expect("a challenge");
        let challenged = user.cookie("JSESSIONID");
        user.login_message(
            "sendClientFinalMessage",
            "clientFinalMessage",
            &proof.message,
        );
        let proven = user.cookie("JSESSIONID");
        user.get(CHECK);
        let complete = user.cookie("JSESSIONID");
        assert_eq!(challenged != proven, after_3, "{renewal:?}");
        assert_eq!(proven != complete, after_4, "{renewal:?}");
        assert_eq!(user.get("/ord/station:").status, StatusCode::OK);
    }
}

#[test]
fn the_reply_to_client_first_sets_the_cookie_as_the_switch_says() {
    for (switch, expected) in [
        (ClientFirstCookie::Always, true),
        (ClientFirstCookie::OnlyWithoutValidCookie, false),
    ] {
        let fixture = Fixture::new();
        fixture.change(|s| s.login.client_first_cookie = switch);
        let mut user = Browser::new(&fixture);
        user.prelogin("bridge");
        let answer = user.login_message(
            "sendClientFirstMessage",
            "clientFirstMessage",
            "n,,n=bridge,r=abc",
        );
        let sets = answer.headers.get_all(SET_COOKIE).iter().any(|line| {
            line.to_str()
                .is_ok_and(|line| line.starts_with("JSESSIONID="))
        });
        assert_eq!(sets, expected);
    }
}

#[test]
fn several_session_cookies_are_all_tried() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    user.cookies
        .insert(0, ("JSESSIONID".into(), "stale".into()));
    user.cookies.push(("JSESSIONID".into(), "other".into()));
    user.cookies.push(("Path".into(), "/".into()));
    assert_eq!(user.get("/ord/station:").status, StatusCode::OK);
}

#[test]
fn a_wrong_password_is_refused_in_each_way_and_logged_once() {
    for (answer, status, place, body) in [
        (
            BadProofAnswer::Unauthorized,
            StatusCode::UNAUTHORIZED,
            "",
            "",
        ),
        (
            BadProofAnswer::RedirectFail,
            StatusCode::FOUND,
            "/login?auth=fail",
            "",
        ),
        (
            BadProofAnswer::OkWithoutSignature,
            StatusCode::OK,
            "",
            "failed",
        ),
        (
            BadProofAnswer::OkWithError,
            StatusCode::OK,
            "",
            "e=other-error",
        ),
    ] {
        let fixture = Fixture::new();
        fixture.change(|s| s.login.bad_proof = answer);
        let mut user = Browser::new(&fixture);
        let proof = user.challenge(wrong(BRIDGE)).expect("a challenge");
        let refusal = user.login_message(
            "sendClientFinalMessage",
            "clientFinalMessage",
            &proof.message,
        );
        assert_eq!(refusal.status, status);
        assert_eq!(location(&refusal), place);
        assert_eq!(text(&refusal), body);
        assert!(user.cookie("niagara_failure_cause").is_some());
        assert_eq!(location(&user.get(CHECK)), "/login?auth=fail");
        assert_eq!(outcomes(&fixture), [LoginOutcome::BadProof]);
    }
}

#[test]
fn a_wrong_server_signature_can_be_forced() {
    let fixture = Fixture::new();
    fixture.change(|s| s.login.wrong_server_signature = true);
    let mut user = Browser::new(&fixture);
    let proof = user.challenge(BRIDGE).expect("a challenge");
    let answer = user.login_message(
        "sendClientFinalMessage",
        "clientFinalMessage",
        &proof.message,
    );
    assert_eq!(answer.status, StatusCode::OK);
    assert!(text(&answer).starts_with("v="));
    assert_ne!(text(&answer), proof.server_final);
    assert_eq!(text(&answer).len(), proof.server_final.len());
}

#[test]
fn an_unknown_user_gets_the_same_invented_salt_each_time() {
    let fixture = Fixture::new();
    let mut visitor = Browser::new(&fixture);
    let mut salt = || {
        let answer = visitor.login_message(
            "sendClientFirstMessage",
            "clientFirstMessage",
            "n,,n=nobody,r=abc",
        );
        let body = text(&answer);
        body.split(',').nth(1).map(str::to_owned).expect("a salt")
    };
    let first = salt();
    assert_eq!(salt(), first);
    let nobody = crate::model::accounts::Account {
        user: "nobody",
        password: "x",
    };
    assert!(visitor.scram(nobody).is_none());
    assert_eq!(outcomes(&fixture), [LoginOutcome::UnknownUser]);
    fixture.change(|s| s.login.unknown_user = UnknownUserAnswer::Unauthorized);
    assert!(visitor.challenge(nobody).is_none());
}

#[test]
fn a_basic_user_cannot_start_a_scram_login() {
    let fixture = Fixture::new();
    let mut user = Browser::new(&fixture);
    assert!(user.challenge(OBIX).is_none());
    assert_eq!(outcomes(&fixture), [LoginOutcome::WrongScheme]);
}

#[test]
fn five_bad_logins_lock_the_account_for_a_while() {
    let fixture = Fixture::new();
    let mut user = Browser::new(&fixture);
    for _ in 0..5 {
        assert!(user.scram(wrong(BRIDGE)).is_none());
    }
    assert!(
        user.scram(BRIDGE).is_none(),
        "locked: the right password fails too"
    );
    assert_eq!(outcomes(&fixture).last(), Some(&LoginOutcome::Locked));
    fixture.advance(11);
    assert!(user.scram(BRIDGE).is_some());
}

#[test]
fn without_lockout_a_sixth_try_succeeds() {
    let fixture = Fixture::new();
    fixture.change(|s| s.login.lockout = false);
    let mut user = Browser::new(&fixture);
    for _ in 0..5 {
        assert!(user.scram(wrong(BRIDGE)).is_none());
    }
    assert!(user.scram(BRIDGE).is_some());
}

#[test]
fn an_open_licence_agreement_stands_before_every_page() {
    let fixture = Fixture::new();
    fixture.change(|s| s.login.eula_pending = true);
    let mut user = Browser::new(&fixture);
    assert!(user.scram(BRIDGE).is_some());
    assert_eq!(location(&user.get(CHECK)), "/prelogin");
    assert_eq!(location(&user.get("/ord/station:")), "/prelogin");
    assert!(text(&user.get("/prelogin")).contains("acceptEula"));
    user.post(
        CHECK,
        "application/x-niagara-login-support",
        "action=acceptEula",
    );
    assert_eq!(user.get("/ord/station:").status, StatusCode::OK);
}

#[test]
fn accepting_the_agreement_may_be_the_third_request() {
    let fixture = Fixture::new();
    let mut user = Browser::new(&fixture);
    assert!(user.scram(BRIDGE).is_some());
    user.post(
        CHECK,
        "application/x-niagara-login-support",
        "action=acceptEula",
    );
    assert_eq!(user.get("/ord/station:").status, StatusCode::OK);
}

#[test]
fn an_idle_session_expires_on_the_station_clock() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    fixture.advance(899);
    assert_eq!(user.get("/ord/station:").status, StatusCode::OK);
    let login = &fixture.context.switches.get().login;
    let sessions = &fixture.context.sessions;
    assert_eq!(
        sessions.authenticated_count(fixture.context.now(), login),
        1
    );
    fixture.advance(901);
    assert_eq!(location(&user.get("/ord/station:")), "/login");
    assert_eq!(
        sessions.authenticated_count(fixture.context.now(), login),
        0
    );
}

#[test]
fn time_left_is_a_plain_number() {
    let fixture = Fixture::new();
    fixture.change(|s| s.login.session_idle = std::time::Duration::from_secs(120));
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let form = "application/x-www-form-urlencoded";
    assert_eq!(text(&user.post("/timeout", form, "offset=20000")), "100000");
    assert_eq!(
        text(&user.post("/session/timeout", form, "offset=999999")),
        "0"
    );
}

#[test]
fn a_single_session_user_loses_the_older_session() {
    let fixture = Fixture::new();
    {
        let mut station = fixture.context.station.write();
        let account = station
            .users
            .get_mut(VIEWER.user)
            .expect("the account exists");
        account.allow_concurrent_sessions = false;
    }
    let mut first = Browser::logged_in(&fixture, VIEWER);
    let mut second = Browser::logged_in(&fixture, VIEWER);
    assert_eq!(first.get("/ord/station:").status, StatusCode::FOUND);
    assert_eq!(second.get("/ord/station:").status, StatusCode::OK);
}

#[test]
fn logout_needs_the_token_and_ends_the_session() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    assert_eq!(user.get("/logout").status, StatusCode::FORBIDDEN);
    let token = user.csrf_token();
    let answer = user.get(&format!("/logout?csrfToken={token}"));
    assert_eq!(location(&answer), "/prelogin");
    assert_eq!(user.get("/ord/station:").status, StatusCode::FOUND);
    let mut other = Browser::logged_in(&fixture, BRIDGE);
    fixture.change(|s| s.login.csrf_logout = false);
    assert_eq!(other.get("/logout").status, StatusCode::FOUND);
}

#[test]
fn anonymous_answers_follow_the_switch() {
    let fixture = Fixture::new();
    let mut visitor = Browser::new(&fixture);
    fixture.change(|s| s.login.unauthenticated = UnauthenticatedAnswer::RedirectPrelogin);
    assert_eq!(location(&visitor.get("/ord/station:")), "/prelogin");
    fixture.change(|s| s.login.unauthenticated = UnauthenticatedAnswer::Unauthorized);
    assert_eq!(visitor.get("/box/").status, StatusCode::UNAUTHORIZED);
}

#[test]
fn broken_login_messages_are_refused_and_logged() {
    let fixture = Fixture::new();
    let mut user = Browser::new(&fixture);
    for (action, name, message) in [
        ("sendClientFirstMessage", "clientFirstMessage", "nonsense"),
        (
            "sendClientFinalMessage",
            "clientFinalMessage",
            "c=biws,r=x,p=y",
        ),
        ("somethingElse", "x", "y"),
    ] {
        let answer = user.login_message(action, name, message);
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{action}");
    }
    assert_eq!(outcomes(&fixture), [LoginOutcome::Malformed; 3]);
}
