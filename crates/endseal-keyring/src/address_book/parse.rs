//! Parses the text of an address book.

use alloc::vec::Vec;

use super::error::{EntryProblem, ParseBookError};
use super::{AddressBook, ChangeBookError, Listed, MAX_ENTRIES, MAX_LEN};
use crate::name::Name;

pub(super) fn parse<T: Listed>(bytes: &[u8]) -> Result<AddressBook<T>, ParseBookError<T>> {
    if bytes.len() > MAX_LEN {
        return Err(ParseBookError::TooLong);
    }
    let (mut names, mut words) = (Vec::new(), Vec::new());
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let Some((name, word)) = parse_line::<T>(line).map_err(|problem| problem.at(number))?
        else {
            continue;
        };
        if names.len() == MAX_ENTRIES {
            return Err(ParseBookError::TooMany);
        }
        names.push((number, name));
        words.push(word);
    }
    let entries =
        T::decode_many(&words).map_err(|(i, error)| EntryProblem::Entry(error).at(names[i].0))?;

    let mut book = AddressBook::new();
    for ((number, name), entry) in names.into_iter().zip(entries) {
        book.add(name, entry).map_err(|error| match error {
            ChangeBookError::DuplicateEntry { name } => {
                EntryProblem::DuplicateEntry { name }.at(number)
            }
            ChangeBookError::Full => ParseBookError::TooLong,
            ChangeBookError::DuplicateName | ChangeBookError::Unknown => {
                EntryProblem::DuplicateName.at(number)
            }
        })?;
    }
    Ok(book)
}

/// The entry of a line, if it has one.
fn parse_line<T: Listed>(line: &[u8]) -> Result<Option<(Name, &str)>, EntryProblem<T>> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return Ok(None);
    }
    let line = core::str::from_utf8(line).map_err(|_| EntryProblem::NotUtf8)?;
    let mut words = line.split_ascii_whitespace();
    let (Some(name), Some(entry), None) = (words.next(), words.next(), words.next()) else {
        return Err(EntryProblem::Words);
    };
    let name = Name::new(name).map_err(EntryProblem::Name)?;
    Ok(Some((name, entry)))
}
