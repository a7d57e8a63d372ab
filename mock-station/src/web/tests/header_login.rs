use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::StatusCode;

use super::browser::{BRIDGE, Browser, Proof, location, text, wrong};
use super::fixture::Fixture;
use crate::model::accounts::{Account, OBIX, VIEWER};
use crate::server::{LoginOutcome, LoginWay, PlainResponse};
use crate::switches::{BasicRefusal, HandshakeToken, ObixMode};

fn parameter(header: &str, key: &str) -> Option<String> {
    header
        .split(',')
        .find_map(|pair| pair.trim().trim_start_matches("SCRAM ").strip_prefix(key))
        .and_then(|rest| rest.strip_prefix('='))
        .map(str::to_owned)
}

fn challenge_of(response: &PlainResponse) -> String {
    assert_eq!(response.status, StatusCode::UNAUTHORIZED);
    let value = response.headers.get("www-authenticate");
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or("")
        .to_owned()
}

const PROBE: &str = "/ord/station:%7Cslot:/%7Cbql:select%20stationName%20from%20baja:Station%7Cview:file:ITableToCsv";

struct Handshake {
    tokens: [String; 2],
    end: PlainResponse,
    proof: Proof,
}

fn handshake(client: &mut Browser<'_>, account: Account, alphabet: &dyn Engine2) -> Handshake {
    client.authorize(&format!(
        "HELLO username={}",
        URL_SAFE_NO_PAD.encode(account.user)
    ));
    let hello = challenge_of(&client.get(PROBE));
    assert_eq!(parameter(&hello, "hash").as_deref(), Some("SHA-256"));
    let first_token = parameter(&hello, "handshakeToken").expect("a token");
    let first = format!("n={},r=clientnonce01", account.user);
    let data = alphabet.text(&format!("n,,{first}"));
    client.authorize(&format!("SCRAM data={data}, handshakeToken={first_token}"));
    let second = challenge_of(&client.get(PROBE));
    let second_token = parameter(&second, "handshakeToken").expect("a token");
    let data = parameter(&second, "data").expect("server-first");
    let server_first = URL_SAFE_NO_PAD.decode(data).expect("base64url");
    let server_first = String::from_utf8(server_first).expect("UTF-8");
    let proof = Proof::of(&first, &server_first, account.password);
    let data = alphabet.text(&proof.message);
    client.authorize(&format!(
        "scram HANDSHAKETOKEN=\"{second_token}\", data={data}"
    ));
    let end = client.get(PROBE);
    Handshake {
        tokens: [first_token, second_token],
        end,
        proof,
    }
}

/// The two base64 spellings that clients send.
trait Engine2 {
    fn text(&self, message: &str) -> String;
}

struct UrlSafe;
struct Standard;

impl Engine2 for UrlSafe {
    fn text(&self, message: &str) -> String {
        URL_SAFE_NO_PAD.encode(message)
    }
}

impl Engine2 for Standard {
    fn text(&self, message: &str) -> String {
        STANDARD.encode(message)
    }
}

#[test]
fn the_handshake_ends_with_the_page_and_a_token_that_opens_the_station() {
    for alphabet in [&UrlSafe as &dyn Engine2, &Standard] {
        let fixture = Fixture::new();
        let mut client = Browser::new(&fixture);
        let login = handshake(&mut client, BRIDGE, alphabet);
        assert_eq!(login.end.status, StatusCode::OK);
        assert!(
            text(&login.end).ends_with("\nTest\n"),
            "the probe's own answer"
        );
        let info = login.end.headers["authentication-info"]
            .to_str()
            .expect("ASCII");
        let server_final = URL_SAFE_NO_PAD
            .decode(parameter(info, "data").expect("server-final"))
            .expect("base64url");
        assert_eq!(server_final, login.proof.server_final.as_bytes());
        let token = parameter(info, "authToken").expect("a token");
        assert_ne!(login.tokens[0], login.tokens[1]);
        client.authorize(&format!("BEARER authToken={token}"));
        assert_eq!(client.get(PROBE).status, StatusCode::OK);
        assert!(client.cookies.is_empty(), "no cookies in this way");
        fixture.advance(901);
        assert_eq!(client.get(PROBE).status, StatusCode::UNAUTHORIZED);
        let entries = fixture.context.logins.entries();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].way, LoginWay::HeaderScram);
        assert_eq!(entries[0].outcome, LoginOutcome::Success);
    }
}

