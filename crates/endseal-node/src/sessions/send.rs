//! Encrypts texts into the outbox, and writes ciphertexts of the outbox to session files.

use core::{error, fmt};
use std::io::{Read, Write as _};

use endseal_session::{
    ConversationId, Engine, EngineError, FileRecord, FileRoute, OutgoingKind, Pending,
};

use crate::atomic::AtomicFile;
use crate::error::FileError;
use crate::messages::{Target, is_hub_group};
use crate::texts::{TextError, Texts};

/// Ciphertexts that are read from the store at once.
const PAGE: usize = 64;

/// Encrypts each text to a group, in one transaction. Either all ciphertexts are in the outbox when
/// this returns, or none. Returns their number.
///
/// # Errors
/// Returns [`TextError`] if the input cannot be read, a text is too long, or the group cannot send.
pub fn encrypt_group(
    engine: &mut Engine,
    group: &[u8],
    mut texts: Texts<impl Read>,
) -> Result<u64, TextError> {
    engine.transaction(|transaction| {
        while let Some(text) = texts.next()? {
            transaction.encrypt_group(group, text)?;
        }
        Ok(texts.number)
    })
}

/// Selects ciphertexts of a conversation in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Messages and commits.
    Messages,
    /// Released welcomes, for devices that are not yet in the group.
    Welcomes,
}

impl Part {
    fn contains(self, pending: &Pending) -> bool {
        (pending.kind == OutgoingKind::Welcome) == (self == Self::Welcomes)
    }
}

/// Counts the messages and commits of a conversation that wait in the outbox.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn waiting(engine: &mut Engine, conversation: &ConversationId) -> Result<u64, EngineError> {
    count(engine, conversation, Part::Messages)
}

/// Counts the welcomes of a group that wait in the outbox and may be sent, because their commit was
/// accepted.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn waiting_welcomes(
    engine: &mut Engine,
    conversation: &ConversationId,
) -> Result<u64, EngineError> {
    count(engine, conversation, Part::Welcomes)
}

fn count(
    engine: &mut Engine,
    conversation: &ConversationId,
    part: Part,
) -> Result<u64, EngineError> {
    let (mut after, mut count) = (0, 0);
    loop {
        let mut page = engine.outbox().pending(after, PAGE)?;
        let Some(last) = page.last() else { return Ok(count) };
        after = last.number;
        without_frames(engine, &mut page)?;
        let found = page.iter().filter(|it| it.conversation == *conversation && part.contains(it));
        count += found.count() as u64;
    }
}

/// Removes the ciphertexts that go to a hub from a page.
fn without_frames(engine: &mut Engine, page: &mut Vec<Pending>) -> Result<(), EngineError> {
    engine.transaction(|transaction| {
        let mut targets = Vec::with_capacity(page.len());
        for pending in page.iter() {
            let is_of_hub = Target::of(transaction, pending.number)?.is_some()
                || is_hub_group(transaction, &pending.conversation)?;
            targets.push(is_of_hub);
        }
        let mut targets = targets.into_iter();
        page.retain(|_| !targets.next().unwrap_or_default());
        Ok(())
    })
}

/// Writes the waiting messages and commits of a conversation to a session file
/// (docs/spec/session-file.md), and returns their number. They are removed from the outbox when the
/// file is durable under its name. After a failure they are still in the outbox.
///
/// # Errors
/// Returns [`WriteOutboxError`] if the store fails or the file cannot be written.
pub fn write_outbox(
    engine: &mut Engine,
    conversation: &ConversationId,
    file: AtomicFile,
) -> Result<u64, WriteOutboxError> {
    write(engine, conversation, Part::Messages, file)
}

/// Like [`write_outbox`], for the welcomes of a group.
///
/// # Errors
/// Returns [`WriteOutboxError`] if the store fails or the file cannot be written.
pub fn write_welcomes(
    engine: &mut Engine,
    conversation: &ConversationId,
    file: AtomicFile,
) -> Result<u64, WriteOutboxError> {
    write(engine, conversation, Part::Welcomes, file)
}

fn write(
    engine: &mut Engine,
    conversation: &ConversationId,
    part: Part,
    mut file: AtomicFile,
) -> Result<u64, WriteOutboxError> {
    let own = engine.address();
    let path = file.destination().to_owned();
    let failed = |source| FileError::io("write", &path, source);
    file.write_all(FileRecord::HEADER).map_err(failed)?;
    let (mut after, mut numbers, mut records) = (0, Vec::new(), Vec::new());
    loop {
        let mut page = engine.outbox().pending(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        without_frames(engine, &mut page)?;
        records.clear();
        for pending in &page {
            if pending.conversation != *conversation || !part.contains(pending) {
                continue;
            }
            let id = FileRecord::id_of(&pending.body);
            let route = match (&pending.conversation, pending.recipient) {
                (ConversationId::Group(_), Some(recipient)) if part == Part::Welcomes => {
                    FileRoute::Welcome { sender: own, recipient }
                }
                (ConversationId::Group(id), _) if part == Part::Messages => FileRoute::Group(id),
                _ => return Err(EngineError::Damaged("outbox").into()),
            };
            let record = FileRecord { id: &id, route, body: &pending.body };
            record.write_to(&mut records).map_err(|_| EngineError::Damaged("outbox"))?;
            numbers.push(pending.number);
        }
        file.write_all(&records).map_err(failed)?;
    }
    file.commit_durably()?;
    engine.outbox().sent_many(&numbers)?;
    Ok(numbers.len() as u64)
}

/// Reason why ciphertexts were not written to a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteOutboxError {
    /// The store failed.
    Engine(EngineError),
    /// The file cannot be written.
    File(FileError),
}

impl From<EngineError> for WriteOutboxError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<FileError> for WriteOutboxError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for WriteOutboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
        }
    }
}

impl error::Error for WriteOutboxError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Engine(error) => error.source(),
            Self::File(error) => error.source(),
        }
    }
}
