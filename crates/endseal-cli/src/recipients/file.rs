//! Files of recipients: one contact or identity a line.

use std::path::Path;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::IdentityText;
use endseal_node::{read_bounded, read_public};

use crate::ctx::Ctx;
use crate::failure::Failure;
use crate::output::{DASH, Input};

/// Limit on the length of a recipients file: more than 2^16 identities in the long form.
const MAX_LEN: usize = 128 << 20;
/// Mark at the start of text files of some Windows editors (U+FEFF in UTF-8).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Hint for a line that cannot be read.
pub(super) const FORMAT: &str =
    "such a file has one contact or identity a line; # begins a comment";

/// One recipient of a file, and the number of its line.
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) line: usize,
}

/// Makes the start of a failure about a line.
pub(super) fn at(path: &Path, line: usize) -> Failure {
    Failure::usage(format!("'{}', line {line}", path.display()))
}

/// Reads a file of recipients; `-` is standard input.
pub(super) fn read(path: &Path, ctx: &mut Ctx) -> Result<Vec<Entry>, Failure> {
    let content: Zeroizing<Vec<u8>> = match path.as_os_str() == DASH {
        true => read_bounded(Input::open(None, ctx)?.reader, path, MAX_LEN)?,
        false => read_public(path, MAX_LEN)?,
    };
    let content = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&content);
    let entries = entries(path, content)?;
    if entries.is_empty() {
        let message = format!("'{}' names no recipient", path.display());
        return Err(Failure::usage(message).hint(FORMAT));
    }
    Ok(entries)
}

/// Splits a file into its entries. A long identity may go on in the lines below, as mails wrap it.
fn entries(path: &Path, content: &[u8]) -> Result<Vec<Entry>, Failure> {
    let mut lines = content.split(|byte| *byte == b'\n').enumerate().peekable();
    let mut entries = Vec::new();
    while let Some((index, line)) = lines.next() {
        let line = without_comment(line);
        if line.is_empty() {
            continue;
        }
        let text = core::str::from_utf8(line);
        let text = text.map_err(|error| at(path, index + 1).because(&error).hint(FORMAT))?;
        let mut text = text.to_owned();
        while text.starts_with("endsealpq1")
            && let Some((_, more)) = lines.next_if(|(_, more)| continues(&text, more))
        {
            text.push_str(core::str::from_utf8(more.trim_ascii()).unwrap_or_default());
        }
        entries.push(Entry { text, line: index + 1 });
    }
    Ok(entries)
}

/// Returns a line without its comment and the blanks around it.
fn without_comment(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii()
}

/// Returns true if a line can be a part of the long identity that begins with `text`.
fn continues(text: &str, line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let is_part = !line.is_empty() && line.iter().all(u8::is_ascii_alphanumeric);
    is_part && !line.starts_with(b"endseal") && text.len() + line.len() <= IdentityText::LONG_LEN
}
