//! The receiver of a file, as a state machine without I/O.

use endseal_codec::frame::Kind;
use endseal_codec::{Content, FileEnd, FileOffer, Verdict};
use endseal_crypto::hash::Digest;

use super::arrival::Arrival;
use super::message;
use super::name::FileName;
use super::refusal::Refusal;

/// Follows one file from its offer to its end, without I/O. The caller writes the content to a file
/// that has no name yet.
///
/// After a refusal, the caller answers with [`Refusal::verdict`] if there is one, resets the
/// stream, and discards the content.
#[derive(Debug)]
pub struct FileReceiver {
    limit: u64,
    transfer: Option<[u8; 16]>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No frame has arrived.
    Waiting,
    /// The caller must decide on the offer.
    Offered {
        size: Option<u64>,
    },
    Receiving(Box<Receiving>),
    /// The stream may end: size and digest are correct.
    Complete,
    /// Refused by one of the sides.
    Over,
}

#[derive(Debug)]
struct Receiving {
    /// Size that was offered; `None` if the sender did not know it.
    offered: Option<u64>,
    /// Limit on the content in bytes.
    limit: u64,
    size: u64,
    digest: Digest,
}

/// Next action of the caller.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action<'a> {
    /// Decide whether to accept this offer. Then call [`FileReceiver::accept`] or
    /// [`FileReceiver::answer`].
    Decide(Offer),
    /// Append this content to the file.
    Write(&'a [u8]),
    /// All content was sent. Wait for the end of the stream, then call [`FileReceiver::end`].
    Wait,
}

/// Description of a file by its sender. Only the form of the name was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Name of the file.
    pub name: FileName,
    /// Size in bytes, if the sender knew it. Content of another size is refused.
    pub size: Option<u64>,
    /// Time of the offer in milliseconds since 1970, by the sender's clock.
    pub timestamp: u64,
}

impl FileReceiver {
    /// Makes a receiver that waits for the offer of a file of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, transfer: None, state: State::Waiting }
    }

    /// Processes the next frame.
    ///
    /// # Errors
    /// Returns [`Refusal`] if the frame is not valid here. All frames after it are refused as well.
    pub fn frame<'a>(&mut self, frame: Arrival<'a>) -> Result<Action<'a>, Refusal> {
        let action = self.take(frame);
        if action.is_err() {
            self.state = State::Over;
        }
        action
    }

    /// Accepts the offer. Returns the message to send; it is empty if there is no offer to accept.
    pub fn accept(&mut self) -> Vec<u8> {
        let State::Offered { size } = self.state else { return Vec::new() };
        self.state = State::Receiving(Box::new(Receiving {
            offered: size,
            limit: size.unwrap_or(self.limit),
            size: 0,
            digest: Digest::new(),
        }));
        self.message(Verdict::ACCEPTED).unwrap_or_default()
    }

    /// Ends the transfer with a verdict. Returns the message to send; `None` if nothing was offered
    /// and there is nothing to answer.
    pub fn answer(&mut self, verdict: Verdict) -> Option<Vec<u8>> {
        self.state = State::Over;
        self.message(verdict)
    }

    /// Processes the end of the stream. Only after this may the content get its name. Then call
    /// [`answer`](Self::answer) with [`Verdict::STORED`].
    ///
    /// # Errors
    /// Returns [`Refusal::Truncated`] if the content or the end message is missing.
    pub fn end(&mut self) -> Result<(), Refusal> {
        match self.state {
            State::Complete => Ok(()),
            _ => Err(Refusal::Truncated),
        }
    }

    fn take<'a>(&mut self, frame: Arrival<'a>) -> Result<Action<'a>, Refusal> {
        match &mut self.state {
            State::Waiting => match frame.message()? {
                Content::FileOffer(offer) => self.offered(offer).map(Action::Decide),
                _ => Err(Refusal::Order),
            },
            State::Receiving(receiving) if frame.kind == Kind::Data && !frame.sealed => {
                receiving.content(frame.payload)?;
                Ok(Action::Write(frame.payload))
            }
            State::Receiving(receiving) => match frame.message()? {
                Content::FileEnd(end) if Some(end.transfer) != self.transfer => {
                    Err(Refusal::Transfer)
                }
                Content::FileEnd(end) => {
                    receiving.check(&end)?;
                    self.state = State::Complete;
                    Ok(Action::Wait)
                }
                _ => Err(Refusal::Order),
            },
            State::Offered { .. } | State::Complete | State::Over => Err(Refusal::Order),
        }
    }

    fn offered(&mut self, offer: FileOffer) -> Result<Offer, Refusal> {
        self.transfer = Some(offer.transfer);
        let name = FileName::new(&offer.name).map_err(Refusal::Name)?;
        let FileOffer { size, timestamp, .. } = offer;
        if size.is_some_and(|size| size > self.limit) {
            return Err(Refusal::Large);
        }
        self.state = State::Offered { size };
        Ok(Offer { name, size, timestamp })
    }

    fn message(&self, verdict: Verdict) -> Option<Vec<u8>> {
        Some(message::file_answer(self.transfer?, verdict))
    }
}

impl Receiving {
    fn content(&mut self, content: &[u8]) -> Result<(), Refusal> {
        if content.is_empty() {
            return Err(Refusal::Empty);
        }
        let size = self.size.checked_add(content.len() as u64);
        self.size = size.filter(|size| *size <= self.limit).ok_or(Refusal::Large)?;
        self.digest.update(content);
        Ok(())
    }

    fn check(&self, end: &FileEnd) -> Result<(), Refusal> {
        let is_offered = self.offered.is_none_or(|offered| offered == self.size);
        if !is_offered || end.size != self.size || end.digest != self.digest.finish() {
            return Err(Refusal::Damaged);
        }
        Ok(())
    }
}
