//! `endseal say`: writes a text to a person or a group.

use std::io::{Cursor, Read as _};

use endseal_keyring::Name;
use endseal_keyring::roster::GroupId;
use endseal_node::api::{CallError, Reply, Request, SecretText};
use endseal_node::messages::{Conversation, SayError, read_texts};
use endseal_node::sessions::Texts;
use endseal_node::{GroupError, OWN_NAME};

use super::session::{Partner, StoreArgs};
use super::sync;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::network::Timeouts;
use crate::node_access::with_node;
use crate::output::{DASH, Input};
use crate::printable::plural;
use crate::{recipients, typed};

/// Write a text to a person, a group or oneself
///
/// The text is kept here, encrypted, until endseal sync or endseal up sends it: then it goes to
/// every device that the person has, or that the members of the group have, and to your other
/// devices. If something fails when
/// the text is kept already, the exit code is 5: do not repeat the command. Other processes can
/// read arguments: a text that is secret even from users of this machine is given on standard
/// input.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact, identity or group; me for a note that all your devices get
    name: String,
    /// The text in quotes, at most 800,000 bytes, or - for standard input
    text: String,
    /// Each line of standard input is a text
    #[arg(long)]
    lines: bool,
    /// Send it at once (endseal sync)
    #[arg(short, long)]
    now: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let (to, name) = conversation(&args.name, ctx)?;
    check_member(&to, &name, ctx)?;
    if args.lines && args.text != DASH {
        return Err(Failure::usage("--lines is for texts on standard input").hint("give -"));
    }
    let reader: Box<dyn std::io::Read + Send> = match args.text.as_str() {
        DASH => Input::open(None, ctx)?.reader,
        text => Box::new(Cursor::new(text.as_bytes().to_vec())),
    };
    let mut kept = None;
    let done = with_node(args.store.wait, ctx, |node, _| {
        let reader = reader.take(node.max_input());
        let input = if args.lines { Texts::lines(reader) } else { Texts::whole(reader) };
        let mut texts = read_texts(input)?;
        if args.text == DASH && !args.lines {
            texts = texts.iter().map(as_typed).collect();
        }
        if texts.iter().all(|text| text.expose_secret().is_empty()) {
            return Err(nothing(args.text == DASH));
        }
        let Reply::Said(said) = node.call(Request::Say { to, texts })? else {
            return Err(CallError::Unexpected.into());
        };
        let sender = if node.status()?.status.is_restored { None } else { Some(node.sender()) };
        kept = Some((said.texts, sender));
        Ok(())
    });
    let Some((count, sender)) = kept else {
        return Err(done.err().unwrap_or_else(|| CallError::Unexpected.into()));
    };
    let verb = if count == 1 { "waits" } else { "wait" };
    let waits = format!("{} for {name} {verb}", plural(count, "text"));
    let mut text = match sender {
        Some(sender) => format!("{waits} for {sender}"),
        None => format!("{waits} until you run endseal devices renew"),
    };
    let is_kept = |failure: Failure| {
        let kind = if failure.kind == Kind::Interrupted { failure.kind } else { Kind::Kept };
        let failure = failure.kind(kind);
        match sender {
            Some(_) if !failure.has_hint(sync::RENEW) => {
                failure.hint(format!("{text}, which sends it later: do not repeat this command"))
            }
            _ => failure.hint_first(format!("{waits} here: do not repeat this command")),
        }
    };
    done.map_err(is_kept)?;
    if args.now {
        let left =
            sync::now(args.store, args.timeouts, sync::Devices::Told, ctx).map_err(is_kept)?;
        if left == 0 {
            text = format!("{} for {name} sent", plural(count, "text"));
        }
    }
    let json = json::object([("name", name.into()), ("texts", count.into())]);
    Ok(Outcome::done(text, json))
}

