//! How a station says "not authenticated" (Station web specification §1).

use bytes::{Bytes, BytesMut};
use http::header::LOCATION;
use url::Url;

use crate::station::error::StationError;
use crate::station::http::{HttpBody, HttpResponse};

/// A login page shows its markers within its first part.
const PEEK_BYTES: usize = 64 << 10;
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Where a redirect leads, seen from the request.
pub(super) fn redirect_target(answer: &HttpResponse, asked: &Url) -> Option<Url> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = answer.headers.get(LOCATION)?.to_str().ok()?;
    asked.join(location).ok()
}

/// The path as error texts show it: servers may write the session's id behind a semicolon.
pub(super) fn shown_path(url: &Url) -> &str {
    let path = url.path();
    path.split_once(';').map_or(path, |(shown, _)| shown)
}

pub(super) fn is_login_path(path: &str) -> bool {
    path.starts_with("/login") || path.starts_with("/prelogin")
}

/// Media types that no login page has; CSV is not among them, because stations label it in many ways.
pub(super) fn is_data(content_type: &str) -> bool {
    ["xml", "json", "image", "pdf", "octet-stream"]
        .iter()
        .any(|kind| content_type.contains(kind))
}

/// Markers of the station's login pages (Station web specification §1).
pub(super) fn is_login_page(page: &[u8]) -> bool {
    let text = String::from_utf8_lossy(page);
    text.contains("j_security_check") || text.contains("login/loginN4.js")
}

/// Reads the beginning of a body that claims to be HTML and puts it back.
pub(super) async fn peek(body: &mut HttpBody) -> Result<Bytes, StationError> {
    let mut page = BytesMut::new();
    while page.len() < PEEK_BYTES {
        match body.chunk().await? {
            Some(piece) => page.extend_from_slice(&piece),
            None => break,
        }
        let first = page
            .iter()
            .find(|b| !b.is_ascii_whitespace() && !BOM.contains(b));
        if first.is_some_and(|b| *b != b'<') {
            break;
        }
    }
    let page = page.freeze();
    if !page.is_empty() {
        body.put_back(page.clone());
    }
    Ok(page)
}
