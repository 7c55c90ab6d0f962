//! Approval page, to which the `auth_url` of a request leads.
//!
//! The URL of a request is sent through the app that made it, so knowing it grants nothing. A
//! browser signs in with a link that `endseal signer sign-in` prints. The link works once and sets
//! a cookie that no other site can use. Each form contains a token of its session.

mod html;

use alloc::sync::Arc;

use endseal_service::http_server;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, HeaderValue, LOCATION,
    ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::browser_sessions::{self, Sessions};
use super::handle::Handle;
use super::web;
use crate::control::{Command, Remember, Reply, WaitingView};

const HTML: &str = "text/html; charset=utf-8";
/// Policy for browsers: nothing may be loaded, run, framed or sent to other sites.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// Approval page with its handlers.
pub(super) struct Page {
    handle: Handle,
    sessions: Arc<Sessions>,
    /// Origin of the page, for instance `http://127.0.0.1:8080`.
    origin: String,
}

impl Page {
    pub(super) fn new(handle: Handle, sessions: Arc<Sessions>, origin: String) -> Self {
        Self { handle, sessions, origin }
    }

    /// Serves the page until the future is dropped.
    pub(super) async fn serve(self, listener: TcpListener) {
        let page = Arc::new(self);
        http_server::serve(listener, web::LIMITS, move |request| {
            let page = Arc::clone(&page);
            async move { guarded(page.answer(request).await) }
        })
        .await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<String> {
        let headers = request.headers();
        if !is_own(&self.origin, headers) {
            return html::notice(StatusCode::MISDIRECTED_REQUEST, "This page has another address.");
        }
        let path = request.uri().path();
        if let Some(link) = path.strip_prefix("/sign-in/") {
            return match (request.method() == Method::GET).then(|| self.sessions.enter(link)) {
                Some(Some(cookie)) => signed_in(&cookie, &self.origin),
                _ => html::notice(
                    StatusCode::FORBIDDEN,
                    "This link was already used or has expired. Run: endseal signer sign-in",
                ),
            };
        }
        let Some(token) = cookie(headers).and_then(|cookie| self.sessions.form_token(cookie))
        else {
            return html::notice(
                StatusCode::FORBIDDEN,
                "This browser is not signed in. Run: endseal signer sign-in",
            );
        };
        match (request.method().clone(), path) {
            (Method::GET, "/") => self.list().await,
            (Method::GET, path) => match number(path) {
                Some(id) => self.show(id, &token).await,
                None => html::notice(StatusCode::NOT_FOUND, "There is no such page."),
            },
            (Method::POST, path) => match number(path) {
                Some(id) => {
                    let form = web::form(request.into_body()).await;
                    self.decide(id, &token, form.as_deref().unwrap_or_default()).await
                }
                None => html::notice(StatusCode::NOT_FOUND, "There is no such page."),
            },
            _ => {
                html::notice(StatusCode::METHOD_NOT_ALLOWED, "This page accepts only GET and POST.")
            }
        }
    }

    async fn waiting(&self) -> Option<Vec<WaitingView>> {
        match self.handle.call(Command::Waiting).await {
            Ok(Reply::Waiting(waiting)) => Some(waiting),
            _ => None,
        }
    }

    async fn list(&self) -> Response<String> {
        match self.waiting().await {
            Some(waiting) => html::list(&waiting),
            None => html::notice(
                StatusCode::SERVICE_UNAVAILABLE,
                "The signer did not respond. Try again.",
            ),
        }
    }

    async fn show(&self, id: u32, token: &str) -> Response<String> {
        let waiting = self.waiting().await.unwrap_or_default();
        match waiting.iter().find(|it| it.id == id) {
            Some(request) => html::request(request, token),
            None => html::notice(
                StatusCode::NOT_FOUND,
                "This request is no longer waiting for a decision.",
            ),
        }
    }

    async fn decide(&self, id: u32, token: &str, form: &[u8]) -> Response<String> {
        let field = |name: &str| {
            let mut fields = form.split(|byte| *byte == b'&');
            fields.find_map(|field| field.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        };
        if !field("token").is_some_and(|given| browser_sessions::is_equal(given, token.as_bytes()))
        {
            return html::notice(
                StatusCode::FORBIDDEN,
                "This form belongs to another session. Reload the page.",
            );
        }
        let remember = match field("remember") {
            None | Some(b"") => None,
            Some(seconds) => match str::from_utf8(seconds).ok().and_then(|it| it.parse().ok()) {
                Some(seconds) => Some(Remember { lifetime: Some(seconds) }),
                None => return html::notice(StatusCode::BAD_REQUEST, "This form is malformed."),
            },
        };
        let command = match field("decision") {
            Some(b"allow") => Command::Approve { id, remember },
            Some(b"deny") => Command::Deny { id, remember },
            _ => return html::notice(StatusCode::BAD_REQUEST, "This form is malformed."),
        };
        match self.handle.call(command).await {
            Ok(_) => see("/"),
            Err(error) => html::notice(StatusCode::CONFLICT, &error.to_string()),
        }
    }
}

/// Returns true if a request is for this host and does not come from another site.
fn is_own(origin: &str, headers: &HeaderMap) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    headers.get(HOST).is_some_and(|it| it.as_bytes() == host.as_bytes())
        && headers.get(ORIGIN).is_none_or(|it| it.as_bytes() == origin.as_bytes())
}

/// Returns the number in the path of a request, for instance `/request/7`.
fn number(path: &str) -> Option<u32> {
    path.strip_prefix("/request/")?.parse().ok()
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut pairs = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    pairs.find_map(|it| it.split("; ").find_map(|pair| pair.strip_prefix(browser_sessions::COOKIE)))
}

fn signed_in(cookie: &str, origin: &str) -> Response<String> {
    let mut response = see("/");
    let secure = if origin.starts_with("https://") { "; Secure" } else { "" };
    let name = browser_sessions::COOKIE;
    let value = format!("{name}{cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200{secure}");
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    // A redirect would not send the strict cookie if the link was opened from another site.
    *response.status_mut() = StatusCode::OK;
    *response.body_mut() = html::signed_in();
    response
}

fn see(path: &'static str) -> Response<String> {
    let mut response = web::text(StatusCode::SEE_OTHER, HTML, String::new());
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(path));
    response
}

