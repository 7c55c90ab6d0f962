//! `endseal inbox`: prints unread texts, and problems.

mod requests;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::PeerIdText;
use endseal_node::api::{CallError, Client, Reply, Request, SecretText, TextRow};
use endseal_node::messages::Conversation;

use super::session::StoreArgs;
use super::sync;
use crate::ctx::{Ctx, Outcome};
use crate::device_changes;
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::names::Names;
use crate::names::identity_text;
use crate::network::Timeouts;
use crate::node_access::{NodeAccess, with_node};
use crate::printable::{indent, plural};
use crate::problem_text::meaning;
use crate::time::{local, rfc3339};

/// Print the texts that arrived and were not read
///
/// Each is "TIME NAME> text", with the time at which it was written, and "NAME in GROUP" before the
/// sign if it was written to a group. A member who is not a contact is shown by the name in the
/// roster, followed by "(no contact)". Further lines of a text are indented, and control characters
/// are replaced. With --json each text is one object on its own line, exactly as it was sent.
/// Printed texts move to endseal history.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Receive what waits at the hub first (endseal sync)
    #[arg(short, long, conflicts_with = "follow")]
    now: bool,
    /// Print the texts without marking them as read
    #[arg(long)]
    keep: bool,
    /// Go on with texts as they arrive (endseal up receives them), until ^C
    #[arg(long, conflicts_with = "problems")]
    follow: bool,
    /// Print the texts of people who are no contacts, and to whom nothing was written
    ///
    /// They are requests: endseal contacts add, or a text to the person, moves them to the inbox,
    /// and endseal block deletes them. The first 100 texts of a person wait, and 4 MiB in total.
    #[arg(long, conflicts_with_all = ["problems", "follow", "keep"])]
    requests: bool,
    /// List what arrived and cannot be shown, and what cannot be sent
    ///
    /// Each line has the time, the class of the problem (docs/spec/node.md lists them), the sender
    /// or receiver (a name, an identity, the peer id of a device that is not known, or -), and what
    /// it means.
    #[arg(long, conflicts_with = "keep")]
    problems: bool,
    /// Forget the problems that were listed
    #[arg(long, requires = "problems")]
    clear: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if !args.now {
        return show(args, ctx);
    }
    let is_listed = !args.problems && !args.requests;
    let devices = if is_listed { sync::Devices::LeftOut } else { sync::Devices::Told };
    let synced = sync::now(args.store, args.timeouts, devices, ctx);
    let shown = show(args, ctx);
    match (synced, shown) {
        (Ok(_), shown) => shown,
        // What has arrived is printed, too.
        (Err(failure), Ok(outcome)) => {
            ctx.tell(outcome)?;
            Err(failure)
        }
        (Err(failure), Err(_)) => Err(failure),
    }
}

fn show(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if args.problems {
        return list_problems(args, ctx);
    }
    let followed = match Client::find(&ctx.home()?)? {
        Some(client) if args.follow => Some(client.follow(0)?),
        None if args.follow => {
            return Err(Failure::new(Kind::Environment, "endseal up is not running")
                .hint("start it, in another terminal: endseal up"));
        }
        _ => None,
    };
    let names = Names::load(&ctx.home()?)?;
    with_node(args.store.wait, ctx, |node, ctx| {
        let own = node.own();
        if args.requests {
            return requests::list(&names, node, ctx);
        }
        let show = |page: &[TextRow], node: &mut NodeAccess<'_>, ctx: &mut Ctx| {
            for message in page {
                let line = line(message, &own, &names, ctx.global.json);
                ctx.print(line.as_bytes())?;
            }
            // Print before marking as read: after a crash a text is shown twice, but never lost.
            if !args.keep {
                let numbers = page.iter().map(|it| it.number).collect();
                node.call(Request::MarkRead { numbers })?;
            }
            Ok::<_, Failure>(())
        };
        if let Some(mut followed) = followed {
            loop {
                show(&followed.next()?, node, ctx)?;
            }
        }
        show_changes(args.keep, &own, &names, node, ctx)?;
        if !ctx.global.json && !ctx.global.quiet {
            requests::note(&names, node, ctx)?;
        }
        let mut after = 0;
        loop {
            let Reply::Texts(page) = node.call(Request::Unread { after })? else {
                return Err(CallError::Unexpected.into());
            };
            show(&page.rows, node, ctx)?;
            match page.next {
                Some(next) => after = next,
                None => return Ok(Outcome::default()),
            }
        }
    })
}

