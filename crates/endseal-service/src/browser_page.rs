//! Pages of a service for the browser of the person who runs it.
//!
//! No one signs in by a password. A command of the same user prints a link that works once; the
//! browser that opens it gets a session cookie. Every form contains a token of its session. What a
//! page shows and does is the service's own: [`Site::serve`] answers what is the same for all.
//!
//! No check needs more than browsers send: a page may be opened by a link on another site, which
//! sends the cookie (`SameSite=Lax`) but cannot submit a form.

mod form;
mod html;
mod local;
mod origin;
mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use endseal_crypto::random::RandomError;
use endseal_crypto::secret::Zeroizing;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, HeaderName, HeaderValue,
    LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use self::form::Form;
pub use self::html::{Document, Escaped};
pub use self::local::listen_on_loopback;
pub use self::origin::{InvalidOrigin, Origin};
pub use self::session::{Sessions, SignInPath};
use crate::http_server::{self, HttpLimits};

/// Limits of the HTTP server of pages.
const LIMITS: HttpLimits = HttpLimits {
    connections: 64,
    read_buffer: 16 * 1024,
    headers: 100,
    header_timeout: core::time::Duration::from_secs(10),
    connection_timeout: Some(core::time::Duration::from_secs(30)),
    // A connection without a request is replaced if it keeps others out. One that may send a second
    // request would not be.
    keep_alive: false,
};

/// Policy for browsers: the page's own style and script alone; no frames, no other sites.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const STYLE_PATH: &str = "/style.css";
const REFRESH_PATH: &str = "/refresh.js";
const DECISION_PATH: &str = "/decision.js";
/// Name of the cookie with the page that a browser asked for before it was signed in.
const NEXT: &str = "next";

/// Name, address and sessions of a service's pages.
#[allow(clippy::exhaustive_structs, reason = "services make them")]
pub struct Site {
    /// Name of the service in titles.
    pub name: &'static str,
    /// Name of the session cookie. Services at one host have different names. With TLS it has the
    /// prefix `__Host-`, so no other host can set it.
    pub cookie: &'static str,
    /// Command that prints a sign-in link.
    pub sign_in: &'static str,
    /// Address at which browsers reach the pages.
    pub origin: Origin,
    /// Sessions of browsers.
    pub sessions: Arc<Sessions>,
}

impl core::fmt::Debug for Site {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Site").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Request of a browser that is signed in.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
#[non_exhaustive]
pub enum Visit {
    /// Shows the page at this path.
    Show {
        /// Path of the page.
        path: String,
        /// Token for the forms of the page.
        token: Zeroizing<String>,
    },
    /// Submits the form of the page at this path. Its token was right.
    Submit {
        /// Path of the page.
        path: String,
        /// Fields of the form.
        form: Form,
    },
}

impl Site {
    /// Creates the link that signs one browser in. It replaces the previous link.
    ///
    /// # Errors
    /// [`RandomError`] if the system has no random bytes.
    pub fn sign_in_link(&self) -> Result<Zeroizing<String>, RandomError> {
        let path = self.sessions.link()?;
        Ok(Zeroizing::new(format!("{}{}", self.origin, *path.0)))
    }

    /// Serves the pages until the future is dropped. `answer` gets the requests of browsers that
    /// are signed in.
    pub async fn serve<F: Future<Output = Response<String>> + Send + 'static>(
        self,
        listeners: Vec<TcpListener>,
        answer: impl Fn(Arc<Self>, Visit) -> F + Clone + Send + Sync + 'static,
    ) {
        let site = Arc::new(self);
        let mut servers = JoinSet::new();
        for listener in listeners {
            let (site, answer) = (Arc::clone(&site), answer.clone());
            servers.spawn(http_server::serve(listener, LIMITS, move |request| {
                let (site, answer) = (Arc::clone(&site), answer.clone());
                async move {
                    guarded(match site.admit(request).await {
                        Ok(visit) => answer(Arc::clone(&site), visit).await,
                        Err(response) => *response,
                    })
                }
            }));
        }
        while servers.join_next().await.is_some() {}
    }

