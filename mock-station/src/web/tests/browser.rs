//! A client that keeps cookies and does SCRAM, written apart from the server's side.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;

use super::fixture::Fixture;
use crate::model::accounts::{self, Account};
use crate::server::{PlainRequest, PlainResponse};

pub(super) const CHECK: &str = "/j_security_check/";

pub(super) struct Browser<'f> {
    fixture: &'f Fixture,
    pub cookies: Vec<(String, String)>,
    pub headers: HeaderMap,
}

impl<'f> Browser<'f> {
    pub(super) fn new(fixture: &'f Fixture) -> Self {
        Self {
            fixture,
            cookies: Vec::new(),
            headers: HeaderMap::new(),
        }
    }

    /// A client that sends Basic credentials with every request.
    pub(super) fn basic(fixture: &'f Fixture, account: Account) -> Self {
        let mut browser = Self::new(fixture);
        let pair = format!("{}:{}", account.user, account.password);
        browser.authorize(&format!("Basic {}", STANDARD.encode(pair)));
        browser
    }

    /// A client that has done the whole form login.
    pub(super) fn logged_in(fixture: &'f Fixture, account: Account) -> Self {
        let mut browser = Self::new(fixture);
        browser.prelogin(account.user);
        assert!(
            browser.scram(account).is_some(),
            "the station proves itself"
        );
        assert_eq!(browser.get(CHECK).status, StatusCode::FOUND);
        browser
    }

    pub(super) fn authorize(&mut self, value: &str) {
        let value = HeaderValue::from_str(value).expect("visible ASCII");
        self.headers.insert(AUTHORIZATION, value);
    }

    pub(super) fn get(&mut self, target: &str) -> PlainResponse {
        self.send(Method::GET, target, None, "")
    }

    pub(super) fn post(&mut self, target: &str, media_type: &str, body: &str) -> PlainResponse {
        self.send(Method::POST, target, Some(media_type), body)
    }

    fn send(
        &mut self,
        method: Method,
        target: &str,
        media_type: Option<&str>,
        body: &str,
    ) -> PlainResponse {
        let mut headers = self.headers.clone();
        if !self.cookies.is_empty() {
            let pairs: Vec<String> = self
                .cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let value = HeaderValue::from_str(&pairs.join("; ")).expect("visible ASCII");
            headers.insert(COOKIE, value);
        }
        if let Some(media_type) = media_type {
            let value = HeaderValue::from_str(media_type).expect("visible ASCII");
            headers.insert(CONTENT_TYPE, value);
        }
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (target.to_owned(), None),
        };
        let request = PlainRequest {
            method,
            raw_path: path,
            raw_query: query,
            headers,
            body: Bytes::from(body.to_owned()),
            secure: false,
        };
        let served = crate::web::handle(&self.fixture.context, request);
        self.keep_cookies(&served.response);
        served.response
    }

    fn keep_cookies(&mut self, response: &PlainResponse) {
        for line in response.headers.get_all(SET_COOKIE) {
            let line = line.to_str().expect("cookies are ASCII");
            let pair = line.split(';').next().unwrap_or("");
            let (name, value) = pair.split_once('=').expect("a cookie is a pair");
            self.cookies.retain(|(known, _)| known != name);
            if !line.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    pub(super) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    }

    pub(super) fn prelogin(&mut self, user: &str) -> PlainResponse {
        let body = format!("j_username={}", utf8_percent_encode(user, NON_ALPHANUMERIC));
        self.post("/prelogin", "application/x-www-form-urlencoded", &body)
    }

    pub(super) fn login_message(
        &mut self,
        action: &str,
        name: &str,
        message: &str,
    ) -> PlainResponse {
        let body = format!("action={action}&{name}={message}");
        self.post(CHECK, "application/x-niagara-login-support", &body)
    }

    /// Steps 2 and 3; the server signature if it verifies.
    pub(super) fn scram(&mut self, account: Account) -> Option<String> {
        let proof = self.challenge(account)?;
        let answer = self.login_message(
            "sendClientFinalMessage",
            "clientFinalMessage",
            &proof.message,
        );
        let text = text(&answer);
        (answer.status == StatusCode::OK && text == proof.server_final).then_some(text)
    }

    /// Step 2; what step 3 has to send and to expect.
    pub(super) fn challenge(&mut self, account: Account) -> Option<Proof> {
        let first = "n=USER,r=clientnonce01".replace("USER", account.user);
        let answer = self.login_message(
            "sendClientFirstMessage",
            "clientFirstMessage",
            &format!("n,,{first}"),
        );
        (answer.status == StatusCode::OK)
            .then(|| Proof::of(&first, &text(&answer), account.password))
    }

    /// The ord's table as CSV text, by form P2.
    pub(super) fn csv(&mut self, ord: &str) -> PlainResponse {
        self.get(&p2(ord))
    }

    pub(super) fn csrf_token(&mut self) -> String {
        let page = text(&self.get("/ord/station:%7Cslot:/"));
        let marker = "id=\"csrfToken\" name=\"csrfToken\" value=\"";
        let start = page.find(marker).expect("the page has a token") + marker.len();
        let rest = &page[start..];
        rest[..rest.find('"').expect("the value is quoted")].to_owned()
    }

    pub(super) fn with_header(&mut self, name: &'static str, value: &str) {
        let value = HeaderValue::from_str(value).expect("visible ASCII");
        self.headers.insert(HeaderName::from_static(name), value);
    }
}

