//! Answers to texts of the inbox.

use endseal_keyring::roster::GroupId;
use endseal_session::Engine;

use super::conversation::Conversation;
use super::error::SayError;
use super::inbox::{mark_read_in, unread_text};
use super::outbox::say_in;
use super::records::Transaction;

/// Stores texts for the conversation of a text in the inbox, and moves that text to the history, in
/// one transaction. `number` is its number in the inbox. Returns the numbers of the stored texts in
/// the history: none if the inbox does not have the text, because it was answered or read.
///
/// # Errors
/// Returns [`SayError`] if a text is too long, the receiver is a blocked person or a team that this
/// person has left, `check_team` fails for it, or the store fails. Nothing was changed then.
pub fn answer(
    engine: &mut Engine,
    number: u64,
    texts: &[impl AsRef<str>],
    check_team: impl FnOnce(&GroupId) -> Result<(), SayError>,
) -> Result<Vec<u64>, SayError> {
    let own = engine.address();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let Some(text) = unread_text(transaction, number)? else { return Ok(Vec::new()) };
        if texts.is_empty() {
            mark_read_in(transaction, own, &[number])?;
            return Ok(Vec::new());
        }
        if let Conversation::Group(id) = &text.conversation {
            check_team(id)?;
        }
        // The history has the text before its answers.
        mark_read_in(transaction, own, &[number])?;
        say_in(transaction, own, &text.conversation, texts)
    })
}
