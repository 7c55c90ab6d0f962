//! `endseal session group send`: encrypts a text into a session file.

use core::time::Duration;
use std::path::PathBuf;

use endseal_node::sessions::{self, Texts};

use super::{Known, Out};
use crate::cmd::session::{plural, shown};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;
use crate::output::Input;
use crate::sessions::with;

/// Encrypt a text for the members of a group, into a session file
///
/// All texts are encrypted in one transaction. Messages leave the outbox when the file is durable
/// under its name. If the process is killed before, they wait, and --resume writes them, and
/// commits too. A message that is received twice is shown once. While messages wait, new ones are
/// refused, so that nothing is encrypted twice by mistake.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the group
    group: String,
    /// The text [default: standard input]
    #[arg(conflicts_with = "resume")]
    input: Option<PathBuf>,
    /// Each line is a text
    #[arg(long, conflicts_with = "resume")]
    lines: bool,
    /// Write messages that wait from an interrupted run, and encrypt nothing
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    out: Out,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    args.out.check()?;
    let input = match args.resume {
        true => None,
        false => Some(Input::open(args.input.as_deref(), ctx)?),
    };
    with(wait, ctx, |engine, _| {
        let group = Known::find(&args.group, engine)?;
        let (name, conversation) = (&group.name, group.conversation());
        let summary = |texts: u64, messages: u64, output: Option<String>| {
            json::object([
                ("group", name.clone().into()),
                ("texts", texts.into()),
                ("messages", messages.into()),
                ("output", output.into()),
            ])
        };
        let (texts, file) = match input {
            None if sessions::waiting(engine, &conversation)? == 0 => {
                let text = format!("nothing waits for the group {name}");
                return Ok(Outcome::done(text, summary(0, 0, None)));
            }
            None => (0, args.out.create()?),
            Some(input) => {
                group.check_outbox(engine)?;
                let file = args.out.create()?;
                let texts = match args.lines {
                    true => Texts::lines(input.reader),
                    false => Texts::whole(input.reader),
                };
                (sessions::encrypt_group(engine, &group.id, texts)?, file)
            }
        };
        let messages = group.write_outbox(engine, file)?;
        let path = shown(&args.out.output);
        let text = format!("{} for the group {name} in '{path}'", plural(messages, "message"));
        Ok(Outcome::done(text, summary(texts, messages, Some(path))))
    })
}
