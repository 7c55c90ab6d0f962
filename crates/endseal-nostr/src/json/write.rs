//! JSON without white space, in the one form that event ids are computed from.
//!
//! In strings `"` and the backslash are escaped, and the control characters below 0x20: five as
//! `\b`, `\t`, `\n`, `\f` and `\r`, the others as `\u00xx` with lower-case digits. All else, 0x7f
//! among it, is written as it is.

use super::{Piece, Text, special};
use crate::output::Sink;

/// Writes a string with its quotes.
pub fn text(sink: &mut impl Sink, text: Text<'_>) {
    sink.put(b"\"");
    for piece in text.pieces() {
        match piece {
            Piece::Run(run) => escape(sink, run.as_bytes()),
            Piece::Char(single) => escape(sink, single.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    sink.put(b"\"");
}

/// Writes an integer in decimal digits.
pub fn integer(sink: &mut impl Sink, value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = value;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return sink.put(&digits[start..]);
        }
    }
}

/// Writes a string of hexadecimal digits with its quotes.
pub fn hex(sink: &mut impl Sink, bytes: &[u8]) {
    sink.put(b"\"");
    for piece in bytes.chunks(32) {
        // The buffer has the length of the digits.
        sink.put(base16ct::lower::encode(piece, &mut [0; 64]).unwrap_or_default());
    }
    sink.put(b"\"");
}

/// The inside of a string of the sink below: JSON within JSON.
#[derive(Debug)]
pub struct Quoted<'s, S>(&'s mut S);

impl<'s, S: Sink> Quoted<'s, S> {
    /// Writes to `sink`, without the quotes.
    pub fn new(sink: &'s mut S) -> Self {
        Self(sink)
    }
}

impl<S: Sink> Sink for Quoted<'_, S> {
    fn put(&mut self, bytes: &[u8]) {
        escape(self.0, bytes);
    }
}

/// Writes the characters of a string.
fn escape(sink: &mut impl Sink, mut bytes: &[u8]) {
    loop {
        let (run, rest) = bytes.split_at(special(bytes));
        if !run.is_empty() {
            sink.put(run);
        }
        let Some((byte, rest)) = rest.split_first() else { return };
        bytes = rest;
        let letter = match byte {
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => *byte,
            _ => {
                let mut escape = *b"\\u0000";
                let _ = base16ct::lower::encode(&[*byte], &mut escape[4..]);
                sink.put(&escape);
                continue;
            }
        };
        sink.put(&[b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan::Scanner;
    use crate::output::Output;

    fn written(write: impl FnOnce(&mut Output<'_>)) -> String {
        let mut buffer = [0; 1_000];
        let mut output = Output::new(&mut buffer);
        write(&mut output);
        str::from_utf8(output.finish().unwrap()).unwrap().to_owned()
    }

    #[test]
    fn strings_are_written_as_serde_json_writes_them() {
        let all: String = (0..0x180).filter_map(char::from_u32).chain(['\u{2028}', '😀']).collect();
        for sample in ["", "plain", "\"", "\\\n", &all] {
            let own = written(|out| text(out, sample.into()));
            assert_eq!(own, serde_json::to_string(sample).unwrap());
            assert!(Scanner::over(&own).string().unwrap().is(sample));
        }
    }

    #[test]
    fn escaped_strings_are_written_in_the_one_form() {
        let json = r#""\u0041\/\u001F\u000a\u0022\u005c\u007f\ud83d\ude00""#;
        let read = Scanner::over(json).string().unwrap();
        let expected = format!("\"A/{}\\n\\\"\\\\{}😀\"", r"\u001f", '\u{7f}');
        assert_eq!(written(|out| text(out, read)), expected);
    }

    #[test]
    fn integers_and_digits_are_written() {
        for value in [0, 9, 10, 1_700_000_000, u64::MAX] {
            assert_eq!(written(|out| integer(out, value)), value.to_string());
        }
        assert_eq!(written(|out| hex(out, &[])), "\"\"");
        let bytes: Vec<u8> = (0..65).collect();
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written(|out| hex(out, &bytes)), format!("\"{digits}\""));
    }

    #[test]
    fn quoted_json_is_read_back() {
        let json = written(|out| {
            out.put(b"\"");
            text(&mut Quoted::new(out), "a \"b\"\n".into());
            out.put(b"\"");
        });
        let mut inner = [0; 64];
        let outer = Scanner::over(&json).string().unwrap();
        let inner = outer.unescape_into(&mut inner).unwrap();
        assert!(Scanner::new(inner).unwrap().string().unwrap().is("a \"b\"\n"));
    }
}
