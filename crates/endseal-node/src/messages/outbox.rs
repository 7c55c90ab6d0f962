//! Writing of texts, which wait in the store for the next sync.

use std::io::Read;

use endseal_session::Engine;

use super::conversation::Conversation;
use super::error::SayError;
use super::history::HistoryRow;
use super::records::{self, Transaction, UNSENT};
use super::text;
use super::text_id::next_id;
use crate::sessions::{TextError, Texts};

/// Stores texts for a person or a group, to be sent with the next [`sync`](super::sync). Either all
/// texts are stored when this returns, or none. Returns their number.
///
/// # Errors
/// Returns [`SayError`] if the input cannot be read, a text is too long or not UTF-8, the receiver
/// is this identity, or the store fails.
pub fn say(
    engine: &mut Engine,
    to: &Conversation,
    mut texts: Texts<impl Read>,
) -> Result<u64, SayError> {
    let own = engine.address();
    if *to == Conversation::Person(own.identity) {
        return Err(SayError::Own);
    }
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let mut count = 0;
        loop {
            let bytes = match texts.next() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(count),
                Err(TextError::Input(error)) => return Err(SayError::Input(error)),
                Err(_) => return Err(SayError::TooLong(count + 1)),
            };
            count += 1;
            let text = str::from_utf8(bytes).map_err(|_| SayError::NotUtf8(count))?;
            let time = records::now();
            let id = next_id(transaction, to)?;
            let plaintext = text::plaintext(id, &own.identity, to, time, text);
            let plaintext = plaintext.ok_or(SayError::TooLong(count))?;
            let number = records::next_number(transaction)?;
            let row = HistoryRow::new(number, true, own, time, plaintext);
            row.put(transaction, to)?;
            transaction.put_record(UNSENT, &number.to_be_bytes(), to.as_bytes())?;
        }
    })
}