#[test]
fn the_token_can_stay_the_same() {
    let fixture = Fixture::new();
    fixture.change(|s| s.login.handshake_token = HandshakeToken::Unchanged);
    let mut client = Browser::new(&fixture);
    let login = handshake(&mut client, BRIDGE, &UrlSafe);
    assert_eq!(login.tokens[0], login.tokens[1]);
    assert_eq!(login.end.status, StatusCode::OK);
}

#[test]
fn a_wrong_password_is_a_401_without_another_challenge() {
    let fixture = Fixture::new();
    let mut client = Browser::new(&fixture);
    let login = handshake(&mut client, wrong(BRIDGE), &UrlSafe);
    assert_eq!(challenge_of(&login.end), "");
    let outcomes: Vec<_> = fixture.context.logins.entries();
    assert_eq!(outcomes[0].outcome, LoginOutcome::BadProof);
}

#[test]
fn a_basic_user_is_told_so_after_hello() {
    let fixture = Fixture::new();
    let mut client = Browser::new(&fixture);
    client.authorize(&format!(
        "HELLO username={}",
        URL_SAFE_NO_PAD.encode("obix")
    ));
    assert!(challenge_of(&client.get(PROBE)).starts_with("Basic "));
}

#[test]
fn without_header_authentication_hello_is_an_anonymous_request() {
    let fixture = Fixture::new();
    fixture.change(|s| s.login.header_auth = false);
    let mut client = Browser::new(&fixture);
    client.authorize("HELLO username=YnJpZGdl");
    assert_eq!(location(&client.get(PROBE)), "/login");
}

#[test]
fn basic_users_come_in_with_every_request_and_keep_one_session() {
    let fixture = Fixture::new();
    let mut client = Browser::basic(&fixture, OBIX);
    assert_eq!(client.get(PROBE).status, StatusCode::OK);
    let session = client.cookie("JSESSIONID").expect("a session cookie");
    assert_eq!(client.get(PROBE).status, StatusCode::OK);
    assert_eq!(client.cookie("JSESSIONID"), Some(session));
    let count = || {
        let login = &fixture.context.switches.get().login;
        let sessions = &fixture.context.sessions;
        sessions.authenticated_count(fixture.context.now(), login)
    };
    assert_eq!(count(), 1);
    client.cookies.clear();
    client.get(PROBE);
    assert_eq!(
        count(),
        2,
        "a client without cookies opens a session each time"
    );
    client.cookies.clear();
    assert_eq!(location(&client.get("/")), "/login", "pages need a login");
}

#[test]
fn basic_credentials_that_do_not_fit_get_a_redirect_or_401() {
    let fixture = Fixture::new();
    for (account, outcome) in [
        (wrong(OBIX), LoginOutcome::BadProof),
        (VIEWER, LoginOutcome::WrongScheme),
    ] {
        let mut client = Browser::basic(&fixture, account);
        assert_eq!(location(&client.get(PROBE)), "/login");
        let on_box = client.post("/box/", "application/json", "{}");
        assert_eq!(on_box.status, StatusCode::UNAUTHORIZED);
        fixture.change(|s| s.login.basic_refused = BasicRefusal::Unauthorized);
        assert_eq!(client.get(PROBE).status, StatusCode::UNAUTHORIZED);
        fixture.change(|s| s.login.basic_refused = BasicRefusal::RedirectLogin);
        let last = fixture.context.logins.entries().pop().expect("an entry");
        assert_eq!((last.outcome, last.way), (outcome, LoginWay::Basic));
    }
}

#[test]
fn obix_can_be_closed_to_basic_alone() {
    let fixture = Fixture::new();
    let mut client = Browser::basic(&fixture, OBIX);
    fixture.change(|s| s.obix.mode = ObixMode::DigestOnly);
    assert_eq!(client.get("/obix/").status, StatusCode::UNAUTHORIZED);
    fixture.change(|s| s.obix.mode = ObixMode::RedirectLogin);
    assert_eq!(location(&client.get("/obix/")), "/login");
    assert_eq!(client.get(PROBE).status, StatusCode::OK);
    assert!(
        fixture
            .context
            .logins
            .entries()
            .iter()
            .all(|entry| entry.outcome == LoginOutcome::Success)
    );
}
