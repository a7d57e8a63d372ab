//! obix.

use http::StatusCode;

use crate::server::{AuthenticatedUser, PlainRequest, PlainResponse, ServerContext};

/// Answers one authenticated request to the oBIX servlet.
pub fn handle(
    _context: &ServerContext,
    _user: &AuthenticatedUser,
    request: PlainRequest,
) -> PlainResponse {
    PlainResponse::text(
        StatusCode::NOT_FOUND,
        format!("nothing is served at {}\n", request.raw_path),
    )
}
