//! `endseal inspect`: shows the cleartext of a sealed file.

use std::path::PathBuf;

use endseal_node::{Inspection, OpenFileError};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::found;
use crate::json;
use crate::output::Input;

/// Show what a sealed file reveals without a key
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The sealed file [default: standard input]
    input: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let input = Input::open(args.input.as_deref(), ctx)?;
    let (start, content) = found::peek(input.reader).map_err(OpenFileError::Input)?;
    let seen = Inspection::of(content).map_err(|error| found::failure(error, &start))?;
    let (slots, slot_len) = (seen.slots, seen.suite.slot_len());
    let content = match seen.content_len {
        Some(len) => format!("{len} bytes"),
        None => "cut short: no content gives this length".to_owned(),
    };
    let overhead = seen.overhead().map_or_else(|| "-".to_owned(), |len| format!("{len} bytes"));
    let text = format!(
        "format      endseal envelope, version {}\n\
         suite       {}\n\
         slots       {slots} of {slot_len} bytes: recipients, and decoys if any\n\
         length      {} bytes\n\
         content     {content}\n\
         overhead    {overhead}\n\
         sender      hidden\n\
         recipients  hidden\n",
        seen.version,
        seen.suite.name(),
        seen.envelope_len,
    );
    let json = json::object([
        ("format", "endseal envelope".into()),
        ("version", seen.version.into()),
        ("suite", seen.suite.name().into()),
        ("slots", slots.into()),
        ("slot_length", slot_len.into()),
        ("length", seen.envelope_len.into()),
        ("content_length", seen.content_len.into()),
        ("overhead", seen.overhead().into()),
    ]);
    // Nothing here is authenticated, so that this is no proof of damage, but the file is not
    // complete.
    Ok(Outcome { refused: seen.content_len.is_none(), ..Outcome::new(text, json) })
}
