//! Frame of a page, and its style.

use core::fmt::{self, Write as _};

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::{DECISION_PATH, REFRESH_PATH, STYLE_PATH};

pub(super) const STYLE: &str = include_str!("style.css");
pub(super) const REFRESH: &str = include_str!("refresh.js");
pub(super) const DECISION: &str = include_str!("decision.js");

/// Text whose HTML characters are escaped when it is displayed.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "a text")]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            char => f.write_char(char),
        })
    }
}

/// Page of a service.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub(super) service: &'a str,
    pub(super) title: &'a str,
    /// HTML below the heading.
    pub(super) body: &'a str,
    /// Path of the script of the page.
    pub(super) script: Option<&'static str>,
}

impl Document<'_> {
    /// Lets the browser show the page anew while it is open.
    #[must_use]
    pub const fn refreshing(mut self) -> Self {
        self.script = Some(REFRESH_PATH);
        self
    }

    /// Hides forms of the class `decision` for a second whenever the page appears or comes to the
    /// front. A click or key that was meant for what was there before decides nothing.
    #[must_use]
    pub const fn deciding(mut self) -> Self {
        self.script = Some(DECISION_PATH);
        self
    }

    /// Returns the response with the page.
    #[must_use]
    pub fn response(&self, status: StatusCode) -> Response<String> {
        let mut response = Response::new(self.to_string());
        *response.status_mut() = status;
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, html);
        response
    }
}

impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, title, body, .. } = self;
        let (title, service) = (Escaped(title), Escaped(service));
        write!(
            f,
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <title>{title} · {service}</title><link rel=\"icon\" href=\"data:,\">\
             <link rel=\"stylesheet\" href=\"{STYLE_PATH}\">"
        )?;
        if let Some(script) = self.script {
            write!(f, "<script src=\"{script}\" defer></script>")?;
        }
        writeln!(f, "</head><body><main><h1>{title}</h1>{body}</main></body></html>")
    }
}
