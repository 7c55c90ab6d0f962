//! HTML of the approval page. All texts of apps are escaped.

use core::fmt::Write as _;

use endseal_nostr::key;
use endseal_nostr::policy::SENSITIVE_KINDS;
use endseal_service::browser_page::{Escaped, Site};
use http::{Response, StatusCode};

use crate::control::WaitingView;
use crate::words;

/// Maximum number of characters of a content, and of tags, that are shown unfolded.
const UNFOLDED: usize = 500;
const UNFOLDED_TAGS: usize = 12;

/// Returns the page with all waiting requests.
pub(super) fn list(site: &Site, waiting: &[WaitingView]) -> Response<String> {
    let mut body = String::new();
    if waiting.is_empty() {
        body.push_str("<p>No request waits.</p>");
    } else {
        body.push_str("<ul>");
        for it in waiting {
            put(
                &mut body,
                format_args!(
                    "<li><a href=\"/request/{}\">{}</a></li>",
                    it.id,
                    Escaped(&words::asks(it))
                ),
            );
        }
        body.push_str("</ul>");
    }
    site.document("Waiting requests", &body).refreshing().response(StatusCode::OK)
}

/// Returns the page after a decision.
pub(super) fn decided(site: &Site, is_allowed: bool) -> Response<String> {
    let body = "<p>The app gets its answer. You can close this window.</p>\
                <p><a href=\"/\">Waiting requests</a></p>";
    let title = if is_allowed { "Allowed" } else { "Denied" };
    site.document(title, body).response(StatusCode::OK)
}

/// Returns the page of one request with its form. `now` is in seconds since 1970.
pub(super) fn request(site: &Site, it: &WaitingView, token: &str, now: u64) -> Response<String> {
    let mut body = String::from("<dl>");
    let user = npub(&it.user);
    let user = if it.user_label.is_empty() { user } else { format!("{} · {user}", it.user_label) };
    entry(&mut body, "As", &user);
    let since = words::date(it.app_made);
    entry(&mut body, "App", &format!("{} (number {}, added on {since})", it.app, it.app_number));
    if let Some(kind) = it.kind {
        let name = it.kind_name.as_deref().unwrap_or("no known kind");
        entry(&mut body, "Kind", &format!("{kind}: {name}"));
    }
    if let Some(peer) = &it.peer {
        entry(&mut body, "With", &npub(peer));
    }
    if let Some(scope) = &it.scope {
        entry(&mut body, "Valid at", scope);
    }
    if let Some(created_at) = it.created_at {
        let odd = words::odd_time(created_at, now);
        let class = if odd.is_some() { " class=\"warn\"" } else { "" };
        let text = words::time(created_at);
        let text = odd.map_or(text.clone(), |odd| format!("{text}: {odd}"));
        put(&mut body, format_args!("<dt>Time</dt><dd{class}>{}</dd>", Escaped(&text)));
    }
    body.push_str("</dl>");
    if it.method.ends_with("_decrypt") {
        body.push_str("<h2>Text that the app would get</h2>");
        match &it.plaintext {
            Some(text) => block(&mut body, text),
            None => body.push_str("<p>It does not decrypt.</p>"),
        }
    } else {
        body.push_str("<h2>Content</h2>");
        match it.content.as_str() {
            "" => body.push_str("<p>It is empty.</p>"),
            content => block(&mut body, content),
        }
    }
    if !it.tags.is_empty() {
        body.push_str("<h2>Tags</h2>");
        let (first, rest) = it.tags.split_at(it.tags.len().min(UNFOLDED_TAGS));
        tags(&mut body, first);
        if !rest.is_empty() {
            put(&mut body, format_args!("<details><summary>{} more tags</summary>", rest.len()));
            tags(&mut body, rest);
            body.push_str("</details>");
        }
    }
    let longer = match it.scope {
        Some(_) => "",
        None => {
            "<option value=\"2592000\">30 days</option><option value=\"always\">always</option>"
        }
    };
    let confirmation = match (is_sensitive(it), it.kind) {
        (true, Some(kind)) => confirmation(&format!(
            "I want this: an event of kind {kind} acts elsewhere, in my name"
        )),
        _ => String::new(),
    };
    put(
        &mut body,
        format_args!(
            "<h2>Decision</h2><form class=\"decision\" method=\"post\" action=\"/request/{id}\">\
             <input type=\"hidden\" name=\"token\" value=\"{token}\">\
             <p><label for=\"remember\">Remember for <code>{rule}</code></label>: \
             <select id=\"remember\" name=\"remember\"><option value=\"\">not at all</option>\
             <option value=\"600\">10 minutes</option><option value=\"86400\">a day</option>{longer}\
             </select></p>\
             {confirmation}<p><button name=\"decision\" value=\"deny\" formnovalidate>Deny</button>\
             <button name=\"decision\" value=\"allow\">Allow</button></p></form>{all}\
             <p>It is denied in {seconds} s if you do not decide.</p>\
             <p><a href=\"/\">All waiting requests</a></p>",
            id = it.id,
            rule = Escaped(&it.rule),
            seconds = it.seconds,
            all = all_requested(it, token),
        ),
    );
    site.document(&words::asks(it), &body).deciding().response(StatusCode::OK)
}

