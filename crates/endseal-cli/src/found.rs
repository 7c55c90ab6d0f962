//! Recognition of other kinds of files that are given in place of a sealed file.

use std::io::{self, Cursor, Read};

use endseal_envelope::{Malformed, OpenError};
use endseal_node::OpenFileError;

use crate::failure::Failure;

/// Number of bytes that distinguish the kinds.
const START: u64 = 24;

const KINDS: [(&[u8], &str); 12] = [
    (b"endseal1", "it is a public identity"),
    (b"endsealpq1", "it is a public identity"),
    (b"endsealpeer1", "it is a peer id"),
    (b"endseal msgs v", "it is a session file: endseal session group receive reads it"),
    (b"endseal roster", "it is a roster: endseal group import reads it"),
    (b"endseal identity", "it is an identity file"),
    (b"ENDSEAL-SECRET-1", "it is a secret identity: endseal id import reads it"),
    (b"age-encryption.org/", "it is a file of age"),
    (b"-----BEGIN PGP", "it is an OpenPGP message"),
    (b"PK\x03\x04", "it is a zip archive"),
    (b"\x1f\x8b", "it is compressed with gzip"),
    (b"%PDF-", "it is a PDF"),
];

/// Reads the first bytes of an input. Returns them, and a reader of the whole input.
pub(crate) fn peek(mut content: Box<dyn Read + Send>) -> io::Result<(Vec<u8>, impl Read)> {
    let mut start = Vec::new();
    content.by_ref().take(START).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(content)))
}

/// Makes the failure for an input that begins with `start`. If it is not an envelope, the cause
/// names its kind.
pub(crate) fn failure(error: OpenFileError, start: &[u8]) -> Failure {
    let is_other =
        matches!(&error, OpenFileError::Envelope(OpenError::Malformed(Malformed::Magic)));
    let is_changed = matches!(&error, OpenFileError::Envelope(OpenError::Malformed(_)));
    let failure = Failure::from(error);
    match is_other {
        true => {
            failure.because_text(describe(start)).hint("give a file that endseal seal has written")
        }
        false if is_changed => failure.hint(
            "the file was changed on its way: get it again as binary; mail and git may change line \
             ends",
        ),
        false => failure,
    }
}

fn describe(start: &[u8]) -> String {
    if start.is_empty() {
        return "it is empty".to_owned();
    }
    if let Some((_, kind)) = KINDS.iter().find(|(begin, _)| start.starts_with(begin)) {
        return (*kind).to_owned();
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    if start.iter().all(is_text) {
        return "it is text".to_owned();
    }
    let bytes: Vec<_> = start.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("it begins with the bytes {}", bytes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn kinds_are_told_apart() {
        for (start, kind) in [
            (&b""[..], "it is empty"),
            (b"just some text\n", "it is text"),
            (b"endsealpq1qqqq", "it is a public identity"),
            (b"endseal msgs v1", "it is a session file: endseal session group receive reads it"),
            (b"\x89PNG\r\n", "it begins with the bytes 89 50 4e 47"),
        ] {
            assert_eq!(describe(start), kind);
        }
    }
}
