//! Reading an address book.

use alloc::vec::Vec;

use super::error::ParseContactsError;
use super::{ChangeContactsError, ContactProblem, Contacts, MAX_ENTRIES, MAX_LEN};
use crate::identity_text::Unchecked;
use crate::name::Name;

pub(super) fn parse(bytes: &[u8]) -> Result<Contacts, ParseContactsError> {
    if bytes.len() > MAX_LEN {
        return Err(ParseContactsError::TooLong);
    }
    let (mut names, mut identities) = (Vec::new(), Vec::new());
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let Some((name, identity)) = parse_line(line).map_err(|problem| problem.at(number))? else {
            continue;
        };
        if names.len() == MAX_ENTRIES {
            return Err(ParseContactsError::TooMany);
        }
        names.push((number, name));
        identities.push(identity);
    }
    let identities = Unchecked::check_many(identities)
        .map_err(|(i, error)| ContactProblem::Identity(error).at(names[i].0))?;

    let mut contacts = Contacts::new();
    for ((number, name), identity) in names.into_iter().zip(identities) {
        contacts.add(name, identity).map_err(|error| match error {
            ChangeContactsError::DuplicateIdentity { name } => {
                ContactProblem::DuplicateIdentity { name }.at(number)
            }
            ChangeContactsError::Full => ParseContactsError::TooLong,
            ChangeContactsError::DuplicateName | ChangeContactsError::Unknown => {
                ContactProblem::DuplicateName.at(number)
            }
        })?;
    }
    Ok(contacts)
}

/// The entry of a line, if it has one.
fn parse_line(line: &[u8]) -> Result<Option<(Name, Unchecked)>, ContactProblem> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return Ok(None);
    }
    let line = core::str::from_utf8(line).map_err(|_| ContactProblem::NotUtf8)?;
    let mut words = line.split_ascii_whitespace();
    let (Some(name), Some(identity), None) = (words.next(), words.next(), words.next()) else {
        return Err(ContactProblem::Words);
    };
    let name = Name::new(name).map_err(ContactProblem::Name)?;
    Ok(Some((name, Unchecked::decode(identity).map_err(ContactProblem::Identity)?)))
}
