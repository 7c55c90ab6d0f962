//! `endseal open`: opens a sealed file.

use std::io;
use std::path::PathBuf;

use base16ct::lower::encode_string;
use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;
use endseal_envelope::Policy;
use endseal_keyring::{Contacts, IdentityText};
use endseal_node::{Incoming, OpenFileError, check_start};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::found;
use crate::output::{AtTerminal, Input, NotText, Output, binary};
use crate::printable::plural;
use crate::progress::Progress;
use crate::{json, passphrase, recipients, time};

/// Open a file, or standard input, that was sealed to you
///
/// Standard error shows the sender: the name of a contact, or an unknown key. With -o the file
/// appears only if all of it is authentic. Standard output receives each block after it was
/// verified: do not use the content unless the exit code is 0.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Accept only files of this contact or identity; repeatable
    #[arg(long, value_name = "NAME|IDENTITY")]
    from: Vec<String>,
    /// Write to a file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
    /// The sealed file [default: standard input]
    input: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    let contacts = home.contacts()?;
    let mut policy = Policy::new();
    if !args.from.is_empty() {
        let from: Result<Vec<_>, _> =
            args.from.iter().map(|text| recipients::person(text, ctx)).collect();
        policy = policy.senders(from?.iter().map(|identity| *identity.ed25519()));
    }
    let input = Input::open(args.input.as_deref(), ctx)?;
    let (start, content) = found::peek(input.reader).map_err(OpenFileError::Input)?;
    let envelope = check_start(content).map_err(|error| found::failure(error, &start))?;
    let mut output = Output::create(args.output.as_deref(), args.force, AtTerminal::TextOnly, ctx)?;
    let identity = passphrase::unlock(ctx, &home)?;
    let incoming = Incoming::open(&identity, policy, envelope)?;
    let sender = Sender::new(incoming.sender(), &contacts, identity.public());
    let at = incoming.time();
    let sent = if at == 0 { None } else { Some(at) };
    let message_id = encode_string(incoming.message_id());
    let dated = sent.map(|at| format!(", dated {}", time::local(at))).unwrap_or_default();
    let suite = incoming.suite().name();
    ctx.note(&format!("sealed by {}{dated}, suite {suite}", sender.text()));
    let mut progress = Progress::new(ctx, "opening", input.len);
    let len = incoming.copy_to(&mut output, &mut |at| progress.at(at)).map_err(not_text)?;
    drop(progress);
    let json = json::object([
        ("content_length", len.into()),
        ("output", output.path().map(|path| path.display().to_string()).into()),
        ("sender", sender.identity.into()),
        ("sender_name", sender.name.into()),
        ("sender_is_self", sender.is_self.into()),
        ("suite", suite.into()),
        ("time", sent.map(time::rfc3339).into()),
        ("message_id", message_id.into()),
    ]);
    let (data_on_stdout, path) = (output.is_stdout(), output.path());
    output.commit()?;
    let confirmation = path.map(|path| format!("{} in '{}'", plural(len, "byte"), path.display()));
    Ok(Outcome { data_on_stdout, confirmation, ..Outcome::new("", json) })
}

/// Sender of a file, and the name of the contact with that key.
struct Sender {
    identity: String,
    name: Option<String>,
    is_self: bool,
}

impl Sender {
    fn new(key: &ed25519::PublicKey, contacts: &Contacts, own: &PublicIdentity) -> Self {
        Self {
            identity: IdentityText::from(PublicIdentity::short(*key)).to_string(),
            name: contacts.name_of(key).map(ToString::to_string),
            is_self: own.ed25519() == key,
        }
    }

    fn text(&self) -> String {
        match &self.name {
            _ if self.is_self => "yourself".to_owned(),
            Some(name) => name.clone(),
            None => format!("unknown sender {}", self.identity),
        }
    }
}

fn not_text(error: OpenFileError) -> Failure {
    let guarded = |cause: &io::Error| cause.get_ref().is_some_and(|inner| inner.is::<NotText>());
    match &error {
        OpenFileError::Output(cause) if guarded(cause) => binary(),
        _ => error.into(),
    }
}