/// Returns true if a request is for an event that acts elsewhere, for instance a payment or the
/// deletion of all events. One click does not allow it.
pub(super) fn is_sensitive(it: &WaitingView) -> bool {
    it.kind.is_some_and(|kind| SENSITIVE_KINDS.contains(&kind))
}

/// Returns a box that must be checked before the buttons of its form that need it.
fn confirmation(text: &str) -> String {
    format!(
        "<p><label><input type=\"checkbox\" name=\"confirmed\" required> {}</label></p>",
        Escaped(text)
    )
}

/// Returns the form that allows all that the app asks for, if it asks for anything.
fn all_requested(it: &WaitingView, token: &str) -> String {
    if it.requested.is_empty() {
        return String::new();
    }
    let rules: Vec<_> = it.requested.iter().map(|it| Escaped(it).to_string()).collect();
    format!(
        "<form class=\"decision\" method=\"post\" action=\"/request/{}\">\
         <p>{} asks for all of these: <code>{}</code></p>\
         <input type=\"hidden\" name=\"token\" value=\"{token}\">\
         <input type=\"hidden\" name=\"requested\" value=\"{}\">{}\
         <p><button name=\"decision\" value=\"all\">Allow all that it asks for</button> for \
         <select name=\"remember\" aria-label=\"Time for which all is allowed\">\
         <option value=\"600\">10 minutes</option><option value=\"86400\">a day</option>\
         <option value=\"2592000\" selected>30 days</option><option value=\"always\">always</option>\
         </select></p></form>",
        it.id,
        Escaped(&it.app),
        rules.join("</code> <code>"),
        rules.join("&#10;"),
        confirmation("I have read this list"),
    )
}

/// Returns a public key as `npub`, or as it is if it is none.
fn npub(hex: &str) -> String {
    match key::public_from_hex(hex) {
        Ok(key) => {
            let mut npub = [0; key::BECH32_LEN];
            key::public_to_npub(&key, &mut npub).unwrap_or(hex).to_owned()
        }
        Err(_) => hex.to_owned(),
    }
}

fn entry(body: &mut String, name: &str, text: &str) {
    put(body, format_args!("<dt>{name}</dt><dd>{}</dd>", Escaped(text)));
}

/// Adds a text with its line breaks. A long one can be unfolded.
fn block(body: &mut String, text: &str) {
    let Some((end, _)) = text.char_indices().nth(UNFOLDED) else {
        return put(body, format_args!("<pre tabindex=\"0\">{}</pre>", Escaped(text)));
    };
    let count = text.chars().count();
    let (first, rest) = text.split_at(end);
    put(
        body,
        format_args!(
            "<pre tabindex=\"0\">{}…</pre><details><summary>The rest of {count} characters</summary>\
             <pre tabindex=\"0\">{}</pre></details>",
            Escaped(first),
            Escaped(rest)
        ),
    );
}

fn tags(body: &mut String, tags: &[Vec<String>]) {
    body.push_str("<ul>");
    for tag in tags {
        body.push_str("<li>");
        for value in tag {
            put(body, format_args!("<code>{}</code> ", Escaped(value)));
        }
        body.push_str("</li>");
    }
    body.push_str("</ul>");
}

fn put(body: &mut String, html: core::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = body.write_fmt(html);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::view;

    fn site() -> Site {
        Site {
            name: "test",
            cookie: "test",
            sign_in: "sign in",
            origin: "http://127.0.0.1:1".parse().unwrap(),
            sessions: Default::default(),
        }
    }

    #[test]
    fn texts_of_apps_are_escaped() {
        let mut view = view();
        view.app = "<b>\"x\"</b>".to_owned();
        view.content = "</pre><script>'&".to_owned();
        view.tags = vec![vec!["<script>".to_owned(), "a b".to_owned()]];
        view.rule = "<script>".to_owned();
        let site = site();
        for response in
            [request(&site, &view, "token", 1), list(&site, core::slice::from_ref(&view))]
        {
            let body = response.body();
            assert!(!body.contains("<script>") && !body.contains("<b>"), "{body}");
        }
        let body = request(&site, &view, "token", 1).into_body();
        assert!(body.contains("&lt;/pre&gt;&lt;script&gt;&#39;&amp;"), "{body}");
        assert!(body.contains("&lt;b&gt;&quot;x&quot;&lt;/b&gt;"), "{body}");
        assert!(body.contains("<code>&lt;script&gt;</code> <code>a b</code>"), "{body}");
    }

    #[test]
    fn the_whole_content_and_each_tag_are_there() {
        let mut view = view();
        view.content = format!("{}Z", "a".repeat(2_000));
        view.tags = (0..40).map(|at| vec!["p".to_owned(), format!("value{at}")]).collect();
        let body = request(&site(), &view, "token", 1).into_body();
        assert!(body.contains(&format!("{}Z</pre>", "a".repeat(1_500))), "{body}");
        assert!(body.contains("value0<") && body.contains("value39<"), "{body}");
    }
}
