//! Tags of an event: lists of texts.

use crate::json::scan::Scanner;
use crate::json::{JsonError, Text, write};
use crate::output::Sink;

/// Tags of an event. Two are equal if their texts are.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums, reason = "callers make them")]
pub enum Tags<'a> {
    /// Tags of a new event. A tag has at least one text.
    List(&'a [&'a [&'a str]]),
    /// Tags of a parsed event.
    Raw(RawTags<'a>),
}

/// A valid JSON array of arrays of strings.
#[derive(Clone, Copy, Debug)]
pub struct RawTags<'a>(&'a str);

impl<'a> RawTags<'a> {
    /// Parses the tags of a new event: a JSON array of arrays of one or more strings. They are kept
    /// as they are, and an id is computed from their one form.
    ///
    /// # Errors
    /// [`JsonError`].
    pub fn parse(json: &'a str) -> Result<Self, JsonError> {
        let mut scanner = Scanner::over(json);
        let tags = Self::read(&mut scanner)?;
        scanner.end()?;
        Ok(tags)
    }

    /// Reads an array of arrays of one or more strings.
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Result<Self, JsonError> {
        let tag = |scanner: &mut Scanner<'a>| {
            let mut is_empty = true;
            scanner.array(|scanner| {
                is_empty = false;
                scanner.string().map(drop)
            })?;
            if is_empty { Err(JsonError::Unexpected) } else { Ok(()) }
        };
        scanner.raw_of(|scanner| scanner.array(tag)).map(Self)
    }
}

impl<'a> Tags<'a> {
    /// An empty list of tags.
    pub const NONE: Self = Self::List(&[]);

    /// Iterates over the tags in their order.
    #[must_use]
    pub fn iter(&self) -> TagIter<'a> {
        match *self {
            Self::List(list) => TagIter::List(list.iter()),
            Self::Raw(RawTags(json)) => TagIter::Raw(inside(json)),
        }
    }

    /// Returns true if there are no tags.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The second text of the first tag whose first text is `name`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Text<'a>> {
        self.iter().find(|tag| tag.is(name)).and_then(|tag| tag.values().nth(1))
    }

    /// Writes the tags as JSON.
    pub fn write_to(&self, sink: &mut impl Sink) {
        sink.put(b"[");
        for (i, tag) in self.iter().enumerate() {
            sink.put(if i == 0 { b"[" } else { b",[" });
            for (i, value) in tag.values().enumerate() {
                if i > 0 {
                    sink.put(b",");
                }
                write::text(sink, value);
            }
            sink.put(b"]");
        }
        sink.put(b"]");
    }
}

impl PartialEq for Tags<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Tags<'_> {}

/// One tag: a list of texts, of which the first is its name.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums, reason = "as `Tags`")]
pub enum Tag<'a> {
    /// Texts of a new event.
    List(&'a [&'a str]),
    /// JSON of a parsed event.
    Raw(RawTag<'a>),
}

/// A valid JSON array of strings.
#[derive(Clone, Copy, Debug)]
pub struct RawTag<'a>(&'a str);

impl<'a> Tag<'a> {
    /// Texts in their order; the first is the name.
    #[must_use]
    pub fn values(&self) -> ValueIter<'a> {
        match *self {
            Self::List(list) => ValueIter::List(list.iter()),
            Self::Raw(RawTag(json)) => ValueIter::Raw(inside(json)),
        }
    }

    /// Returns true if the first text is `name`.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.values().next().is_some_and(|first| first.is(name))
    }
}

impl PartialEq for Tag<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.values().eq(other.values())
    }
}

impl Eq for Tag<'_> {}

/// Scanner behind the opening bracket of a valid array.
fn inside(json: &str) -> Scanner<'_> {
    let mut scanner = Scanner::over(json);
    scanner.take(b'[');
    scanner
}

