//! Scanner over JSON in memory: each call reads one value or one step of it.

use core::ops::Range;

use super::{Escaped, JsonError, Text, special, unescape};

/// Most objects and arrays within each other. An event has three.
pub const MAX_DEPTH: usize = 8;

/// Most members of an object that is read. An event has seven.
pub const MAX_MEMBERS: usize = 32;

/// Length of the escape of half a surrogate pair.
const HALF: usize = "\\ud800".len();

/// Largest integer that all JSON implementations hold exactly, `2^53 - 1`.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// A position in JSON.
///
/// It passes once over its input. After an error the position is undefined.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Scanner<'a> {
    /// Begins at the front of `json`.
    ///
    /// # Errors
    /// [`JsonError::Utf8`].
    pub fn new(json: &'a [u8]) -> Result<Self, JsonError> {
        str::from_utf8(json).map(Self::over).map_err(|_| JsonError::Utf8)
    }

    /// Begins at the front of `json`.
    #[must_use]
    pub const fn over(json: &'a str) -> Self {
        Self { text: json, at: 0, depth: 0 }
    }

    fn next_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The first byte behind white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.next_byte() {
            self.at += 1;
        }
        self.next_byte()
    }

    /// Skips white space and `byte`. Returns false if another byte is there.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) { Ok(()) } else { Err(JsonError::Unexpected) }
    }

    fn enter(&mut self, bracket: u8) -> Result<(), JsonError> {
        self.expect(bracket)?;
        if self.depth == MAX_DEPTH {
            return Err(JsonError::Depth);
        }
        self.depth += 1;
        Ok(())
    }

    /// Passes `,` and returns false, or passes `bracket` and returns true.
    fn leave(&mut self, bracket: u8) -> Result<bool, JsonError> {
        if self.take(bracket) {
            self.depth -= 1;
            return Ok(true);
        }
        self.expect(b',').map(|()| false)
    }

    /// Reads an object. `member` is called behind each name and MUST read its value.
    ///
    /// # Errors
    /// [`JsonError`], for a second member of one name too; those of `member`.
    pub fn object<E: From<JsonError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Text<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut names = [Text::Plain(""); MAX_MEMBERS];
        let mut count = 0;
        self.enter(b'{')?;
        if self.peek() == Some(b'}') {
            return self.leave(b'}').map(drop).map_err(E::from);
        }
        loop {
            let name = self.string()?;
            if names[..count].contains(&name) {
                return Err(JsonError::Duplicate.into());
            }
            *names.get_mut(count).ok_or(JsonError::Members)? = name;
            count += 1;
            self.expect(b':')?;
            member(self, name)?;
            if self.leave(b'}')? {
                return Ok(());
            }
        }
    }

    /// Reads an array. `element` is called before each element and MUST read it.
    ///
    /// # Errors
    /// [`JsonError`]; those of `element`.
    pub fn array<E: From<JsonError>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.enter(b'[')?;
        if self.peek() == Some(b']') {
            return self.leave(b']').map(drop).map_err(E::from);
        }
        loop {
            element(self)?;
            if self.leave(b']')? {
                return Ok(());
            }
        }
    }

    /// Reads a JSON string, whose escapes are checked and not resolved.
    ///
    /// # Errors
    /// [`JsonError::Unexpected`], [`JsonError::Surrogate`].
    pub fn string(&mut self) -> Result<Text<'a>, JsonError> {
        self.string_or_halves(&mut || Err(JsonError::Surrogate))
    }

    /// Reads a string as [`Scanner::string_located`] does, and also one with halves of surrogate
    /// pairs. Returns true if it has any: it is no text then.
    ///
    /// # Errors
    /// [`JsonError::Unexpected`].
    pub(crate) fn string_with_halves(&mut self) -> Result<(Range<usize>, bool), JsonError> {
        let mut has_halves = false;
        let text = self.string_or_halves(&mut || {
            has_halves = true;
            Ok(HALF)
        })?;
        Ok((self.located(text), has_halves))
    }

    /// Reads a string. `half` is called for each escaped half of a surrogate pair and returns the
    /// length to pass.
    fn string_or_halves(
        &mut self,
        half: &mut dyn FnMut() -> Result<usize, JsonError>,
    ) -> Result<Text<'a>, JsonError> {
        self.expect(b'"')?;
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut has_escapes = false;
        loop {
            self.at += special(&bytes[self.at..]);
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    self.at += match unescape::escape(&bytes[self.at..]) {
                        Ok((_, len)) => len,
                        Err(JsonError::Surrogate) => half()?,
                        Err(error) => return Err(error),
                    };
                }
                _ => return Err(JsonError::Unexpected),
            }
        }
        // Quotes and backslashes are ASCII, so the string ends between characters.
        let inside = self.text.get(start..self.at).ok_or(JsonError::Utf8)?;
        self.at += 1;
        Ok(if has_escapes { Text::Escaped(Escaped::new(inside)) } else { Text::Plain(inside) })
    }

    /// Reads a string; also returns the place of its inside in the input, escapes as they are.
    ///
    /// # Errors
    /// As [`Scanner::string`].
    pub fn string_located(&mut self) -> Result<(Text<'a>, Range<usize>), JsonError> {
        let text = self.string()?;
        Ok((text, self.located(text)))
    }

    /// Place of the inside of the string that was read last.
    fn located(&self, text: Text<'_>) -> Range<usize> {
        let len = match text {
            Text::Plain(raw) => raw.len(),
            Text::Escaped(escaped) => escaped.raw().len(),
        };
        // The position is behind the closing quote.
        let end = self.at - 1;
        end - len..end
    }

    /// Reads an integer from 0 to `maximum`: digits only, without a leading 0.
    ///
    /// # Errors
    /// [`JsonError::Unexpected`], [`JsonError::Integer`].
    pub fn integer(&mut self, maximum: u64) -> Result<u64, JsonError> {
        self.peek();
        let start = self.at;
        self.number()?;
        let number = self.text.get(start..self.at).unwrap_or_default();
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(JsonError::Integer);
        }
        match number.parse() {
            Ok(value) if value <= maximum => Ok(value),
            _ => Err(JsonError::Integer),
        }
    }

    /// Passes `null` and returns true, or returns false.
    ///
    /// # Errors
    /// [`JsonError::Unexpected`] for what only begins like it.
    pub fn null(&mut self) -> Result<bool, JsonError> {
        if self.peek() != Some(b'n') {
            return Ok(false);
        }
        self.word("null").map(|()| true)
    }

    /// Passes a value of any kind. Members of objects in it are not compared.
    ///
    /// # Errors
    /// [`JsonError`].
    pub fn skip(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[') => self.array(Self::skip),
            Some(b'{') => self.skip_object(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            _ => self.word("null"),
        }
    }

    fn skip_object(&mut self) -> Result<(), JsonError> {
        self.enter(b'{')?;
        if self.peek() == Some(b'}') {
            return self.leave(b'}').map(drop);
        }
        loop {
            self.string()?;
            self.expect(b':')?;
            self.skip()?;
            if self.leave(b'}')? {
                return Ok(());
            }
        }
    }

    /// Passes a value as [`Scanner::skip`] does; returns its text.
    ///
    /// # Errors
    /// [`JsonError`].
    pub fn raw(&mut self) -> Result<&'a str, JsonError> {
        self.raw_of(Self::skip)
    }

    /// Text of the value that `read` reads.
    pub(crate) fn raw_of(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), JsonError>,
    ) -> Result<&'a str, JsonError> {
        self.peek();
        let start = self.at;
        read(self)?;
        // Values begin and end with ASCII.
        self.text.get(start..self.at).ok_or(JsonError::Utf8)
    }

    /// Accepts white space up to the end of the input.
    ///
    /// # Errors
    /// [`JsonError::Trailing`].
    pub fn end(mut self) -> Result<(), JsonError> {
        self.peek().map_or(Ok(()), |_| Err(JsonError::Trailing))
    }

    fn word(&mut self, word: &str) -> Result<(), JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(JsonError::Unexpected);
        }
        self.at += word.len();
        Ok(())
    }

    /// Passes a number of any form; the position is at its first byte.
    fn number(&mut self) -> Result<(), JsonError> {
        self.at += usize::from(self.next_byte() == Some(b'-'));
        let starts_with_zero = self.next_byte() == Some(b'0');
        if self.digits()? > 1 && starts_with_zero {
            return Err(JsonError::Unexpected);
        }
        if self.next_byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.next_byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.next_byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    /// Passes digits, at least one; returns their number.
    fn digits(&mut self) -> Result<usize, JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.next_byte() {
            self.at += 1;
        }
        if self.at == start { Err(JsonError::Unexpected) } else { Ok(self.at - start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(json: &str) -> Result<(), JsonError> {
        let mut scanner = Scanner::over(json);
        scanner.skip()?;
        scanner.end()
    }

    #[test]
    fn all_kinds_of_values_are_passed() {
        for json in [
            "0",
            "-0",
            " \t\n\r1.5e+7 ",
            "\"\"",
            "true",
            "false",
            "null",
            "[]",
            "[ ]",
            "{}",
            "{ }",
            "[1,\"a\\n\",[],{\"a\":{}}, null]",
            "{\"a\":1 , \"a\":2}",
        ] {
            assert_eq!(whole(json), Ok(()), "{json}");
        }
    }

    #[test]
    fn malformed_values_are_refused() {
        for json in [
            "",
            " ",
            "-",
            "01",
            "-01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "tru",
            "True",
            "nul",
            "NaN",
            "\"",
            "\"a",
            "\"\\\"",
            "'a'",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "{\"a\" 1}",
            "{,}",
            "[1}",
            "{\"a\":1]",
            "\"\n\"",
            "\"\t\"",
            "\"\0\"",
            "\u{feff}1",
            "/**/1",
        ] {
            assert_eq!(whole(json), Err(JsonError::Unexpected), "{json}");
        }
        for json in ["1 2", "null,", "[]]", "{}{}", "1x", "0x10", "truefalse", "1\0"] {
            assert_eq!(whole(json), Err(JsonError::Trailing), "{json}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(whole(&nested(MAX_DEPTH)), Ok(()));
            assert_eq!(whole(&nested(MAX_DEPTH + 1)), Err(JsonError::Depth));
            assert_eq!(whole(&open.repeat(1_000_000)), Err(JsonError::Depth));
        }
        // Depth is that of the position, not the number of arrays.
        assert_eq!(whole(&format!("[{}[]]", "[],".repeat(100))), Ok(()));
    }

    #[test]
    fn a_name_occurs_once_however_it_is_escaped() {
        let read =
            |json: &str| Scanner::over(json).object(|scanner, _| scanner.integer(9).map(drop));
        assert_eq!(read(r#"{"a":1,"b":2}"#), Ok(()));
        assert_eq!(read(r#"{"a":1,"b":2,"a":1}"#), Err(JsonError::Duplicate));
        assert_eq!(read(r#"{"a":1,"\u0061":2}"#), Err(JsonError::Duplicate));
        assert_eq!(read(r#"{"\u0061":1,"a":2}"#), Err(JsonError::Duplicate));
        assert_eq!(read(r#"{"":1,"":2}"#), Err(JsonError::Duplicate));
    }

    #[test]
    fn members_are_bounded() {
        let read = |count: usize| {
            let members: Vec<_> = (0..count).map(|i| format!("\"{i}\":1")).collect();
            let json = format!("{{{}}}", members.join(","));
            Scanner::over(&json).object(|scanner, _| scanner.integer(9).map(drop))
        };
        assert_eq!(read(MAX_MEMBERS), Ok(()));
        assert_eq!(read(MAX_MEMBERS + 1), Err(JsonError::Members));
    }

    #[test]
    fn integers_are_digits_within_their_range() {
        let read = |json: &str, maximum| Scanner::over(json).integer(maximum);
        assert_eq!(read("0", 0), Ok(0));
        assert_eq!(read(" 65535", 65_535), Ok(65_535));
        assert_eq!(read("18446744073709551615", u64::MAX), Ok(u64::MAX));
        for json in ["65536", "-1", "-0", "1.0", "1e3", "1E0", "18446744073709551616"] {
            assert_eq!(read(json, 65_535), Err(JsonError::Integer), "{json}");
        }
        for json in ["", "\"1\"", "null", "true", "[1]", "007", "+1", "١"] {
            assert_eq!(read(json, 65_535), Err(JsonError::Unexpected), "{json}");
        }
    }

    #[test]
    fn strings_are_returned_where_they_lie() {
        let json = r#" "plain é" "#;
        let Ok(Text::Plain(text)) = Scanner::over(json).string() else { panic!("not plain") };
        assert_eq!(text, "plain é");
        let Ok(Text::Escaped(text)) = Scanner::over(r#""a\u00e9""#).string() else {
            panic!("not escaped")
        };
        assert_eq!(text.raw(), r"a\u00e9");
        for json in ["1", "null", "[\"a\"]", "", "\"a", "\"\u{1}\"", r#""\x""#] {
            assert_eq!(Scanner::over(json).string(), Err(JsonError::Unexpected), "{json}");
        }
        assert_eq!(Scanner::over(r#""\ud800""#).string(), Err(JsonError::Surrogate));
    }

    #[test]
    fn raw_values_and_null_are_found() {
        let mut scanner = Scanner::over(" [1, {\"é\":2} ] null");
        assert_eq!(scanner.null(), Ok(false));
        assert_eq!(scanner.raw(), Ok("[1, {\"é\":2} ]"));
        assert_eq!(scanner.null(), Ok(true));
        assert_eq!(scanner.end(), Ok(()));
        assert_eq!(Scanner::over("nil").null(), Err(JsonError::Unexpected));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        for json in [&b"\"\xff\""[..], b"\"\xc0\x80\"", b"\"\xed\xa0\x80\"", b"\"\xe2\x82\""] {
            assert_eq!(Scanner::new(json).map(drop), Err(JsonError::Utf8));
        }
        assert!(Scanner::new("\"é\"".as_bytes()).is_ok());
    }
}
