//! The station's HTML pages: login, errors, views.

use std::fmt::Write as _;

use http::StatusCode;

use crate::server::PlainResponse;

/// The login page's script, which does the form login of §2.3 in a browser.
pub(crate) const LOGIN_SCRIPT: &str = include_str!("loginN4.js");

/// Text made safe for HTML content and quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn page(status: StatusCode, title: &str, body: &str) -> PlainResponse {
    let html = format!(
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    );
    PlainResponse::html(status, html)
        .with_header("x-frame-options", "SAMEORIGIN")
        .with_header("x-content-type-options", "nosniff")
        .with_header("x-xss-protection", "1; mode=block")
        .with_header("content-security-policy", "default-src 'self'")
        .with_header("cross-origin-opener-policy", "same-origin")
        .with_header("cache-control", "no-store")
}

/// The user-name step.
pub(crate) fn user_name() -> PlainResponse {
    page(
        StatusCode::OK,
        "Login",
        "<h1>Login</h1>\n\
         <form id=\"prelogin\" method=\"post\" action=\"/prelogin\">\n\
         <label>Username <input id=\"username\" name=\"j_username\" autocomplete=\"username\" autofocus></label>\n\
         <button id=\"login-submit\" type=\"submit\">Login</button>\n\
         </form>\n\
         <script src=\"/login/loginN4.js\"></script>\n",
    )
}

/// The password step, with a message after a failed attempt.
pub(crate) fn password(user: &str, message: Option<&str>) -> PlainResponse {
    let mut body = String::from("<h1>Login</h1>\n");
    if let Some(message) = message {
        let _ = writeln!(body, "<p id=\"login-error\">{}</p>", escape(message));
    }
    let _ = write!(
        body,
        "<form id=\"login\" method=\"post\" action=\"/j_security_check/\">\n\
         <input type=\"hidden\" id=\"username\" name=\"j_username\" value=\"{}\">\n\
         <label>Password <input id=\"password\" type=\"password\" autocomplete=\"current-password\" autofocus></label>\n\
         <button id=\"login-submit\" type=\"submit\">Login</button>\n\
         <a href=\"/prelogin?clear=true\">Change user</a>\n\
         </form>\n\
         <script src=\"/login/loginN4.js\"></script>\n",
        escape(user)
    );
    page(StatusCode::OK, "Login", &body)
}

/// The licence agreement, shown instead of every page until it is accepted.
pub(crate) fn eula() -> PlainResponse {
    page(
        StatusCode::OK,
        "End User License Agreement",
        "<h1>End User License Agreement</h1>\n\
         <p>The agreement must be accepted before the station can be used.</p>\n\
         <form id=\"eula\" method=\"post\" action=\"/j_security_check/\">\n\
         <input type=\"hidden\" name=\"action\" value=\"acceptEula\">\n\
         <button type=\"submit\">Accept</button>\n\
         </form>\n\
         <script src=\"/login/loginN4.js\"></script>\n",
    )
}

/// An error page; every error body of the ord servlet is HTML (§3.1).
pub(crate) fn error(status: StatusCode, title: &str, detail: &str) -> PlainResponse {
    let body = format!(
        "<h1>{} {}</h1>\n<p>{}</p>\n",
        status.as_u16(),
        escape(title),
        escape(detail)
    );
    page(status, &format!("Error {}", status.as_u16()), &body)
}

/// The page of a failed query, with a stack trace or an opaque reference.
pub(crate) fn failure(detail: &str, stack_trace: bool) -> PlainResponse {
    let body = if stack_trace {
        format!(
            "<h1>500 Internal Server Error</h1>\n<pre>javax.baja.naming.UnresolvedException: {}\n\tat javax.baja.naming.BOrd.resolve(BOrd.java)\n\tat com.tridium.web.servlets.OrdServlet.doGet(OrdServlet.java)\n</pre>\n",
            escape(detail)
        )
    } else {
        format!(
            "<h1>500 Internal Server Error</h1>\n<p>Reference {}. See the station's log.</p>\n",
            super::random::token(9)
        )
    };
    page(StatusCode::INTERNAL_SERVER_ERROR, "Error 500", &body)
}

/// A rendered view: heading, CSRF input, rows of name and text.
pub(crate) fn view(
    title: &str,
    csrf_token: &str,
    rows: impl Iterator<Item = (String, String)>,
) -> PlainResponse {
    let mut body = format!(
        "<h1>{}</h1>\n<input type=\"hidden\" id=\"csrfToken\" name=\"csrfToken\" value=\"{}\">\n<table>\n",
        escape(title),
        escape(csrf_token)
    );
    for (name, text) in rows {
        let _ = writeln!(
            body,
            "<tr><th>{}</th><td>{}</td></tr>",
            escape(&name),
            escape(&text)
        );
    }
    body.push_str("</table>\n");
    page(StatusCode::OK, title, &body)
}

/// A page around a ready HTML fragment, with the CSRF input.
pub(crate) fn fragment(title: &str, csrf_token: &str, fragment: &str) -> PlainResponse {
    let body = format!(
        "<input type=\"hidden\" id=\"csrfToken\" name=\"csrfToken\" value=\"{}\">\n{fragment}",
        escape(csrf_token)
    );
    page(StatusCode::OK, title, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(response: &PlainResponse) -> String {
        String::from_utf8_lossy(&response.body).into_owned()
    }

    #[test]
    fn login_pages_name_the_script_and_escape_the_user() {
        let html = text(&password("a\"<b>", Some("no & no")));
        assert!(html.contains("login/loginN4.js"));
        assert!(html.contains("value=\"a&quot;&lt;b&gt;\""));
        assert!(html.contains("no &amp; no"));
    }

    #[test]
    fn a_view_carries_the_token_with_id_before_value() {
        let html = text(&view("x", "tok", std::iter::empty()));
        assert!(html.contains("id=\"csrfToken\" name=\"csrfToken\" value=\"tok\""));
    }

    #[test]
    fn a_failure_shows_the_detail_only_with_a_stack_trace() {
        assert!(text(&failure("secret detail", true)).contains("secret detail"));
        assert!(!text(&failure("secret detail", false)).contains("secret detail"));
    }
}
