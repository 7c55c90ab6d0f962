//! `endseal signer waiting`: lists the waiting requests.

use core::fmt::Write as _;

use endseal_signer::control::{Command, Reply, WaitingView};

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
pub(super) struct Args {}

pub(super) fn run(_: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let Reply::Waiting(waiting) = access::ask_running(Command::Waiting, ctx)? else {
        return Err(access::unexpected());
    };
    let json = json::object([("waiting", waiting.iter().map(json_of).collect())]);
    Ok(Outcome::new(waiting.iter().map(text).collect::<String>(), json))
}

fn text(it: &WaitingView) -> String {
    let mut text = format!("{}  {}  {}", it.id, printable(&it.app), printable(&it.method));
    if let Some(kind) = it.kind {
        text.push_str(&format!(" of kind {kind}"));
    }
    if let Some(peer) = &it.peer {
        text.push_str(&format!(" with {}", printable(&peer::npub_of(peer))));
    }
    if let Some(scope) = &it.scope {
        text.push_str(&format!(" for {}", printable(scope)));
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, ", refused in {} s", it.seconds);
    if !it.content.is_empty() {
        let _ = writeln!(text, "    {}", printable(&it.content));
    }
    for tag in &it.tags {
        let _ = writeln!(text, "    tag {}", printable(tag));
    }
    if it.tag_count > it.tags.len() {
        let _ = writeln!(text, "    {} tags in all", it.tag_count);
    }
    text
}

fn json_of(it: &WaitingView) -> Value {
    json::object([
        ("id", it.id.into()),
        ("app", it.app.as_str().into()),
        ("method", it.method.as_str().into()),
        ("kind", it.kind.into()),
        ("peer", it.peer.as_deref().into()),
        ("scope", it.scope.as_deref().into()),
        ("content", it.content.as_str().into()),
        ("created_at", it.created_at.map(|it| time::rfc3339(it.saturating_mul(1000))).into()),
        ("tags", it.tags.iter().map(|tag| Value::from(tag.as_str())).collect()),
        ("tag_count", it.tag_count.into()),
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
            method: "sign_event".to_owned(),
            kind: Some(1),
            peer: None,
            scope: None,
            content: "at noon\n4  mail  ping\u{1b}[2J".to_owned(),
            created_at: Some(1),
            tags: vec!["p a\nb".to_owned()],
            tag_count: 3,
            seconds: 52,
        };
        let expected = "3  mail  sign_event of kind 1, refused in 52 s\n    at noon\u{fffd}4  mail  \
                        ping\u{fffd}[2J\n    tag p a\u{fffd}b\n    3 tags in all\n";
        assert_eq!(text(&waiting), expected);
    }
}
