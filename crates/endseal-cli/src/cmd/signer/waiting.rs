//! `endseal signer waiting`: lists the waiting requests.

use core::fmt::Write as _;

use endseal_signer::control::{Command, Reply, WaitingView};
use endseal_signer::words;

use super::access;
use crate::cmd::nostr::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::printable::printable;
use crate::time;

/// List the requests that wait for endseal signer approve or deny
///
/// Content and names are those of the app, and prove nothing.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Number of a request, to see all of it; without it, long texts are cut
    #[arg(value_name = "NUMBER")]
    number: Option<u32>,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let command = Command::Waiting { id: args.number };
    let Reply::Waiting(waiting) = access::ask_running(command, ctx)? else {
        return Err(access::unexpected());
    };
    let json = json::object([("waiting", waiting.iter().map(json_of).collect())]);
    let now = ctx.now / 1000;
    Ok(Outcome::new(waiting.iter().map(|it| text(it, now)).collect::<String>(), json))
}

/// Describes a request. `now` is in seconds since 1970.
fn text(it: &WaitingView, now: u64) -> String {
    let mut text = format!("{}  {}\n", it.id, printable(&words::asks(it)));
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {name:<8} {}", printable(value));
    };
    let user = peer::npub_of(&it.user);
    let label = &it.user_label;
    line("as", &if label.is_empty() { user } else { format!("{label}, {user}") });
    let added = time::local(it.app_made.saturating_mul(1000));
    line("app", &format!("{}, number {}, added {added}", it.app, it.app_number));
    if let Some(peer) = &it.peer {
        line("with", &peer::npub_of(peer));
    }
    if let Some(scope) = &it.scope {
        line("for", scope);
    }
    if let Some(created_at) = it.created_at {
        let shown = time::local(created_at.saturating_mul(1000));
        let odd = words::odd_time(created_at, now).map_or(String::new(), |odd| format!(", {odd}"));
        line("time", &format!("{shown}{odd}"));
    }
    for content in it.content.lines() {
        line("content", content);
    }
    let shown = it.content.chars().count();
    if shown < it.content_length {
        line(
            "",
            &format!("{} characters in all: endseal signer waiting {}", it.content_length, it.id),
        );
    }
    for plaintext in it.plaintext.iter().flat_map(|it| it.lines()) {
        line("text", plaintext);
    }
    if it.plaintext.is_none() && it.method.ends_with("_decrypt") {
        line("text", "it does not decrypt");
    }
    for tag in &it.tags {
        // As JSON, so that no value looks like two.
        line("tag", &Value::from(tag.clone()).to_string());
    }
    if it.tag_count > it.tags.len() {
        line("", &format!("{} tags in all: endseal signer waiting {}", it.tag_count, it.id));
    }
    if !it.requested.is_empty() {
        line("asks for", &it.requested.join(", "));
    }
    line("remember", &it.rule);
    line("refused", &format!("in {} s without a decision", it.seconds));
    text
}

fn json_of(it: &WaitingView) -> Value {
    json::object([
        ("id", it.id.into()),
        ("app", it.app.as_str().into()),
        ("app_number", it.app_number.into()),
        ("app_made", time::rfc3339(it.app_made.saturating_mul(1000)).into()),
        ("user", it.user.as_str().into()),
        ("user_label", it.user_label.as_str().into()),
        ("method", it.method.as_str().into()),
        ("kind", it.kind.into()),
        ("kind_name", it.kind_name.as_deref().into()),
        ("peer", it.peer.as_deref().into()),
        ("scope", it.scope.as_deref().into()),
        ("content", it.content.as_str().into()),
        ("content_length", it.content_length.into()),
        ("plaintext", it.plaintext.as_deref().into()),
        ("created_at", it.created_at.map(|it| time::rfc3339(it.saturating_mul(1000))).into()),
        ("tags", it.tags.iter().map(|tag| Value::from(tag.clone())).collect()),
        ("tag_count", it.tag_count.into()),
        ("requested", it.requested.clone().into()),
        ("rule", it.rule.as_str().into()),
        ("seconds", it.seconds.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_begins_no_line_and_commands_nothing() {
        let waiting = WaitingView {
            id: 3,
            app: "mail".to_owned(),
            app_number: 2,
            app_made: 0,
            user: "00".to_owned(),
            user_label: "me".to_owned(),
            method: "sign_event".to_owned(),
            kind: Some(1),
            kind_name: Some("short text note".to_owned()),
            peer: None,
            scope: None,
            content: "at noon\n4  mail asks\u{1b}[2J".to_owned(),
            content_length: 900,
            plaintext: None,
            created_at: Some(1),
            tags: vec![vec!["p".to_owned(), "a\nb".to_owned()]],
            tag_count: 3,
            requested: vec!["sign:1".to_owned(), "nip44_encrypt".to_owned()],
            rule: "sign:1".to_owned(),
            seconds: 52,
        };
        let expected = "\
            3  mail asks to sign a short text note (kind 1)\n    \
            as       me, 00\n    \
            app      mail, number 2, added 1970-01-01T00:00:00Z\n    \
            time     1970-01-01T00:00:01Z, 2 hours behind this machine's clock\n    \
            content  at noon\n    \
            content  4  mail asks\u{fffd}[2J\n             \
            900 characters in all: endseal signer waiting 3\n    \
            tag      [\"p\",\"a\\nb\"]\n             \
            3 tags in all: endseal signer waiting 3\n    \
            asks for sign:1, nip44_encrypt\n    \
            remember sign:1\n    \
            refused  in 52 s without a decision\n";
        assert_eq!(text(&waiting, 7_201), expected);
    }
}
