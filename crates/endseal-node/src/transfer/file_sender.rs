//! The sender of a file, as a state machine without I/O.

use endseal_codec::{Content, Verdict};
use endseal_crypto::hash::Digest;

use super::arrival::Arrival;
use super::message;
use super::name::FileName;
use super::refusal::Refusal;

/// Makes the messages of one file, and parses the answers. It does no I/O.
#[derive(Debug)]
pub struct FileSender {
    transfer: [u8; 16],
    size: u64,
    digest: Digest,
}

impl FileSender {
    /// Makes a sender. `transfer` is the random id of the transfer.
    #[must_use]
    pub fn new(transfer: [u8; 16]) -> Self {
        Self { transfer, size: 0, digest: Digest::new() }
    }

    /// Makes the message that offers the file, which is the first frame. `timestamp` is in
    /// milliseconds since 1970.
    #[must_use]
    pub fn offer(&self, name: &FileName, size: Option<u64>, timestamp: u64) -> Vec<u8> {
        message::file_offer(self.transfer, name, size, timestamp)
    }

    /// Counts the content of one frame of kind `data`, which MUST NOT be empty.
    pub fn content(&mut self, content: &[u8]) {
        self.size += content.len() as u64;
        self.digest.update(content);
    }

    /// Returns the number of content bytes so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Makes the message that ends the content, which is the last frame.
    #[must_use]
    pub fn end(&self) -> Vec<u8> {
        message::file_end(self.transfer, self.size, self.digest.finish())
    }

    /// Parses an answer of the receiver.
    ///
    /// # Errors
    /// Returns [`Refusal`] if the frame is not an answer to this transfer.
    pub fn answer(&mut self, frame: Arrival<'_>) -> Result<Verdict, Refusal> {
        match frame.message()? {
            Content::FileAnswer(answer) if answer.transfer == self.transfer => Ok(answer.verdict),
            Content::FileAnswer(_) => Err(Refusal::Transfer),
            _ => Err(Refusal::Order),
        }
    }
}
