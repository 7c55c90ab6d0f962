//! `endseal signer log`: prints or verifies the audit log.

use endseal_signer::control::{Command, LineView, Reply};

use super::access;
use super::rules::{date, local_date};
use crate::cmd::nostr::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::printable::{plural, printable};

/// Print the audit log, a line for each request and each change
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Begin after the line with this number
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "verify")]
    after: u64,
    /// Print this number of lines at most [default: all]
    #[arg(long, value_name = "N", conflicts_with = "verify")]
    limit: Option<u64>,
    /// Check the chain of hashes, and print number and hash of the last line
    ///
    /// Both, kept elsewhere, show later that nothing before was changed. The exit code is 1 if the
    /// log is not whole.
    #[arg(long)]
    verify: bool,
}

/// Limit on the lines that the signer returns at once.
const PAGE: u32 = 1_000;

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut source = access::Source::find(ctx)?;
    if args.verify {
        let Reply::Verified { lines, hash } = source.ask(Command::Verify, ctx)? else {
            return Err(access::unexpected());
        };
        let text = format!("{}, the last one {}\n", plural(lines, "line"), printable(&hash));
        let json = json::object([("lines", lines.into()), ("hash", hash.into())]);
        return Ok(Outcome::new(text, json));
    }
    let (mut after, mut left) = (args.after, args.limit.unwrap_or(u64::MAX));
    while left > 0 {
        let limit = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
        let Reply::Lines(lines) = source.ask(Command::Log { after, limit }, ctx)? else {
            return Err(access::unexpected());
        };
        let shown: String = match ctx.global.json {
            true => lines.iter().map(|line| json::line(&json_of(line))).collect(),
            false => lines.iter().map(text).collect(),
        };
        ctx.print(shown.as_bytes())?;
        let Some(last) = lines.last().filter(|last| last.number > after) else { break };
        (after, left) = (last.number, left.saturating_sub(lines.len() as u64));
    }
    Ok(Outcome::default())
}

fn text(line: &LineView) -> String {
    let mut text = format!("{:>6}  {}  ", line.number, local_date(line.time));
    text.push_str(&printable(&line.matter).replace('_', " "));
    let mut add = |word: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("  {word}{}", printable(&value)));
        }
    };
    add("", Some(line.name.clone()).filter(|name| !name.is_empty()));
    add("", line.method.clone());
    add("kind ", line.kind.map(|kind| kind.to_string()));
    add("", line.peer.as_deref().map(peer::npub_of));
    add("", line.verdict.clone());
    add("rule ", line.rule.map(|rule| rule.to_string()));
    text.push('\n');
    text
}

fn json_of(line: &LineView) -> Value {
    json::object([
        ("number", line.number.into()),
        ("time", date(line.time).into()),
        ("matter", line.matter.as_str().into()),
        ("name", line.name.as_str().into()),
        ("app", line.app.into()),
        ("method", line.method.as_deref().into()),
        ("kind", line.kind.into()),
        ("peer", line.peer.as_deref().into()),
        ("verdict", line.verdict.as_deref().into()),
        ("rule", line.rule.into()),
        ("signed", line.signed.as_deref().into()),
        ("request", line.request.as_deref().into()),
        ("hash", line.hash.as_str().into()),
    ])
}
