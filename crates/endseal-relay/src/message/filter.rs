//! The filters of a `REQ` (NIP-01).

use endseal_nostr::event::Event;
use endseal_nostr::hex;
use endseal_nostr::json::scan::{MAX_INTEGER, Scanner};
use endseal_nostr::json::{JsonError, Text, write};
use endseal_nostr::output::Sink;

use super::{MAX_VALUES, MessageError};

/// Conditions, all of which an event must meet. Every event meets a condition that is absent, and
/// no event meets one with an empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them; NIP-01 has these")]
pub struct Filter {
    /// The event has one of these ids.
    pub ids: Option<Vec<[u8; 32]>>,
    /// The author of the event is one of these public keys.
    pub authors: Option<Vec<[u8; 32]>>,
    /// The event has one of these kinds.
    pub kinds: Option<Vec<u16>>,
    /// For each of these tag letters, the event has a tag with one of the values.
    pub tags: Vec<(char, Vec<String>)>,
    /// The earliest `created_at` that matches.
    pub since: Option<u64>,
    /// The latest `created_at` that matches.
    pub until: Option<u64>,
    /// Maximum number of stored events that the relay is to send.
    pub limit: Option<u64>,
}

impl Filter {
    /// Reads a JSON object. Members that NIP-01 does not define are ignored.
    ///
    /// # Errors
    /// [`MessageError`] if the JSON is not a filter, or has too many values or a value that nothing
    /// can match.
    pub fn parse(json: &str) -> Result<Self, MessageError> {
        let mut filter = Self::default();
        let mut scanner = Scanner::over(json);
        scanner.object(|scanner, name| {
            let mut letters = name.chars();
            match (letters.next(), letters.next(), letters.next()) {
                (Some('#'), Some(letter), None) if letter.is_ascii_alphabetic() => {
                    filter.tags.push((letter, list(scanner, |s| Ok(s.string()?.to_string()))?));
                }
                _ if name.is("ids") => filter.ids = Some(list(scanner, digits)?),
                _ if name.is("authors") => filter.authors = Some(list(scanner, digits)?),
                _ if name.is("kinds") => filter.kinds = Some(list(scanner, kind)?),
                _ if name.is("since") => filter.since = Some(scanner.integer(MAX_INTEGER)?),
                _ if name.is("until") => filter.until = Some(scanner.integer(MAX_INTEGER)?),
                _ if name.is("limit") => filter.limit = Some(scanner.integer(MAX_INTEGER)?),
                _ => scanner.skip()?,
            }
            Ok::<_, MessageError>(())
        })?;
        scanner.end()?;
        Ok(filter)
    }

    /// Writes the filter as JSON.
    pub fn write_to(&self, sink: &mut impl Sink) {
        let mut members = Members { sink, is_first: true };
        members.list("ids", self.ids.as_deref(), |sink, id| write::hex(sink, id));
        members.list("authors", self.authors.as_deref(), |sink, key| write::hex(sink, key));
        members.list("kinds", self.kinds.as_deref(), |sink, kind| {
            write::integer(sink, (*kind).into());
        });
        for (letter, values) in &self.tags {
            members.list(&format!("#{letter}"), Some(values), |sink, value| {
                write::text(sink, value.as_str().into());
            });
        }
        members.integer("since", self.since);
        members.integer("until", self.until);
        members.integer("limit", self.limit);
        if members.is_first {
            members.sink.put(b"{");
        }
        sink.put(b"}");
    }

    /// Returns true if the event meets all conditions. `limit` is not a condition.
    #[must_use]
    pub fn matches(&self, event: &Event<'_>) -> bool {
        let in_list = |list: &Option<Vec<[u8; 32]>>, value| {
            list.as_ref().is_none_or(|list| list.contains(value))
        };
        in_list(&self.ids, &event.id)
            && in_list(&self.authors, &event.pubkey)
            && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&event.kind))
            && self.since.is_none_or(|since| since <= event.created_at)
            && self.until.is_none_or(|until| event.created_at <= until)
            && self.tags.iter().all(|(letter, values)| has_tag(event, *letter, values))
    }
}

fn has_tag(event: &Event<'_>, letter: char, wanted: &[String]) -> bool {
    let mut name = [0; 4];
    let name = letter.encode_utf8(&mut name);
    event.tags.iter().filter(|tag| tag.is(name)).any(|tag| {
        let value = tag.values().nth(1);
        value.is_some_and(|value| wanted.iter().any(|wanted| value.is(wanted)))
    })
}

fn list<'a, T>(
    scanner: &mut Scanner<'a>,
    mut value: impl FnMut(&mut Scanner<'a>) -> Result<T, MessageError>,
) -> Result<Vec<T>, MessageError> {
    let mut list = Vec::new();
    scanner.array(|scanner| {
        if list.len() == MAX_VALUES {
            return Err(MessageError::Limit);
        }
        list.push(value(scanner)?);
        Ok(())
    })?;
    Ok(list)
}

fn digits(scanner: &mut Scanner<'_>) -> Result<[u8; 32], MessageError> {
    let Text::Plain(text) = scanner.string()? else { return Err(MessageError::Filter) };
    hex::array(text).ok_or(MessageError::Filter)
}

fn kind(scanner: &mut Scanner<'_>) -> Result<u16, MessageError> {
    let kind = scanner.integer(u16::MAX.into())?;
    u16::try_from(kind).map_err(|_| MessageError::Json(JsonError::Integer))
}

/// Writes the members of an object.
struct Members<'s, S> {
    sink: &'s mut S,
    is_first: bool,
}

impl<S: Sink> Members<'_, S> {
    fn name(&mut self, name: &str) {
        self.sink.put(if self.is_first { b"{" } else { b"," });
        self.is_first = false;
        write::text(self.sink, name.into());
        self.sink.put(b":");
    }

    fn list<T>(&mut self, name: &str, list: Option<&[T]>, mut value: impl FnMut(&mut S, &T)) {
        let Some(list) = list else { return };
        self.name(name);
        self.sink.put(b"[");
        for (number, item) in list.iter().enumerate() {
            if number > 0 {
                self.sink.put(b",");
            }
            value(self.sink, item);
        }
        self.sink.put(b"]");
    }

    fn integer(&mut self, name: &str, value: Option<u64>) {
        let Some(value) = value else { return };
        self.name(name);
        write::integer(self.sink, value);
    }
}
