//! Content that commands read completely, and results that they write.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use endseal_crypto::secret::Zeroizing;
use endseal_node::read_bounded;
use endseal_nostr::nip44::{Lengths, payload_len};

use crate::ctx::{Ctx, Outcome};
use crate::failure::{self, Failure};
use crate::json::Value;
use crate::output::{AtTerminal, Input, Output};

/// Limit on the content in bytes. NIP-44 needs all of it in memory.
const MAX_LEN: usize = 64 << 20;

/// Reads a file, or standard input. The content is wiped when it is dropped.
pub(super) fn read(path: Option<&Path>, ctx: &mut Ctx) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let name = path.unwrap_or(Path::new("standard input")).to_owned();
    let input = Input::open(path, ctx)?;
    Ok(read_bounded(input.reader, &name, MAX_LEN)?)
}

/// Like [`read`], without white space at both ends, which editors add.
pub(super) fn read_trimmed(
    path: Option<&Path>,
    ctx: &mut Ctx,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let content = read(path, ctx)?;
    Ok(Zeroizing::new(content.trim_ascii().to_vec()))
}

/// Checks that the input is UTF-8.
pub(super) fn text(content: &[u8]) -> Result<&str, Failure> {
    core::str::from_utf8(content)
        .map_err(|_| Failure::usage("the input is no text in UTF-8, and Nostr encrypts text alone"))
}

/// Warns if a plaintext has one of the lengths that NIP-44 added in June 2026.
pub(super) fn warn_of_length(len: usize, ctx: &mut Ctx) {
    if payload_len(len, Lengths::UpTo65535).is_err() {
        ctx.note("warning: clients from before June 2026 cannot read a text as long as this");
    }
}

/// Options for the destination of a result.
#[derive(clap::Args, Debug)]
pub(super) struct Destination {
    /// Write to a file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(short, long)]
    force: bool,
}

impl Destination {
    /// Opens the output before any other work, so that an existing file is refused early.
    pub(super) fn create(&self, ctx: &mut Ctx) -> Result<Output, Failure> {
        Output::create(self.output.as_deref(), self.force, AtTerminal::TextOnly, ctx)
    }
}

/// Writes a result, with a line feed at the end if `is_line`. Adds `output` to the JSON object.
pub(super) fn write(
    mut output: Output,
    content: &[u8],
    is_line: bool,
    mut json: Value,
) -> Result<Outcome, Failure> {
    let end: &[u8] = if is_line { b"\n" } else { b"" };
    let written = output.write_all(content).and_then(|()| output.write_all(end));
    written.map_err(|error| failure::standard(&error))?;
    let (data_on_stdout, path) = (output.is_stdout(), output.path());
    output.commit()?;
    if let Value::Object(fields) = &mut json {
        let path = path.as_ref().map(|path| path.display().to_string());
        fields.insert("output".to_owned(), path.into());
    }
    let confirmation = path.map(|path| format!("written to '{}'", path.display()));
    Ok(Outcome { data_on_stdout, confirmation, ..Outcome::new("", json) })
}