/// Returns a text of standard input without its last line end, which programs add, and with the
/// line ends of this system.
fn as_typed(text: &SecretText) -> SecretText {
    let text = text.expose_secret();
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    SecretText::new(text.replace("\r\n", "\n"))
}

/// Makes the failure for a text of no characters.
fn nothing(is_input: bool) -> Failure {
    match is_input {
        true => Failure::usage("standard input has no text: nothing was written")
            .hint("look at the command before the pipe, which printed nothing"),
        false => Failure::usage("the text is empty: nothing was written"),
    }
}

/// Fails for a group that this person is no member of: others would refuse the text.
fn check_member(to: &Conversation, name: &str, ctx: &Ctx) -> Result<(), Failure> {
    let (Conversation::Group(_), Ok(group)) = (to, Name::new(name)) else { return Ok(()) };
    let home = ctx.home()?;
    let roster = home.groups().current(&group)?;
    if roster.member_of_key(home.person()?.identity().ed25519()).is_some() {
        return Ok(());
    }
    Err(Failure::usage(format!("you are no member of {name}: nothing was written")).hint(
        "its owner can add you again: endseal sync brings the new roster, or endseal group import",
    ))
}

/// Finds a contact, an identity or else a group. Returns it with its display name.
pub(super) fn conversation(text: &str, ctx: &Ctx) -> Result<(Conversation, String), Failure> {
    let home = ctx.home()?;
    let groups = home.groups();
    let group = match Name::new(text).map(|name| groups.current(&name)) {
        Ok(Ok(group)) => Some(group),
        Err(_) | Ok(Err(GroupError::Unknown(_))) => None,
        Ok(Err(error)) => return Err(error.into()),
    };
    let known = recipients::known(text, ctx)?;
    if text == OWN_NAME {
        let own = *home.person()?.identity().ed25519();
        // A file from a backup, or one that was edited, can give the name to another one.
        if group.is_some() || known.is_some_and(|it| *it.ed25519() != own) {
            let message = format!("{OWN_NAME} is you, and also a contact or a group here");
            return Err(Failure::usage(message)
                .hint("rename the other one: endseal contacts rename, or endseal group rename"));
        }
        return Ok((Conversation::Person(own), OWN_NAME.to_owned()));
    }
    match (known, group) {
        (Some(_), Some(_)) => Err(Failure::usage(format!("{text} is a contact and a group"))
            .hint("give the identity of the contact, or rename one of them")),
        (Some(person), None) => {
            let Partner { identity, name } = Partner::of(*person.ed25519(), ctx)?;
            Ok((Conversation::Person(identity), name))
        }
        (None, Some(group)) => Ok((Conversation::Group(*group.id()), text.to_owned())),
        (None, None) => {
            let message = format!("'{}' is no contact and no group", typed::shown(text));
            Err(Failure::usage(message).hint(
                "endseal contacts add NAME IDENTITY adds a contact, endseal group import FILE a \
                 group",
            ))
        }
    }
}

/// Like [`conversation`], and accepts the id of a group without a roster on this device.
pub(super) fn any_conversation(text: &str, ctx: &Ctx) -> Result<(Conversation, String), Failure> {
    match (conversation(text, ctx), text.parse::<GroupId>()) {
        (Err(_), Ok(id)) => Ok((Conversation::Group(id), text.to_owned())),
        (found, _) => found,
    }
}

impl From<SayError> for Failure {
    fn from(error: SayError) -> Self {
        match error {
            SayError::Engine(error) => error.into(),
            SayError::Blocked => Self::of(Kind::Refused, &error)
                .hint("nothing was stored; endseal unblock NAME unblocks the person"),
            SayError::Group => Self::of(Kind::Usage, &error)
                .hint("nothing was stored; import a roster: endseal group import FILE"),
            SayError::Input(_) | SayError::Random(_) => Self::of(Kind::Environment, &error),
            _ => Self::of(Kind::Usage, &error).hint("nothing was stored"),
        }
    }
}