/// Iterator over the tags of an event.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums, reason = "as `Tags`")]
pub enum TagIter<'a> {
    /// Tags of a new event.
    List(core::slice::Iter<'a, &'a [&'a str]>),
    /// Tags of a parsed event.
    Raw(Scanner<'a>),
}

impl<'a> Iterator for TagIter<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        match self {
            Self::List(list) => list.next().map(|tag| Tag::List(tag)),
            // The tags were found valid, so they end with the closing bracket, where no tag can be
            // read.
            Self::Raw(scanner) => {
                scanner.take(b',');
                scanner.raw().ok().map(|json| Tag::Raw(RawTag(json)))
            }
        }
    }
}

/// Iterator over the texts of a tag.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums, reason = "as `Tags`")]
pub enum ValueIter<'a> {
    /// Texts of a new event.
    List(core::slice::Iter<'a, &'a str>),
    /// Texts of a parsed event.
    Raw(Scanner<'a>),
}

impl<'a> Iterator for ValueIter<'a> {
    type Item = Text<'a>;

    fn next(&mut self) -> Option<Text<'a>> {
        match self {
            Self::List(list) => list.next().map(|text| Text::Plain(text)),
            Self::Raw(scanner) => {
                scanner.take(b',');
                scanner.string().ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;

    fn raw(json: &str) -> Result<Tags<'_>, JsonError> {
        RawTags::parse(json).map(Tags::Raw)
    }

    fn written(tags: &Tags<'_>) -> String {
        let mut buffer = [0; 200];
        let mut output = Output::new(&mut buffer);
        tags.write_to(&mut output);
        str::from_utf8(output.finish().unwrap()).unwrap().to_owned()
    }

    #[test]
    fn parsed_tags_equal_those_of_a_list() {
        let list: &[&[&str]] = &[&["e", "5c", "wss://x"], &["t", "a\n\"é", ""], &["-"]];
        let json = r#" [ ["e","\u0035c" ,"wss://x"], [ "t", "a\n\"\u00e9","" ],["-"] ] "#;
        let tags = raw(json).unwrap();
        assert_eq!(tags, Tags::List(list));
        assert_eq!(written(&tags), written(&Tags::List(list)));
        assert_eq!(written(&tags), r#"[["e","5c","wss://x"],["t","a\n\"é",""],["-"]]"#);
        assert_eq!(tags.iter().count(), 3);
        assert_ne!(tags, Tags::List(&list[..2]));
        assert_ne!(tags, Tags::List(&[&["e", "5c", "wss://x"], &["t", "a\n\"é"], &["-"]]));
    }

    #[test]
    fn the_first_tag_of_a_name_has_the_value() {
        let tags = raw(r#"[["p"],["e","1","2"],["e","3"],["\u0064","x"]]"#).unwrap();
        assert!(tags.value("e").unwrap().is("1"));
        assert!(tags.value("d").unwrap().is("x"));
        assert_eq!(tags.value("p"), None);
        assert_eq!(tags.value("q"), None);
        assert!(!tags.is_empty());
        for none in [raw("[]").unwrap(), raw(" [ ] ").unwrap(), Tags::NONE] {
            assert!(none.is_empty());
            assert_eq!(none, Tags::NONE);
            assert_eq!(written(&none), "[]");
        }
    }

    #[test]
    fn tags_are_arrays_of_strings_and_not_empty() {
        for json in [
            "",
            "{}",
            "[\"e\"]",
            "[[]]",
            "[[\"e\"],[]]",
            "[[\"e\",1]]",
            "[[\"e\",null]]",
            "[null]",
            "[[[\"e\"]]]",
            "[[\"e\"]",
            "[[\"e\",]]",
            "[[\"e\"],]",
        ] {
            assert_eq!(raw(json).map(drop), Err(JsonError::Unexpected), "{json}");
        }
        assert_eq!(raw("[[\"\\udc00\"]]").map(drop), Err(JsonError::Surrogate));
        assert_eq!(raw("[],\"kind\":1").map(drop), Err(JsonError::Trailing));
    }
}
