//! Frames out of a stream of bytes that comes in any pieces.

use alloc::vec::Vec;

use super::{FrameError, LiveHeader};
use crate::limits::Limits;

/// Reads the frames of one stream. It does no I/O: the caller passes in the bytes that have
/// arrived.
///
/// ```
/// use endseal_codec::Limits;
/// use endseal_codec::frame::{Kind, LiveHeader, LiveReader};
///
/// let header = LiveHeader::new(Kind::Data, 5, 0, Limits::default())?;
/// let mut out = [0; LiveHeader::MAX_LEN];
/// let len = header.write(&mut out);
/// let stream = [&out[..len], b"bytes"].concat();
///
/// let mut reader = LiveReader::new(Limits::default());
/// let mut received = 0;
/// for mut piece in stream.chunks(3) {
///     while let Some(frame) = reader.next(&mut piece)? {
///         assert_eq!(frame.payload, b"bytes");
///         received += 1;
///     }
/// }
/// reader.finish()?; // the stream has ended: at the end of a frame?
/// assert_eq!(received, 1);
/// # Ok::<(), endseal_codec::frame::FrameError>(())
/// ```
///
/// Its memory is bounded by the bytes that have arrived and by the agreed maximum; a length that a
/// header announces allocates nothing.
#[derive(Debug)]
pub struct LiveReader {
    limits: Limits,
    expected: u64,
    state: State,
    /// The part of the header or of the payload that came in earlier pieces.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Header,
    Payload(LiveHeader),
    /// The payload in `held` was handed out; the next call drops it.
    Spent,
    Refused(FrameError),
}

/// A frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveFrame<'a> {
    /// The header of the frame, with kind, length and sequence.
    pub header: LiveHeader,
    /// The payload of the frame: a part of the input if it came in one piece, else of the reader's
    /// memory.
    pub payload: &'a [u8],
}

impl LiveReader {
    /// A reader at the beginning of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, expected: 0, state: State::Header, held: Vec::new() }
    }

    /// Takes bytes from the front of `input`, up to the end of a frame. Returns `None` when it has
    /// taken all of `input` and needs more.
    ///
    /// # Errors
    /// The class of the first violation. Every later call returns it again: a refusal ends the
    /// stream.
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<LiveFrame<'s>>, FrameError> {
        if let State::Spent = self.state {
            self.held.clear();
            self.state = State::Header;
        }
        let header = match self.state {
            State::Refused(error) => return Err(error),
            State::Payload(header) => header,
            State::Header | State::Spent => match self.header(input) {
                Ok(Some(header)) => header,
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.state = State::Refused(error);
                    return Err(error);
                }
            },
        };
        if self.held.is_empty()
            && let Some((payload, rest)) = input.split_at_checked(header.length())
        {
            *input = rest;
            self.state = State::Header;
            return Ok(Some(LiveFrame { header, payload }));
        }
        let missing = header.length() - self.held.len();
        let (taken, rest) = input.split_at(missing.min(input.len()));
        // The buffer grows with the bytes that arrive: a header that announces a megabyte allocates
        // nothing, and its sender has to send that megabyte first.
        self.held.extend_from_slice(taken);
        *input = rest;
        if self.held.len() < header.length() {
            self.state = State::Payload(header);
            return Ok(None);
        }
        self.state = State::Spent;
        Ok(Some(LiveFrame { header, payload: &self.held }))
    }

    /// Checks that the stream may end here.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] inside a frame; the earlier error if `next` has returned one.
    pub fn finish(&self) -> Result<(), FrameError> {
        match self.state {
            State::Refused(error) => Err(error),
            State::Spent => Ok(()),
            State::Header if self.held.is_empty() => Ok(()),
            State::Header | State::Payload(_) => Err(FrameError::Truncated),
        }
    }

    /// Takes the header from the input; leaves nothing in `held` when it is complete.
    fn header(&mut self, input: &mut &[u8]) -> Result<Option<LiveHeader>, FrameError> {
        let before = self.held.len();
        let parsed = if before == 0 {
            LiveHeader::parse(input, self.expected, self.limits)?
        } else {
            let room = LiveHeader::MAX_LEN.saturating_sub(before).min(input.len());
            self.held.extend_from_slice(&input[..room]);
            LiveHeader::parse(&self.held, self.expected, self.limits)?
        };
        let Some((header, len)) = parsed else {
            if before == 0 {
                self.held.extend_from_slice(input);
            }
            *input = &[];
            return Ok(None);
        };
        self.held.clear();
        *input = &input[len - before..];
        self.expected += 1;
        Ok(Some(header))
    }
}
