//! `endseal session send`

use core::num::NonZeroU32;
use core::time::Duration;
use std::path::PathBuf;

use endseal_node::sessions::{self, Texts};
use endseal_node::{AtomicFile, Existing, Readers};
use endseal_session::{Address, ConversationId, Engine, SendError};

use super::{Partner, shown, with};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::{DASH, Input};
use crate::printable::plural;

/// Encrypt a text for a person, into a session file
///
/// All texts are encrypted in one transaction, for each device of the person that has a session
/// with this one. Messages leave the outbox when the file is durable under its name. If the process
/// is killed before, they wait, and --resume writes them. A message that is received twice is shown
/// once. While messages wait, new ones to the same person are refused, so that nothing is encrypted
/// twice by mistake.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact or identity
    name: String,
    /// The text [default: standard input]
    #[arg(conflicts_with = "resume")]
    input: Option<PathBuf>,
    /// Each line is a text
    #[arg(long, conflicts_with = "resume")]
    lines: bool,
    /// Write messages that wait from an interrupted run, and encrypt nothing
    #[arg(long)]
    resume: bool,
    /// Only to this device
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    device: Option<NonZeroU32>,
    /// The session file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if args.output.as_os_str() == DASH {
        return Err(Failure::usage("messages are not written to standard output")
            .because_text("nobody could tell whether they are safe there".to_owned())
            .hint("name a file with -o FILE"));
    }
    let partner = Partner::find(&args.name, ctx)?;
    let input = match args.resume {
        true => None,
        false => Some(Input::open(args.input.as_deref(), ctx)?),
    };
    with(wait, ctx, |engine, ctx| {
        let conversation = ConversationId::Person(partner.identity);
        let waiting = sessions::waiting(engine, &conversation)?;
        let existing = if args.force { Existing::Replace } else { Existing::Keep };
        let create = || AtomicFile::create(&args.output, existing, Readers::Umask);
        let (texts, file) = match input {
            None if waiting == 0 => {
                let json = summary(&partner, 0, 0, None);
                return Ok(Outcome::done(format!("nothing waits for {}", partner.name), json));
            }
            None => (0, create()?),
            Some(_) if waiting > 0 => return Err(unfinished(&partner, waiting)),
            Some(input) => {
                let to = devices(&partner, args.device, engine, ctx)?;
                // Before anything is encrypted, so that a file that exists is no surprise after it.
                let file = create()?;
                let texts = match args.lines {
                    true => Texts::lines(input.reader),
                    false => Texts::whole(input.reader),
                };
                (sessions::encrypt(engine, &to, texts)?, file)
            }
        };
        let messages = sessions::write_outbox(engine, &conversation, file).map_err(|error| {
            let name = &partner.name;
            Failure::from(error).hint(format!(
                "the messages wait; write them: endseal session send {name} --resume -o FILE"
            ))
        })?;
        let path = shown(&args.output);
        let text = format!("{} for {} in '{path}'", plural(messages, "message"), partner.name);
        Ok(Outcome::done(text, summary(&partner, texts, messages, Some(path))))
    })
}

fn unfinished(partner: &Partner, waiting: u64) -> Failure {
    let name = &partner.name;
    let wait = if waiting == 1 { "waits" } else { "wait" };
    Failure::usage(format!("{} for {name} {wait} from an earlier run", plural(waiting, "message")))
        .hint(format!(
            "write what waits: endseal session send {name} --resume -o FILE; then see \
                       whether these texts were among it"
        ))
}

/// The devices that can be written to.
fn devices(
    partner: &Partner,
    only: Option<NonZeroU32>,
    engine: &mut Engine,
    ctx: &mut Ctx,
) -> Result<Vec<Address>, Failure> {
    let mut known = partner.devices(engine)?;
    known.retain(|it| only.is_none_or(|device| it.address.device.number() == device.get()));
    let to: Vec<_> = known.iter().filter(|it| it.sending > 0).map(|it| it.address).collect();
    let waits = |it: &&endseal_session::Correspondent| it.sending == 0 && it.awaiting_reset > 0;
    if to.is_empty() {
        let error = match known.iter().find(waits) {
            Some(_) => SendError::Restored,
            None => SendError::NoSession,
        };
        return Err(error.into());
    }
    for left_out in known.iter().filter(waits) {
        let device = left_out.address.device;
        ctx.note(&format!("note: device {device} awaits a reset and gets nothing"));
    }
    Ok(to)
}

fn summary(partner: &Partner, texts: u64, messages: u64, output: Option<String>) -> json::Value {
    json::object([
        ("name", partner.name.clone().into()),
        ("texts", texts.into()),
        ("messages", messages.into()),
        ("output", output.into()),
    ])
}
