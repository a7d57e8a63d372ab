//! One request of a login, and what its answer says.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, SET_COOKIE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

use super::challenge::Challenge;
use super::expiry::{is_login_page, is_login_path, redirect_target, shown_path};
use super::markup::begins_like_markup;
use super::session::{Inner, sensitive};
use crate::station::error::StationError;
use crate::station::http::{CallScope, HttpRequest, TimeoutClass};

/// Login pages and the home page are smaller; the token stands near their top.
const PAGE_BYTES: usize = 256 << 10;

/// One request of a login.
pub(super) struct Step<'a> {
    method: Method,
    target: &'a str,
    content_type: Option<&'static str>,
    body: Bytes,
    authorization: Option<String>,
    cookies: bool,
}

/// Its answer, body included.
pub(super) struct Answer {
    pub(super) asked: Url,
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) location: Option<Url>,
    pub(super) body: Bytes,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        method: Method,
        target: &'a str,
        content_type: Option<&'static str>,
        body: Bytes,
    ) -> Self {
        Self {
            method,
            target,
            content_type,
            body,
            authorization: None,
            cookies: true,
        }
    }

    pub(super) fn get(target: &'a str) -> Self {
        Self::new(Method::GET, target, None, Bytes::new())
    }

    pub(super) fn post(target: &'a str, content_type: &'static str, body: String) -> Self {
        Self::new(Method::POST, target, Some(content_type), body.into())
    }

    pub(super) fn anonymous(mut self) -> Self {
        self.cookies = false;
        self
    }

    pub(super) fn with_authorization(mut self, value: String) -> Self {
        self.authorization = Some(value);
        self
    }

    pub(super) fn authorised(mut self, session: &Inner) -> Self {
        self.authorization = session
            .state()
            .authorization
            .as_ref()
            .map(|value| value.expose().to_owned());
        self
    }

    pub(super) async fn send(self, session: &Inner) -> Result<Answer, StationError> {
        self.send_noting(session, &AtomicBool::new(false)).await
    }

    /// Sends the proof of the password: until an answer comes, the station may have counted a bad login.
    pub(super) async fn send_proof(self, session: &Inner) -> Result<Answer, StationError> {
        let answer = self.send_noting(session, &session.proof_is_out).await?;
        // A gateway answers for itself: the station behind it may have judged the proof.
        if !matches!(answer.status, 502 | 504) {
            session.proof_is_out.store(false, Ordering::Relaxed);
        }
        Ok(answer)
    }

    pub(super) async fn send_noting(
        self,
        session: &Inner,
        sent: &AtomicBool,
    ) -> Result<Answer, StationError> {
        let url = session.url(self.target)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        if let Some(content_type) = self.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, sensitive(authorization)?);
        }
        let cookies = session
            .state()
            .jar
            .header(url.path(), url.scheme() == "https");
        if let Some(cookies) = cookies.filter(|_| self.cookies) {
            headers.insert(COOKIE, sensitive(&cookies)?);
        }
        let request = HttpRequest {
            method: self.method,
            url: url.clone(),
            headers,
            body: self.body,
        };
        let scope = CallScope::unlimited();
        let response = session
            .http
            .send(request, TimeoutClass::Standard, &scope, sent)
            .await?;
        if self.cookies {
            session.state().jar.store(&response.headers);
        }
        Ok(Answer {
            location: redirect_target(&response, &url),
            asked: url,
            status: response.status,
            headers: response.headers.clone(),
            body: response.into_body().first_bytes(PAGE_BYTES).await?,
        })
    }
}

impl Answer {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn wants_login(&self) -> bool {
        self.status == 401
            || self
                .location
                .as_ref()
                .is_some_and(|next| is_login_path(next.path()))
            || (self.status == 200 && is_login_page(&self.body))
    }

    /// Marks that only a Niagara login leaves: its housekeeping cookies (Station web specification §2.5) or its page.
    pub(super) fn is_of_niagara(&self) -> bool {
        self.headers
            .get_all(SET_COOKIE)
            .iter()
            .any(|cookie| cookie.as_bytes().starts_with(b"niagara_"))
            || is_login_page(&self.body)
    }

    /// A refusal as stations word it when the user has another scheme (Station web specification §2.3, "Failures").
    pub(super) fn turns_away(&self) -> bool {
        let is_text = !begins_like_markup(&self.body) && !self.body.trim_ascii().starts_with(b"{");
        self.wants_login() || matches!(self.status, 400 | 403) || (self.status == 200 && is_text)
    }

    /// The SCRAM challenge of a handshake step.
    pub(super) fn challenge(&self) -> Option<Challenge> {
        self.headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .find_map(Challenge::scram)
            .filter(|_| self.status == 401)
    }

    /// What arrived, without anything secret: the status and where a redirect leads.
    pub(super) fn describe(&self) -> String {
        match &self.location {
            Some(next) => format!("HTTP {} to {}", self.status, shown_path(next)),
            None if self.status == 200 && begins_like_markup(&self.body) => {
                "an HTML page (HTTP 200)".to_owned()
            }
            None if self.status == 200 => "HTTP 200 with an unexpected body".to_owned(),
            None => format!("HTTP {}", self.status),
        }
    }
}
