//! `endseal say`

use std::io::Cursor;

use endseal_node::messages::SayError;

use super::session::{Partner, StoreArgs};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::node_access::with_node;
use crate::output::{DASH, Input};
use crate::printable::plural;

/// Write a text to a person
///
/// The text is kept here, encrypted, until endseal sync or endseal up sends it: then it goes to
/// every device that the person has. Other processes can read arguments: a text that is secret
/// even from users of this machine is given on standard input.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact or identity
    name: String,
    /// The text, or - for standard input
    text: String,
    /// Each line of standard input is a text
    #[arg(long)]
    lines: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let partner = Partner::find(&args.name, ctx)?;
    if args.lines && args.text != DASH {
        return Err(Failure::usage("--lines is for texts on standard input").hint("give -"));
    }
    let reader: Box<dyn std::io::Read + Send> = match args.text.as_str() {
        DASH => Input::open(None, ctx)?.reader,
        text => Box::new(Cursor::new(text.as_bytes().to_vec())),
    };
    let (count, sender) = with_node(args.store.wait, ctx, |node, _| {
        Ok((node.say(&partner.identity, reader, args.lines)?, node.sender()))
    })?;
    let text = format!("{} for {} wait for {sender}", plural(count, "text"), partner.name);
    let text = if count == 1 { text.replacen(" wait ", " waits ", 1) } else { text };
    let json = json::object([("name", partner.name.into()), ("texts", count.into())]);
    Ok(Outcome::done(text, json))
}

impl From<SayError> for Failure {
    fn from(error: SayError) -> Self {
        match error {
            SayError::Engine(error) => error.into(),
            SayError::Input(_) | SayError::Random(_) => Self::of(Kind::Environment, &error),
            _ => Self::of(Kind::Usage, &error).hint("nothing was taken"),
        }
    }
}