/// Prints the devices that persons have newly or no more. With --json, `devices list` has them.
fn show_changes(
    keep: bool,
    own: &PublicKey,
    names: &Names,
    node: &mut NodeAccess<'_>,
    ctx: &mut Ctx,
) -> Result<(), Failure> {
    let Reply::DeviceChanges(changes) = node.call(Request::DeviceChanges {})? else {
        return Err(CallError::Unexpected.into());
    };
    let Some(last) = changes.rows.last().map(|it| it.number) else { return Ok(()) };
    for change in &changes.rows {
        ctx.note(&format!("note: {}", device_changes::line(change, own, names)));
    }
    // A notice that was not printed stays new.
    if !keep && !ctx.global.json && !ctx.global.quiet {
        node.call(Request::MarkChangesSeen { last })?;
    }
    Ok(())
}

/// A message for people or programs, with its line end.
fn line(message: &TextRow, own: &PublicKey, names: &Names, as_json: bool) -> Zeroizing<String> {
    let from = &message.from;
    let id = match &message.conversation {
        Conversation::Person(_) => None,
        Conversation::Group(id) => Some(id),
    };
    let group = id.map(|id| names.group(id));
    if as_json {
        let object = json::object([
            ("number", message.number.into()),
            ("from", identity_text(*from).into()),
            ("name", names.contact(from).into()),
            ("member_name", id.and_then(|id| names.member(from, Some(id))).into()),
            ("group", group.into()),
            ("device", message.device.into()),
            ("time", message.time.map(rfc3339).into()),
            ("text", message.text.as_ref().map(SecretText::expose_secret).into()),
        ]);
        return Zeroizing::new(format!("{object}\n"));
    }
    let name = if from == own { "me".to_owned() } else { names.person(from, id) };
    match group {
        Some(group) => shown(&format!("{name} in {group}"), message),
        None => shown(&name, message),
    }
}

/// Formats a text for people, with its line end.
pub(super) fn shown(name: &str, row: &TextRow) -> Zeroizing<String> {
    let text = row.text.as_ref().map(SecretText::expose_secret);
    let len = text.map_or(0, str::len);
    let mut line = Zeroizing::new(String::with_capacity(2 * len + 128));
    match (row.time, text) {
        (Some(time), Some(text)) => {
            line.push_str(&local(time));
            line.push(' ');
            line.push_str(name);
            line.push_str("> ");
            indent(text, &mut line);
        }
        _ => {
            line.push_str(name);
            line.push_str("> (a message that this version cannot show)");
        }
    }
    line.push('\n');
    line
}

fn list_problems(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let names = Names::load(&ctx.home()?)?;
    with_node(args.store.wait, ctx, |node, ctx| {
        let (mut text, mut list) = (String::new(), Vec::new());
        let Reply::Problems(found) = node.call(Request::Problems {})? else {
            return Err(CallError::Unexpected.into());
        };
        for problem in &found.rows {
            let class = problem.class.as_str();
            let peer = PeerIdText::from(problem.peer).to_string();
            let from = problem.device.map(|device| device.identity);
            let who = match &from {
                Some(from) => names.person(from, None),
                None if problem.peer.as_bytes() == &[0; 32] => "-".to_owned(),
                None => peer.clone(),
            };
            let time = local(problem.time);
            text.push_str(&format!("{time} {class} {who}{}\n", meaning(class)));
            list.push(json::object([
                ("time", rfc3339(problem.time).into()),
                ("class", class.into()),
                ("from", from.map(identity_text).into()),
                ("name", from.and_then(|it| names.contact(&it)).into()),
                ("peer_id", peer.into()),
                ("position", problem.position.into()),
            ]));
        }
        let json = json::object([("problems", Value::Array(list))]);
        let Some(last) = found.rows.last().filter(|_| args.clear) else {
            return Ok(Outcome::new(text, json));
        };
        // Print before deleting: after a crash a problem is shown twice, but never lost.
        match ctx.global.json {
            true => ctx.print(format!("{json}\n").as_bytes())?,
            false => ctx.print(text.as_bytes())?,
        }
        node.call(Request::ForgetProblems { last: last.number })?;
        let problems = plural(found.rows.len() as u64, "problem");
        Ok(Outcome::done(format!("{problems} forgotten"), Value::Null))
    })
}
