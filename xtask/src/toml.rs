//! A reader for the part of TOML that manifests and lock files use.
//!
//! The result is flat: one entry for each value, under its whole path. Tables, dotted keys and
//! inline tables all end up the same, so `x.workspace = true`, `[dependencies.x]` and
//! `x = { workspace = true }` need no cases of their own. Arrays of tables get their index as a
//! path part.

use core::fmt;

#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
    pub(crate) line: usize,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Value {
    String(String),
    Array(Vec<Self>),
    /// An inline table as an element of an array.
    Table(Vec<Entry>),
    /// Number, boolean or date, as written.
    Bare(String),
}

impl Value {
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(string) => Some(string),
            _ => None,
        }
    }
}

/// The text is not TOML, or a corner of it that this reader does not know.
#[derive(Debug, PartialEq)]
pub(crate) struct SyntaxError {
    pub(crate) line: usize,
    expected: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not understood, expected {}", self.expected)
    }
}

pub(crate) fn read(text: &str) -> Result<Vec<Entry>, SyntaxError> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut entries = Vec::new();
    let mut table: Vec<String> = Vec::new();
    let mut counts: Vec<(Vec<String>, usize)> = Vec::new();
    loop {
        reader.skip_blank();
        if reader.rest.is_empty() {
            return Ok(entries);
        } else if reader.eat("[[") {
            table = reader.key()?;
            reader.expect("]]")?;
            let index = match counts.iter_mut().find(|(path, _)| *path == table) {
                Some((_, count)) => {
                    *count += 1;
                    *count
                }
                None => {
                    counts.push((table.clone(), 0));
                    0
                }
            };
            table.push(index.to_string());
        } else if reader.eat("[") {
            table = reader.key()?;
            reader.expect("]")?;
        } else {
            reader.pair(&table, &mut entries)?;
        }
        reader.end_of_line()?;
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    /// `key = value`, the value being a table or not.
    fn pair(&mut self, table: &[String], entries: &mut Vec<Entry>) -> Result<(), SyntaxError> {
        let line = self.line;
        let mut path = table.to_vec();
        path.extend(self.key()?);
        self.expect("=")?;
        self.skip_spaces();
        if self.eat("{") {
            return self.inline_table(&path, entries);
        }
        let value = self.value()?;
        entries.push(Entry { path, value, line });
        Ok(())
    }

    /// Reads the part behind `{`. An empty table leaves no entry: nothing asks for one.
    fn inline_table(
        &mut self,
        path: &[String],
        entries: &mut Vec<Entry>,
    ) -> Result<(), SyntaxError> {
        loop {
            self.skip_blank();
            if self.eat("}") {
                return Ok(());
            }
            self.pair(path, entries)?;
            self.skip_blank();
            if !self.eat(",") {
                return self.expect("}");
            }
        }
    }

    fn key(&mut self) -> Result<Vec<String>, SyntaxError> {
        let mut parts = Vec::new();
        loop {
            self.skip_spaces();
            let part = match self.rest.chars().next() {
                Some('"' | '\'') => self.string()?,
                _ => {
                    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    self.take_while(is_key).to_owned()
                }
            };
            if part.is_empty() {
                return Err(self.error("a key"));
            }
            parts.push(part);
            self.skip_spaces();
            if !self.eat(".") {
                return Ok(parts);
            }
        }
    }

    fn value(&mut self) -> Result<Value, SyntaxError> {
        match self.rest.chars().next() {
            Some('"' | '\'') => self.string().map(Value::String),
            Some('[') => self.array(),
            Some('{') => {
                self.expect("{")?;
                let mut entries = Vec::new();
                self.inline_table(&[], &mut entries)?;
                Ok(Value::Table(entries))
            }
            _ => {
                let bare =
                    self.take_while(|c| !matches!(c, ',' | ']' | '}' | '#' | '\n')).trim_end();
                if bare.is_empty() {
                    return Err(self.error("a value"));
                }
                Ok(Value::Bare(bare.to_owned()))
            }
        }
    }

    fn array(&mut self) -> Result<Value, SyntaxError> {
        self.expect("[")?;
        let mut values = Vec::new();
        loop {
            self.skip_blank();
            if self.eat("]") {
                return Ok(Value::Array(values));
            }
            values.push(self.value()?);
            self.skip_blank();
            if !self.eat(",") {
                self.expect("]")?;
                return Ok(Value::Array(values));
            }
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        for (quote, escapes) in [("\"\"\"", true), ("'''", false), ("\"", true), ("'", false)] {
            if self.eat(quote) {
                return self.string_until(quote, escapes);
            }
        }
        Err(self.error("a string"))
    }

    fn string_until(&mut self, quote: &str, escapes: bool) -> Result<String, SyntaxError> {
        let mut string = String::new();
        loop {
            if self.eat(quote) {
                return Ok(string);
            }
            let Some(character) = self.next() else { return Err(self.error("a closing quote")) };
            if character == '\n' && quote.len() == 1 {
                return Err(self.error("a closing quote on the same line"));
            }
            if character != '\\' || !escapes {
                string.push(character);
                continue;
            }
            match self.next() {
                Some('n') => string.push('\n'),
                Some('t') => string.push('\t'),
                Some(character @ ('"' | '\\')) => string.push(character),
                Some('\n') => self.skip_blank(),
                _ => return Err(self.error("one of the escapes n, t, quote, backslash")),
            }
        }
    }

    fn end_of_line(&mut self) -> Result<(), SyntaxError> {
        self.skip_spaces();
        self.skip_comment();
        if self.rest.is_empty() || self.eat("\n") || self.eat("\r\n") {
            return Ok(());
        }
        Err(self.error("the end of the line"))
    }

    /// Spaces, comments and line ends.
    fn skip_blank(&mut self) {
        loop {
            let before = self.rest.len();
            self.take_while(char::is_whitespace);
            self.skip_comment();
            if self.rest.len() == before {
                return;
            }
        }
    }

    fn skip_spaces(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t');
    }

    fn skip_comment(&mut self) {
        if self.rest.starts_with('#') {
            self.take_while(|c| c != '\n');
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next()?;
        self.rest = characters.as_str();
        self.line += usize::from(character == '\n');
        Some(character)
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(wanted) else { return false };
        self.rest = rest;
        self.line += wanted.matches('\n').count();
        true
    }

    fn expect(&mut self, wanted: &'static str) -> Result<(), SyntaxError> {
        self.skip_spaces();
        if self.eat(wanted) { Ok(()) } else { Err(self.error(wanted)) }
    }

    fn error(&self, expected: &'static str) -> SyntaxError {
        SyntaxError { line: self.line, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let entry =
            |entry: Entry| format!("{} {}={:?}", entry.line, entry.path.join("/"), entry.value);
        read(text).unwrap().into_iter().map(entry).collect()
    }

    #[test]
    fn three_spellings_of_a_dependency_give_the_same_path() {
        let expected = "dependencies/x/workspace=Bare(\"true\")";
        for text in [
            "[dependencies]\nx.workspace = true # why\n",
            "[dependencies.x]\nworkspace = true",
            "[dependencies]\nx = { workspace = true }\n",
        ] {
            assert_eq!(lines(text), [format!("2 {expected}")], "{text}");
        }
    }

    #[test]
    fn arrays_run_over_lines_and_hold_comments() {
        let text = "a = [\n  \"x\", # one\n  'y',\n]\nb = 1";
        assert_eq!(lines(text), ["1 a=Array([String(\"x\"), String(\"y\")])", "5 b=Bare(\"1\")"]);
    }

    #[test]
    fn arrays_of_tables_are_numbered() {
        let text = "[[package]]\nname = \"a\"\n[[package]]\nname = \"b\"\n";
        assert_eq!(
            lines(text),
            ["2 package/0/name=String(\"a\")", "4 package/1/name=String(\"b\")"]
        );
    }

    #[test]
    fn quoted_keys_and_hashes_in_strings_are_kept() {
        let text = "[target.'cfg(unix)'.dependencies]\nx = \"#1\"";
        assert_eq!(lines(text), ["2 target/cfg(unix)/dependencies/x=String(\"#1\")"]);
    }

    #[test]
    fn inline_tables_in_arrays_are_values() {
        let text = "a = [{ name = \"x\" }, 3]";
        let [entry] = &read(text).unwrap()[..] else { panic!("one entry") };
        let Value::Array(values) = &entry.value else { panic!("an array") };
        assert!(matches!(&values[0], Value::Table(entries) if entries.len() == 1));
    }

    #[test]
    fn long_strings_run_over_lines() {
        assert_eq!(
            lines("a = \"\"\"x\ny\"\"\"\nb = ''"),
            ["1 a=String(\"x\\ny\")", "3 b=String(\"\")"]
        );
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, line) in
            [("a = 1\nb", 2), ("a = \"x\n", 2), ("a = [1", 1), ("[a\n", 1), ("a =", 1)]
        {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
    }
}
