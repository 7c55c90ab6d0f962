//! `endseal session group inbox`: prints received texts and changes.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::Write as _;
use std::path::PathBuf;

use base16ct::lower::encode_string as hex;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::Contacts;
use endseal_keyring::device::Address;
use endseal_node::messages::is_from_hub;
use endseal_session::{ConversationId, Notice, Received, ReceivedKind};

use crate::cmd::session::called;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{self, Failure};
use crate::json::{self, Value};
use crate::names::identity_text;
use crate::output::{AtTerminal, Output};
use crate::printable::{indent, plural, printable};
use crate::sessions::with;

/// Messages that are read at once.
const PAGE: usize = 64;

/// Print the texts and changes that were received from files and not taken
///
/// Each message is "NAME> text". Further lines of a text are indented, and control characters are
/// replaced. With --json each message is one object on its own line, exactly as it was sent.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Delete each message after it was written
    ///
    /// With -o, messages are deleted after the file is on the disk under its name.
    #[arg(long)]
    take: bool,
    /// Write to a file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let contacts = ctx.home()?.contacts()?;
    with(wait, ctx, |engine, ctx| {
        let mut out =
            Output::create(args.output.as_deref(), args.force, AtTerminal::TextOnly, ctx)?;
        let path = out.path().map(|path| path.display().to_string());
        let is_stdout = out.is_stdout();
        let mut after = 0;
        let mut numbers = Vec::new();
        let mut count = 0_u64;
        loop {
            let page = engine.inbox().page(after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            let mut carried = Vec::with_capacity(page.len());
            for message in page {
                if !is_from_hub(engine, &message)? {
                    carried.push(message);
                }
            }
            for message in &carried {
                let line = line(message, &contacts, ctx.global.json);
                out.write_all(line.as_bytes()).map_err(|error| failure::standard(&error))?;
            }
            out.flush().map_err(|error| failure::standard(&error))?;
            count += carried.len() as u64;
            numbers.extend(carried.iter().map(|message| message.number));
            if args.take && is_stdout {
                engine.inbox().consume_many(&numbers)?;
                numbers.clear();
            }
        }
        out.commit_durably()?;
        if args.take {
            engine.inbox().consume_many(&numbers)?;
        }
        if is_stdout {
            return Ok(Outcome::default());
        }
        let text = format!("{} written", plural(count, "message"));
        let json = json::object([("messages", count.into()), ("output", path.into())]);
        Ok(Outcome::done(text, json))
    })
}

/// Formats a message for people or for programs, with its line end.
fn line(message: &Received, contacts: &Contacts, as_json: bool) -> Zeroizing<String> {
    if as_json {
        return Zeroizing::new(format!("{}\n", object(message, contacts)));
    }
    let sender = called(message.sender.identity, contacts);
    let mut line = Zeroizing::new(String::with_capacity(message.plaintext.len() + 128));
    line.push_str(&sender);
    if let ConversationId::Group(id) = &message.conversation {
        // Writing to a string cannot fail.
        let _ = write!(line, " in {}", group_name(id));
    }
    if message.kind == ReceivedKind::Text {
        line.push_str("> ");
        match core::str::from_utf8(&message.plaintext) {
            Ok(text) => {
                indent(text, &mut line);
            }
            Err(_) => {
                let _ = write!(line, "({} bytes that are no text)", message.plaintext.len());
            }
        }
    } else {
        let _ = write!(line, ": {}", notice(message, contacts));
    }
    line.push('\n');
    line
}

fn object(message: &Received, contacts: &Contacts) -> Value {
    let text = match message.kind {
        ReceivedKind::Text => core::str::from_utf8(&message.plaintext).ok(),
        _ => None,
    };
    let (kind, notice) = match message.kind {
        ReceivedKind::Text => ("text", None),
        ReceivedKind::Change => ("change", Some(notice(message, contacts))),
        _ => ("proposal", Some(notice(message, contacts))),
    };
    let group = match &message.conversation {
        ConversationId::Group(id) => Some(hex(id)),
        _ => None,
    };
    let data = (text.is_none() && notice.is_none()).then(|| hex(&message.plaintext));
    json::object([
        ("number", message.number.into()),
        ("sender", identity_text(message.sender.identity).into()),
        ("sender_name", contacts.name_of(&message.sender.identity).map(ToString::to_string).into()),
        ("device", message.sender.device.number().into()),
        ("group", group.into()),
        ("id", hex(&message.id).into()),
        ("kind", kind.into()),
        ("text", text.into()),
        ("data", data.into()),
        ("notice", notice.into()),
    ])
}

/// Describes a change in a group.
fn notice(message: &Received, contacts: &Contacts) -> String {
    let names = |list: &[Address]| {
        let names: Vec<_> = list
            .iter()
            .map(|it| format!("{} (device {})", called(it.identity, contacts), it.device))
            .collect();
        names.join(", ")
    };
    match Notice::parse(&message.plaintext) {
        Some(Notice::Changed { epoch, is_removed, added, removed, superseded, .. }) => {
            let mut text = format!("epoch {epoch}");
            if !added.is_empty() {
                let _ = write!(text, ", added {}", names(&added));
            }
            if !removed.is_empty() {
                let _ = write!(text, ", removed {}", names(&removed));
            }
            if !superseded.is_empty() {
                let _ = write!(text, ", of devices that were replaced: {}", names(&superseded));
            }
            text + if is_removed { ", this device is no member any more" } else { "" }
        }
        Some(Notice::Add(who)) => format!("proposes to add {}", names(&[who])),
        Some(Notice::Remove(who)) => format!("proposes to remove {}", names(&[who])),
        Some(Notice::Update) => "proposes new keys".to_owned(),
        _ => "a change that this version does not know".to_owned(),
    }
}

/// Returns the id of a group as text if it is UTF-8, or else in hexadecimal.
pub(crate) fn group_name(id: &[u8]) -> String {
    core::str::from_utf8(id).map_or_else(|_| hex(id), printable)
}
