//! What the faults that hit one request do to it.

use std::time::Duration;

use chrono::TimeDelta;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::FaultKind;
use super::delivery::{Delivery, Drip};
use crate::server::{PlainRequest, PlainResponse, ServerContext};
use crate::switches::{AccountSchemes, ObixMode, OrdForms, Switches};
use crate::web;

/// The faults of one request, in the order they were set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    hits: Vec<FaultKind>,
}

impl Plan {
    pub(crate) fn new(hits: Vec<FaultKind>) -> Self {
        Self { hits }
    }

    /// The wait before anything else happens.
    pub(crate) fn latency(&self) -> Duration {
        self.hits
            .iter()
            .map(|hit| match hit {
                FaultKind::Latency { millis } => Duration::from_millis(*millis),
                _ => Duration::ZERO,
            })
            .sum()
    }

    /// Whether the connection closes without an answer.
    pub(crate) fn cuts(&self) -> bool {
        self.hits.contains(&FaultKind::Cut)
    }

    /// Whether the connection closes after the work is done, in place of the answer.
    pub(crate) fn cuts_after(&self) -> bool {
        self.hits.contains(&FaultKind::CutAfter)
    }

    /// How long the station is away, if it restarts.
    pub(crate) fn restart(&self) -> Option<Duration> {
        self.hits.iter().find_map(|hit| match hit {
            FaultKind::Restart { down_millis } => Some(Duration::from_millis(*down_millis)),
            _ => None,
        })
    }

    /// The steps the clock is set by.
    pub(crate) fn clock_jumps(&self) -> impl Iterator<Item = TimeDelta> {
        self.hits.iter().filter_map(|hit| match hit {
            FaultKind::ClockJump { seconds } => TimeDelta::try_seconds(*seconds),
            _ => None,
        })
    }

    /// The station as this request sees it.
    pub(crate) fn context(&self, context: &ServerContext) -> ServerContext {
        let mut switches: Option<Switches> = None;
        for hit in &self.hits {
            if is_setting(hit) {
                let switches = switches.get_or_insert_with(|| (*context.switches.get()).clone());
                apply(hit, switches);
            }
        }
        match switches {
            Some(switches) => context.with_switches(switches),
            None => context.clone(),
        }
    }

    /// The answer that comes in place of the servlet's, if any.
    pub(crate) fn refusal(
        &self,
        context: &ServerContext,
        request: &PlainRequest,
    ) -> Option<PlainResponse> {
        self.hits.iter().find_map(|hit| match hit {
            FaultKind::SessionLost => {
                web::end_presented_sessions(context, request);
                Some(page(StatusCode::UNAUTHORIZED))
            }
            FaultKind::TooManyRequests {
                retry_after_seconds,
            } => {
                let response = page(StatusCode::TOO_MANY_REQUESTS);
                Some(match retry_after_seconds {
                    Some(seconds) => response.with_header("retry-after", &seconds.to_string()),
                    None => response,
                })
            }
            FaultKind::ServerError { status } => Some(page(
                StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            )),
            FaultKind::HtmlPage => Some(web::pages::view("Station", "", std::iter::empty())),
            _ => None,
        })
    }

    /// Changes the head of an answer.
    pub(crate) fn alter(&self, response: &mut PlainResponse) {
        for hit in &self.hits {
            if let FaultKind::WrongContentType { media_type } = hit
                && let Ok(value) = HeaderValue::from_str(media_type)
            {
                response.headers.insert(CONTENT_TYPE, value);
            }
        }
    }

    /// How the answer's body leaves.
    pub(crate) fn delivery(&self, body_length: usize) -> Delivery {
        let mut delivery = Delivery::default();
        for hit in &self.hits {
            match hit {
                FaultKind::HalfBody { bytes } => {
                    delivery.cut_at(bytes.unwrap_or(body_length / 2));
                }
                FaultKind::SlowDrip {
                    bytes,
                    pause_millis,
                } => {
                    delivery.drip = Some(Drip {
                        portion: *bytes,
                        pause: Duration::from_millis(*pause_millis),
                    });
                }
                _ => {}
            }
        }
        delivery
    }
}

fn page(status: StatusCode) -> PlainResponse {
    let title = status.canonical_reason().unwrap_or("Error");
    web::pages::error(status, title, "Set by the fault switchboard.")
}

fn is_setting(hit: &FaultKind) -> bool {
    matches!(
        hit,
        FaultKind::ObixUnlicensed { .. }
            | FaultKind::ObixAbsent
            | FaultKind::BoxAbsent
            | FaultKind::OrdForms { .. }
            | FaultKind::BasicOnly
            | FaultKind::DigestOnly
    )
}

fn apply(hit: &FaultKind, switches: &mut Switches) {
    match hit {
        FaultKind::ObixUnlicensed { status: 403 } => switches.obix.mode = ObixMode::Unlicensed403,
        FaultKind::ObixUnlicensed { .. } => switches.obix.mode = ObixMode::Unlicensed500,
        FaultKind::ObixAbsent => switches.obix.mode = ObixMode::NoServlet,
        FaultKind::BoxAbsent => switches.boxs.present = false,
        FaultKind::OrdForms {
            encoded_path,
            literal_path,
            query,
        } => {
            switches.ord.forms = OrdForms {
                encoded_path: *encoded_path,
                literal_path: *literal_path,
                query: *query,
            };
        }
        FaultKind::BasicOnly => switches.login.schemes = AccountSchemes::BasicOnly,
        FaultKind::DigestOnly => switches.login.schemes = AccountSchemes::DigestOnly,
        _ => {}
    }
}
