//! `endseal session group receive`: decrypts session files.

use core::fmt::Write as _;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::thread;

use base16ct::lower::encode_string as hex;
use endseal_keyring::Contacts;
use endseal_keyring::device::Address;
use endseal_node::sessions::{Reception, Tally};
use endseal_session::{BatchOptions, JoinedGroup};

use super::inbox::group_name;
use super::list::{device, member_json};
use crate::cmd::session::called;
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::names::identity_text;
use crate::output::{DASH, Input};
use crate::printable::plural;
use crate::progress::Progress;
use crate::sessions::with;

/// Limit on the threads that decrypt. More of them do not help, because the store limits the speed.
const MAX_THREADS: usize = 4;

/// Decrypt the messages of session files into the inbox
///
/// Each message that was opened is in the store before it is counted. The same file can be read
/// again, also after the process was killed in the middle: nothing is delivered twice. The exit
/// code is 1 if a message could not be opened.
///
/// A welcome makes this device a member of a group, if a contact or another device of yours has
/// added it; look at the inviter and the members that are printed, since names of groups prove
/// nothing.
///
/// The order of files, and of messages in them, does not matter for up to 32 MiB that are given in
/// one call. A message that comes in a later call opens if at most 40 messages of the device were
/// missing before the last one that was opened; older keys are deleted. No message opens before
/// which 2,000 are missing.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Session files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    input: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let threads = thread::available_parallelism().map_or(1, |it| it.get().min(MAX_THREADS));
    let options = BatchOptions::default().threads(threads);
    let contacts = ctx.home()?.contacts()?;
    with(wait, ctx, |engine, ctx| {
        let mut tally = Tally::default();
        let own = engine.address().identity;
        let accepts = |inviter: &Address| {
            inviter.identity == own || contacts.name_of(&inviter.identity).is_some()
        };
        let mut reception = Reception::new(engine, &options).inviters(&accepts);
        let read = args.input.iter().try_for_each(|path| {
            let input = Input::open(Some(path), ctx)?;
            let mut progress = Progress::new(ctx, "receiving", input.len);
            let read = reception.read(input.reader, &mut tally, &mut |at| progress.at(at));
            read.map_err(|error| (Failure::from(error), path)).map_err(|(failure, path)| {
                failure.because_text(format!("it is '{}'", name(path).display()))
            })
        });
        // Also deliver the records that were read before a fault.
        let finished = reception.finish(&mut tally).map_err(Failure::from);
        read.and(finished).map_err(|failure| match tally.records {
            0 => failure,
            _ => failure.because_text(format!("before it: {}", text(&tally))),
        })?;
        for group in &tally.uninvited {
            let inviter = identity_text(group.inviter.identity);
            let name = group_name(&group.id);
            ctx.note(&format!(
                "note: {inviter} adds this device to a group '{name}', and is no contact; to join: endseal \
                 contacts add NAME {inviter}, then receive the file again",
            ));
        }
        if ["key-package-used", "no-prekey"].iter().any(|code| tally.failures.contains_key(code)) {
            ctx.note(
                "hint: the key package was used before, or is not of this device; give the member \
                 who added this device a new one: endseal session group key-package -o FILE",
            );
        }
        let mut text = format!("{}\n", text(&tally));
        for group in &tally.joined {
            let (name, inviter) =
                (group_name(&group.id), called(group.inviter.identity, &contacts));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "joined the group {name}, invited by {inviter}; its members:");
            for member in &group.members {
                let is_superseded = group.superseded.contains(member);
                let mark = if is_superseded { "  (replaced by a later device)" } else { "" };
                let _ = writeln!(text, "  {}{mark}", device(member, &contacts));
            }
        }
        let json = summary(&tally, &contacts);
        Ok(Outcome { refused: tally.failed() > 0, ..Outcome::new(text, json) })
    })
}

fn name(path: &Path) -> PathBuf {
    if path.as_os_str() == DASH { "standard input".into() } else { path.to_owned() }
}

/// Formats the counts of messages by result in one line.
fn text(tally: &Tally) -> String {
    let mut text = format!("{}: {} delivered", plural(tally.records, "message"), tally.delivered);
    for (count, what) in [
        (tally.already_delivered, "delivered before"),
        (tally.buffered, "waiting for a later epoch"),
        (tally.parked, "parked"),
        (tally.released, "that had waited"),
        (tally.joined.len() as u64, "joined"),
        (tally.elsewhere, "for other devices"),
        (tally.failed(), "failed"),
    ] {
        if count > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {count} {what}");
        }
    }
    let kinds: Vec<_> =
        tally.failures.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    if kinds.is_empty() { text } else { format!("{text} ({})", kinds.join(", ")) }
}

fn summary(tally: &Tally, contacts: &Contacts) -> Value {
    let group = |it: &JoinedGroup| {
        let members = it.members.iter().map(|member| member_json(member, contacts));
        json::object([
            ("group", group_name(&it.id).into()),
            ("id", hex(&it.id).into()),
            ("epoch", it.epoch.into()),
            ("inviter", member_json(&it.inviter, contacts)),
            ("members", Value::Array(members.collect())),
        ])
    };
    let groups = |list: &[JoinedGroup]| Value::Array(list.iter().map(group).collect());
    let failures = tally.failures.iter().map(|(kind, count)| ((*kind).to_owned(), (*count).into()));
    json::object([
        ("messages", tally.records.into()),
        ("delivered", tally.delivered.into()),
        ("already_delivered", tally.already_delivered.into()),
        ("buffered", tally.buffered.into()),
        ("parked", tally.parked.into()),
        ("released", tally.released.into()),
        ("elsewhere", tally.elsewhere.into()),
        ("failed", tally.failed().into()),
        ("failures", Value::Object(failures.collect())),
        ("joined", groups(&tally.joined)),
        ("uninvited", groups(&tally.uninvited)),
    ])
}
