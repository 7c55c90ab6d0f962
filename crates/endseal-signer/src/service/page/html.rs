//! HTML of the approval page. All texts of apps are escaped.

use core::fmt::{self, Write as _};

use http::{Response, StatusCode};

use super::HTML;
use crate::control::WaitingView;
use crate::service::web;

const STYLE: &str = "body{font:16px/1.5 system-ui;max-width:40rem;margin:2rem auto;padding:0 1rem}\
    dt{color:#555}dd{margin:0 0 .6rem;overflow-wrap:anywhere;white-space:pre-wrap}\
    button{font:inherit;padding:.4rem 1.2rem;margin-right:1rem}";

/// Text whose HTML characters are escaped when it is displayed.
struct Escaped<'a>(&'a str);

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

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title} · endseal signer</title><style>{STYLE}</style><h1>{title}</h1>{body}</html>\n",
        title = Escaped(title),
    )
}

/// Returns a page with one sentence.
pub(super) fn notice(status: StatusCode, sentence: &str) -> Response<String> {
    web::text(status, HTML, page("Signer", &format!("<p>{}</p>", Escaped(sentence))))
}

/// Returns the page that a valid sign-in link leads to.
pub(super) fn signed_in() -> String {
    page("Signed in", "<p><a href=\"/\">Waiting requests</a></p>")
}

/// Returns the page with all waiting requests.
pub(super) fn list(waiting: &[WaitingView]) -> Response<String> {
    let mut body = String::new();
    if waiting.is_empty() {
        body.push_str("<p>No request is waiting.</p>");
    }
    for it in waiting {
        // Writing into a string cannot fail.
        let _ = write!(
            body,
            "<p><a href=\"/request/{}\">{} asks for {}</a></p>",
            it.id,
            Escaped(&it.app),
            Escaped(&it.method)
        );
    }
    web::text(StatusCode::OK, HTML, page("Waiting requests", &body))
}

/// Returns the page of one request with its form.
pub(super) fn request(it: &WaitingView, token: &str) -> Response<String> {
    let kind = it.kind.map(|kind| kind.to_string());
    let mut body = String::from("<dl>");
    for (name, value) in [
        ("App", Some(it.app.as_str())),
        ("Method", Some(it.method.as_str())),
        ("Kind", kind.as_deref()),
        ("Peer", it.peer.as_deref()),
        ("Valid at", it.scope.as_deref()),
        ("Content", Some(it.content.as_str())),
    ] {
        if let Some(value) = value {
            // Writing into a string cannot fail.
            let _ = write!(body, "<dt>{name}</dt><dd>{}</dd>", Escaped(value));
        }
    }
    for tag in &it.tags {
        // Writing into a string cannot fail.
        let _ = write!(body, "<dt>Tag</dt><dd>{}</dd>", Escaped(tag));
    }
    if it.tag_count > it.tags.len() {
        // Writing into a string cannot fail.
        let _ = write!(body, "<dt>Tags in all</dt><dd>{}</dd>", it.tag_count);
    }
    // Writing into a string cannot fail.
    let _ = write!(
        body,
        "</dl><form method=\"post\" action=\"/request/{id}\">\
         <input type=\"hidden\" name=\"token\" value=\"{token}\">\
         <p><label>Remember <select name=\"remember\"><option value=\"\">not at all</option>\
         <option value=\"600\">10 minutes</option>{long}</select></label></p>\
         <p><button name=\"decision\" value=\"deny\">Deny</button>\
         <button name=\"decision\" value=\"allow\">Allow</button></p></form>\
         <p>It is denied in {seconds} s if you do not decide.</p>",
        id = it.id,
        long = if it.scope.is_some() {
            ""
        } else {
            "<option value=\"86400\">a day</option><option value=\"2592000\">30 days</option>"
        },
        seconds = it.seconds,
    );
    web::text(StatusCode::OK, HTML, page("Waiting request", &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_app_says_is_escaped() {
        let view = WaitingView {
            id: 7,
            app: "<b>\"x\"</b>".to_owned(),
            method: "sign_event".to_owned(),
            kind: Some(1),
            peer: None,
            scope: None,
            content: "</dd><script>'&".to_owned(),
            created_at: Some(1),
            tags: vec!["<script>".to_owned()],
            tag_count: 21,
            seconds: 50,
        };
        for response in [request(&view, "token"), list(core::slice::from_ref(&view))] {
            let body = response.body();
            assert!(!body.contains("<script") && !body.contains("<b>"), "{body}");
        }
        let body = request(&view, "token").into_body();
        assert!(body.contains("&lt;/dd&gt;&lt;script&gt;&#39;&amp;"), "{body}");
        assert!(body.contains("&lt;b&gt;&quot;x&quot;&lt;/b&gt;"), "{body}");
    }
}
