//! Requests and responses as the servlets see them, free of the HTTP library's bodies.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode_str;

/// A whole request, with target and query as they came over the wire (not percent-decoded).
#[derive(Clone)]
pub struct PlainRequest {
    pub method: Method,
    pub raw_path: String,
    pub raw_query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether it came over TLS.
    pub secure: bool,
}

/// Headers and body may hold credentials and are not shown.
impl fmt::Debug for PlainRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PlainRequest")
            .field("method", &self.method)
            .field("raw_path", &self.raw_path)
            .finish_non_exhaustive()
    }
}

impl PlainRequest {
    /// First value of a header as text; none when absent or not visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body as text; bytes that are not UTF-8 become U+FFFD.
    pub fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A parameter of the query string, decoded as HTML forms are (`+` is a blank).
    pub fn query_parameter(&self, name: &str) -> Option<String> {
        form_parameter(self.raw_query.as_deref().unwrap_or(""), name)
    }

    /// A parameter of a form body, decoded as HTML forms are.
    pub fn body_parameter(&self, name: &str) -> Option<String> {
        form_parameter(&self.body_text(), name)
    }

    /// Bytes of request line and header lines as a server counts them against its limit.
    pub fn head_size(&self) -> usize {
        let query = self.raw_query.as_ref().map_or(0, |q| q.len() + 1);
        let line =
            self.method.as_str().len() + 1 + self.raw_path.len() + query + " HTTP/1.1\r\n".len();
        let headers: usize = self
            .headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
            .sum();
        line + headers + 2
    }
}

/// One parameter of `a=b&c=d` text, decoded as HTML forms are.
pub fn form_parameter(text: &str, name: &str) -> Option<String> {
    text.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (form_decode(key) == name).then(|| form_decode(value))
    })
}

fn form_decode(text: &str) -> String {
    let blanks = text.replace('+', " ");
    percent_decode_str(&blanks).decode_utf8_lossy().into_owned()
}

/// A whole response.
#[derive(Clone, Debug)]
pub struct PlainResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl PlainResponse {
    pub fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// A response with a body of the given media type.
    pub fn content(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut response = Self::new(status);
        response
            .headers
            .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        response.body = body.into();
        response
    }

    pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::content(status, "text/plain;charset=utf-8", body)
    }

    pub fn html(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::content(status, "text/html;charset=utf-8", body)
    }

    pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::content(status, "application/json", body)
    }

    pub fn xml(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::content(status, "text/xml;charset=utf-8", body)
    }

    /// A redirect; a location that is no header text becomes `/`.
    pub fn redirect(status: StatusCode, location: &str) -> Self {
        let mut response = Self::new(status);
        let value =
            HeaderValue::from_str(location).unwrap_or_else(|_| HeaderValue::from_static("/"));
        response.headers.insert(LOCATION, value);
        response
    }

    /// Adds a header, keeping earlier ones of the same name; text that is no header value is left out.
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(HeaderName::from_static(name), value);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_parameters_are_decoded() {
        assert_eq!(
            form_parameter("a=1&j_username=g%C3%BCn+ther", "j_username").as_deref(),
            Some("gün ther")
        );
        assert_eq!(form_parameter("a=1", "b"), None);
    }
}
