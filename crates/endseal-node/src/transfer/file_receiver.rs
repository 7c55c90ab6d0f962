//! The receiving end of a file: frames in, what to do out.

use endseal_codec::frame::Kind;
use endseal_codec::{Content, FileEnd, FileOffer, Verdict};
use endseal_crypto::hash::Digest;

use super::arrival::Arrival;
use super::message;
use super::name::FileName;
use super::refusal::Refusal;

/// Follows one file from its offer to its end. It does no I/O: the caller writes what it is given,
/// to a file that has no name yet.
///
/// After a refusal, the caller answers with [`Refusal::verdict`] if there is one, gives the stream
/// up and throws away what it wrote.
#[derive(Debug)]
pub struct FileReceiver {
    limit: u64,
    transfer: Option<[u8; 16]>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing has come.
    Waiting,
    /// The caller decides.
    Offered {
        size: Option<u64>,
    },
    Receiving(Box<Receiving>),
    /// Size and digest are right.
    Complete,
    /// Refused, by one side or the other.
    Over,
}

#[derive(Debug)]
struct Receiving {
    /// The size that was offered.
    offered: Option<u64>,
    /// No more than that.
    limit: u64,
    size: u64,
    digest: Digest,
}

/// Next step of the caller.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action<'a> {
    /// Decide whether to accept this, and say so with [`FileReceiver::accept`] or
    /// [`FileReceiver::answer`].
    Decide(Offer),
    /// Write this behind what was written.
    Write(&'a [u8]),
    /// All was sent. Wait for the end of the stream, then call [`FileReceiver::end`].
    Wait,
}

/// Description of a file by its sender. Only the form of the name was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Its name.
    pub name: FileName,
    /// Its bytes, if the sender knew that; the content has that size or is refused.
    pub size: Option<u64>,
    /// Milliseconds since 1970, by the sender's clock.
    pub timestamp: u64,
}

impl FileReceiver {
    /// Waits for the offer of a file of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, transfer: None, state: State::Waiting }
    }

    /// Takes the next frame.
    ///
    /// # Errors
    /// [`Refusal`]; all frames after it are refused as well.
    pub fn frame<'a>(&mut self, frame: Arrival<'a>) -> Result<Action<'a>, Refusal> {
        let action = self.take(frame);
        if action.is_err() {
            self.state = State::Over;
        }
        action
    }

    /// Accepts the offer. Gives the message that says so, empty if there is nothing to accept.
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

    /// The last answer, whatever it is: the message that says so. `None` if nothing was offered, so
    /// that there is nothing to answer to.
    pub fn answer(&mut self, verdict: Verdict) -> Option<Vec<u8>> {
        self.state = State::Over;
        self.message(verdict)
    }

    /// Takes the end of the stream. After this, and not before, the content may get its name; then
    /// [`answer`](Self::answer) with [`Verdict::STORED`].
    ///
    /// # Errors
    /// [`Refusal::Truncated`] if not all is there.
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
