//! Writing of texts, which wait in the store for the next sync.

use std::io::Read;

use endseal_keyring::device::Address;
use endseal_service::control::SecretText;
use endseal_session::Engine;

use super::conversation::Conversation;
use super::departure::LeftTeam;
use super::error::SayError;
use super::history::HistoryRow;
use super::records::{self, Transaction};
use super::rule::Rule;
use super::text;
use super::text_id::next_id;
use super::waiting::Waiting;
use crate::texts::{TextError, Texts};

/// Reads all texts of an input.
///
/// # Errors
/// Returns [`SayError`] if the input cannot be read, or a text is too long or not UTF-8.
pub fn read_texts(mut input: Texts<impl Read>) -> Result<Vec<SecretText>, SayError> {
    let mut texts = Vec::new();
    loop {
        let number = texts.len() as u64 + 1;
        match input.next() {
            Ok(Some(bytes)) => {
                let text = str::from_utf8(bytes).map_err(|_| SayError::NotUtf8(number))?;
                texts.push(SecretText::new(text.to_owned()));
            }
            Ok(None) => return Ok(texts),
            Err(TextError::Input(error)) => return Err(SayError::Input(error)),
            Err(_) => return Err(SayError::TooLong(number)),
        }
    }
}

/// Stores texts for a person, a team or oneself, to be sent with the next [`sync`](super::sync).
/// Either all texts are stored when this returns, or none. Returns their numbers in the history.
///
/// # Errors
/// Returns [`SayError`] if a text is too long, the receiver is a blocked person or a team that this
/// person has left, or the store fails.
pub fn say(
    engine: &mut Engine,
    to: &Conversation,
    texts: &[impl AsRef<str>],
) -> Result<Vec<u64>, SayError> {
    let own = engine.address();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| say_in(transaction, own, to, texts))
}

/// [`say`] in a transaction, which the caller MUST abort if this fails.
pub(super) fn say_in(
    transaction: &mut Transaction<'_, '_>,
    own: Address,
    to: &Conversation,
    texts: &[impl AsRef<str>],
) -> Result<Vec<u64>, SayError> {
    if let Conversation::Person(person) = to
        && Rule::of(transaction, person)?.blocked.is_on()
    {
        return Err(SayError::Blocked);
    }
    if LeftTeam::of(transaction, to)?.is_some() {
        return Err(SayError::Left);
    }
    let mut numbers = Vec::with_capacity(texts.len());
    for (count, text) in (1..).zip(texts) {
        let time = records::now();
        let id = next_id(transaction, to)?;
        let plaintext = text::plaintext(id, &own.identity, to, time, text.as_ref());
        let plaintext = plaintext.ok_or(SayError::TooLong(count))?;
        let number = records::next_number(transaction)?;
        let row = HistoryRow::new(number, true, own, time, plaintext);
        row.put(transaction, to)?;
        Waiting { to: *to, has_left: false }.put(transaction, number)?;
        numbers.push(number);
    }
    Ok(numbers)
}