/// The request target of an ord in form P2.
pub(super) fn p2(ord: &str) -> String {
    const LITERAL: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC
        .remove(b':')
        .remove(b'/')
        .remove(b',')
        .remove(b'=')
        .remove(b';')
        .remove(b'(')
        .remove(b')')
        .remove(b'*')
        .remove(b'$')
        .remove(b'.')
        .remove(b'-')
        .remove(b'_')
        .remove(b'~')
        .remove(b'?');
    format!("/ord/{}", utf8_percent_encode(ord, LITERAL))
}

pub(super) fn text(response: &PlainResponse) -> String {
    String::from_utf8(response.body.to_vec()).expect("UTF-8")
}

pub(super) fn location(response: &PlainResponse) -> &str {
    response
        .headers
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("")
}

/// A client-final message and the server-final it must bring.
pub(super) struct Proof {
    pub message: String,
    pub server_final: String,
}

impl Proof {
    pub(super) fn of(first_bare: &str, server_first: &str, password: &str) -> Self {
        let part = |key: &str| {
            server_first
                .split(',')
                .find_map(|part| part.strip_prefix(key))
                .unwrap_or_else(|| panic!("server-first lacks {key}: {server_first}"))
        };
        let iterations = part("i=").parse().ok().and_then(NonZeroU32::new);
        let salt = STANDARD.decode(part("s=")).expect("base64");
        let mut salted = [0; 32];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            iterations.expect("a positive count"),
            &salt,
            password.as_bytes(),
            &mut salted,
        );
        let mac = |key: &[u8], data: &str| {
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data.as_bytes())
        };
        let client_key = mac(&salted, "Client Key");
        let stored = digest::digest(&digest::SHA256, client_key.as_ref());
        let without_proof = format!("c=biws,r={}", part("r="));
        let message = format!("{first_bare},{server_first},{without_proof}");
        let signature = mac(stored.as_ref(), &message);
        let proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(a, b)| a ^ b)
            .collect();
        let server_key = mac(&salted, "Server Key");
        let server = mac(server_key.as_ref(), &message);
        Self {
            message: format!("{without_proof},p={}", STANDARD.encode(proof)),
            server_final: format!("v={}", STANDARD.encode(server)),
        }
    }
}

/// The account with a password that does not fit.
pub(super) fn wrong(account: Account) -> Account {
    Account {
        password: "not the password",
        ..account
    }
}

pub(super) const BRIDGE: Account = accounts::BRIDGE;