    /// Answers whatever needs no session, and refuses what comes from elsewhere.
    async fn admit(&self, request: Request<Incoming>) -> Result<Visit, Box<Response<String>>> {
        let headers = request.headers();
        if !headers.get(HOST).is_some_and(|it| self.origin.has_host(it.as_bytes())) {
            // The name of the page may be a secret, so the answer does not contain it.
            let other = format!("This is the address of another page. Run: {}", self.sign_in);
            return Err(self.refused(StatusCode::MISDIRECTED_REQUEST, &other));
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let is_get = method == Method::GET || method == Method::HEAD;
        if !is_get && method != Method::POST {
            let other = "This page accepts only GET and POST.";
            return Err(self.refused(StatusCode::METHOD_NOT_ALLOWED, other));
        }
        // Browsers name the origin of every form. Where none is named, the form's token decides.
        if !is_get && headers.get(ORIGIN).is_some_and(|it| !self.origin.is(it.as_bytes())) {
            let other = "This form comes from another site.";
            return Err(self.refused(StatusCode::FORBIDDEN, other));
        }
        match path.as_str() {
            STYLE_PATH => return Err(Box::new(file("text/css", html::STYLE))),
            REFRESH_PATH => return Err(Box::new(file("text/javascript", html::REFRESH))),
            DECISION_PATH => return Err(Box::new(file("text/javascript", html::DECISION))),
            _ => {}
        }
        if let Some(link) = path.strip_prefix(session::SIGN_IN) {
            return Err(self.sign_in(&method, link, headers));
        }
        let session =
            value(headers, &self.session_cookie()).and_then(|it| self.sessions.form_token(it));
        let Some(token) = session else { return Err(self.unknown(is_get, &path)) };
        if is_get {
            return Ok(Visit::Show { path, token });
        }
        let form = Form::read(request.into_body()).await.unwrap_or_default();
        if !form.get("token").is_some_and(|it| session::is_equal(it.as_bytes(), token.as_bytes())) {
            let other = "This form belongs to another session. Reload the page.";
            return Err(self.refused(StatusCode::FORBIDDEN, other));
        }
        Ok(Visit::Submit { path, form })
    }

    /// Signs a browser in. A link that is only shown, for example in the preview of a messenger,
    /// stays valid.
    fn sign_in(&self, method: &Method, link: &str, headers: &HeaderMap) -> Box<Response<String>> {
        if *method != Method::POST {
            let body = "<form method=\"post\"><p><button>Sign this browser in</button></p></form>";
            return Box::new(self.document("Sign in", body).response(StatusCode::OK));
        }
        let Some(cookie) = self.sessions.enter(link) else {
            let used = format!("This link was already used or has expired. Run: {}", self.sign_in);
            return self.refused(StatusCode::FORBIDDEN, &used);
        };
        let next = value(headers, &self.next()).filter(|it| is_path(it)).unwrap_or("/");
        let mut response = see_other(next);
        self.set_cookie(&mut response, &self.session_cookie(), &cookie, 43_200);
        self.set_cookie(&mut response, &self.next(), "", 0);
        Box::new(response)
    }

    /// Answers a browser that is not signed in. It gets to the page that it wanted afterwards.
    fn unknown(&self, is_get: bool, path: &str) -> Box<Response<String>> {
        let text = format!(
            "This browser is not signed in. Run: {} and open the link that it prints in this browser.",
            self.sign_in
        );
        let mut response = self.refused(StatusCode::FORBIDDEN, &text);
        if is_get && is_path(path) {
            self.set_cookie(&mut response, &self.next(), path, 600);
        }
        response
    }

    fn session_cookie(&self) -> String {
        let prefix = if self.origin.has_tls() { "__Host-" } else { "" };
        format!("{prefix}{}", self.cookie)
    }

    fn next(&self) -> String {
        format!("{}_{NEXT}", self.session_cookie())
    }

    fn set_cookie(&self, to: &mut Response<String>, name: &str, value: &str, seconds: u32) {
        let secure = if self.origin.has_tls() { "; Secure" } else { "" };
        let cookie =
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            to.headers_mut().append(SET_COOKIE, cookie);
        }
    }

    /// Starts a page of this service. `body` is HTML.
    #[must_use]
    pub fn document<'a>(&'a self, title: &'a str, body: &'a str) -> Document<'a> {
        Document { service: self.name, title, body, script: None }
    }

    /// Returns a page with one sentence.
    #[must_use]
    pub fn notice(&self, status: StatusCode, sentence: &str) -> Response<String> {
        let body = format!("<p>{}</p>", Escaped(sentence));
        self.document("Notice", &body).response(status)
    }

    fn refused(&self, status: StatusCode, sentence: &str) -> Box<Response<String>> {
        Box::new(self.notice(status, sentence))
    }
}

/// Sends a browser to another page of the site after a form.
#[must_use]
pub fn see_other(path: &str) -> Response<String> {
    let mut response = Response::new(String::new());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let to = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, to);
    response
}

/// Returns true if a text is the path of a page and nothing more: it is put into a cookie and into
/// a redirection.
fn is_path(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    text.starts_with('/')
        && !text.starts_with("//")
        && text.len() < 100
        && text.bytes().all(is_plain)
}

fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut pairs = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    pairs.find_map(|it| it.split("; ").find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')))
}

fn file(content_type: &'static str, text: &str) -> Response<String> {
    let mut response = Response::new(text.to_owned());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Adds the headers of every response.
fn guarded(mut response: Response<String>) -> Response<String> {
    let headers: [(HeaderName, &'static str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        // `no-referrer` would make browsers send forms with `Origin: null`.
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