fn guarded(mut response: Response<String>) -> Response<String> {
    let headers: [(HeaderName, &'static str); 5] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_comes_from_the_page_itself() {
        let accepts = |origin: &str, host: &'static str, from: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            if let Some(from) = from {
                headers.insert(ORIGIN, HeaderValue::from_static(from));
            }
            is_own(origin, &headers)
        };
        for (origin, host) in
            [("http://127.0.0.1:8080", "127.0.0.1:8080"), ("https://s.example", "s.example")]
        {
            assert!(accepts(origin, host, None));
            assert!(!accepts(origin, "evil.example", None) && !accepts(origin, "", None));
            for from in ["null", "http://s.example", "https://s.example:8443", "https://e.example"]
            {
                assert!(!accepts(origin, host, Some(from)), "{from}");
            }
        }
        assert!(accepts("http://127.0.0.1:8080", "127.0.0.1:8080", Some("http://127.0.0.1:8080")));
        assert!(accepts("https://s.example", "s.example", Some("https://s.example")));
        assert!(!is_own("https://s.example", &HeaderMap::new()));
    }

    #[test]
    fn a_cookie_of_a_page_with_tls_is_sent_with_tls_alone() {
        for (origin, is_secure) in [("http://127.0.0.1:8080", false), ("https://s.example", true)] {
            let response = signed_in("x", origin);
            let cookie = response.headers()[SET_COOKIE].to_str().unwrap();
            assert!(cookie.starts_with("endseal_signer=x; ") && cookie.contains("HttpOnly"));
            assert_eq!(cookie.contains("; Secure"), is_secure, "{cookie}");
        }
    }
}
