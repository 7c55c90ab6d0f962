//! `endseal signer log`: prints or verifies the audit log.

use core::cmp::Ordering;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base16ct::lower::{decode_vec, encode_string};
use endseal_node::{AtomicFile, Existing, FileError, Readers};
use endseal_signer::control::{Command, LineView, Reply};
use endseal_signer::{LogHead, LogLine};

use super::access::{self, Source};
use super::rules::{date, local_date};
use crate::cmd::nostr::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::output::Input;
use crate::printable::{plural, printable};

/// Print the audit log, a line for each request and each change
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Begin after the line with this number
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["verify", "archive"])]
    after: u64,
    /// Print this number of lines at most [default: all]
    #[arg(long, value_name = "N", conflicts_with_all = ["verify", "archive"])]
    limit: Option<u64>,
    /// Move the lines that the signer needs no more to a new file
    ///
    /// The signer needs those of the last ten minutes.
    #[arg(long, value_name = "FILE", conflicts_with = "verify")]
    archive: Option<PathBuf>,
    /// Check the chain of hashes, and print number and hash of the last line
    ///
    /// Both, kept elsewhere, show later that nothing before was changed. The exit code is 1 if the
    /// log is not whole.
    #[arg(long)]
    verify: bool,
    /// Check this archived file, too; repeatable, in the order in which they were made
    #[arg(long, value_name = "FILE", requires = "verify")]
    archived: Vec<PathBuf>,
}

/// Limit on the lines that the signer returns at once.
const PAGE: u32 = 1_000;

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut source = Source::find(ctx)?;
    if args.verify {
        return verify(&args.archived, &mut source, ctx);
    }
    if let Some(path) = &args.archive {
        return archive(path, &mut source, ctx);
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

fn verify(files: &[PathBuf], source: &mut Source, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut head = LogHead::START;
    for path in files {
        head = check_archive(path, head, ctx)?;
    }
    let reply = source.ask(Command::Verify, ctx)?;
    let Reply::Verified { archived, archived_hash, lines, hash } = reply else {
        return Err(access::unexpected());
    };
    let ends_with = encode_string(&head.hash);
    let is_joined = match head.number.cmp(&archived) {
        Ordering::Less => false,
        Ordering::Equal => ends_with == archived_hash,
        // A move that was interrupted, or a log from a backup: it has the end of the file, too.
        Ordering::Greater => {
            let command = Command::Log { after: head.number - 1, limit: 1 };
            let Reply::Lines(found) = source.ask(command, ctx)? else {
                return Err(access::unexpected());
            };
            found.first().is_some_and(|it| it.number == head.number && it.hash == ends_with)
        }
    };
    if !files.is_empty() && !is_joined {
        let message = format!(
            "the log begins behind line {archived}, and the last archived file ends with another \
             line, {}",
            head.number
        );
        return Err(Failure::new(Kind::Refused, message));
    }
    if files.is_empty() && archived > 0 {
        ctx.note(&format!(
            "note: lines up to {archived} are archived: name the files by --archived"
        ));
    }
    let text = format!("{}, the last one {}\n", plural(lines, "line"), printable(&hash));
    let json = json::object([
        ("lines", lines.into()),
        ("hash", hash.into()),
        ("archived", archived.into()),
    ]);
    Ok(Outcome::new(text, json))
}

/// Writes the old lines to a new file, and removes them once they are on the disk.
fn archive(path: &Path, source: &mut Source, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut file = AtomicFile::create(path, Existing::Keep, Readers::Owner)?;
    let (mut after, mut last, mut count) = (0, None, 0_u64);
    loop {
        let reply = source.ask(Command::OldLines { after, limit: PAGE }, ctx)?;
        let Reply::OldLines(values) = reply else { return Err(access::unexpected()) };
        for value in &values {
            let line = read_value(value).ok_or_else(access::unexpected)?;
            let text = json::line(&json::object([
                ("number", line.number.into()),
                ("time", date(line.entry.time).into()),
                ("name", line.entry.text.as_str().into()),
                ("value", value.as_str().into()),
            ]));
            let written = file.write_all(text.as_bytes());
            written.map_err(|source| FileError::io("write", file.destination(), source))?;
            (after, last) = (line.number, Some(encode_string(&line.hash)));
            count += 1;
        }
        if values.is_empty() {
            break;
        }
    }
    let Some(hash) = last else {
        return Err(Failure::usage("the signer needs all lines of its log still"));
    };
    file.commit()?;
    loop {
        let command = Command::RemoveOldLines { number: after, hash: hash.clone() };
        let Reply::Removed(next) = source.ask(command, ctx)? else {
            return Err(access::unexpected());
        };
        if next > after {
            break;
        }
    }
    let path = path.display().to_string();
    let text = format!("{} moved to '{path}', up to line {after}", plural(count, "line"));
    let json =
        json::object([("output", path.into()), ("lines", count.into()), ("last", after.into())]);
    Ok(Outcome::done(text, json))
}

/// Checks that the lines of an archived file continue the log behind `head`.
fn check_archive(path: &Path, mut head: LogHead, ctx: &mut Ctx) -> Result<LogHead, Failure> {
    let input = Input::open(Some(path), ctx)?;
    let mut reader = BufReader::new(input.reader);
    let mut text = Vec::new();
    loop {
        text.clear();
        let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut text);
        if read.map_err(|source| FileError::io("read", path, source))? == 0 {
            return Ok(head);
        }
        let line = serde_json::from_slice::<Value>(&text).ok();
        let value = line.as_ref().and_then(|it| it["value"].as_str()).and_then(read_value);
        if value.as_ref().is_some_and(|it| it.number <= head.number) {
            // A move that was interrupted is followed by one that begins with the lines that
            // stayed.
            continue;
        }
        head = value.and_then(|line| line.follow(&head)).ok_or_else(|| {
            let (at, path) = (head.number.saturating_add(1), path.display());
            Failure::new(
                Kind::Refused,
                format!("line {at} of the log is not in '{path}' as it was"),
            )
        })?;
    }
}

/// Most bytes of a line of an archived file.
const MAX_LINE: u64 = 8_192;

/// Reads a line as the store has it.
fn read_value(hex: &str) -> Option<LogLine> {
    let value = decode_vec(hex).ok()?;
    // The number of the line is behind its hash and the version.
    let number = u64::from_le_bytes(value.get(33..41)?.try_into().ok()?);
    LogLine::from_bytes(&LogLine::record_name(number), &value).ok()
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
