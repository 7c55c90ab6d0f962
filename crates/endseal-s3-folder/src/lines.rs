//! Small files of lines `word value…`, with a last line that shows that nothing is missing.

use endseal_s3_protocol::sigv4::uri;
use http::{HeaderMap, HeaderName, HeaderValue};

const END: &str = "end";

/// A file that is written.
pub(crate) struct Lines(String);

impl Lines {
    pub(crate) fn new(title: &str) -> Self {
        Self(format!("{title}\n"))
    }

    pub(crate) fn line(&mut self, word: &str, value: impl core::fmt::Display) -> &mut Self {
        self.0.push_str(&format!("{word} {value}\n"));
        self
    }

    /// A line for each header; values are escaped.
    pub(crate) fn headers(&mut self, headers: &HeaderMap) -> &mut Self {
        for (name, value) in headers {
            let value = uri::encode_component(value.as_bytes());
            self.line("header", format_args!("{name} {value}"));
        }
        self
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push_str(END);
        self.0.push('\n');
        self.0
    }
}

/// The lines of a file, without title and end.
pub(crate) fn lines<'a>(
    text: &'a str,
    title: &str,
) -> Option<impl Iterator<Item = (&'a str, &'a str)>> {
    let text = text.strip_prefix(title)?.strip_prefix('\n')?;
    let text = text.strip_suffix('\n')?.strip_suffix(END)?;
    if !text.is_empty() && !text.ends_with('\n') {
        return None;
    }
    Some(text.lines().filter_map(|line| line.split_once(' ')))
}

/// The header of a line.
pub(crate) fn header(value: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = value.split_once(' ')?;
    let value = uri::decode_path(value).ok()?;
    Some((name.parse().ok()?, HeaderValue::from_bytes(&value).ok()?))
}
