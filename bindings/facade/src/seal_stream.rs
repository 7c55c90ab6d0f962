//! Sealing content that comes in pieces.

use endseal_crypto::random::Random;

use crate::error::Error;
use crate::seal::SealOptions;

/// An envelope that is being sealed. It is whole after [`finish`](Self::finish).
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct SealStream {
    /// `None` after the end or an error.
    stream: Option<endseal_envelope::SealStream>,
    /// Header and slots, until the first call takes them.
    begin: Vec<u8>,
}

impl SealStream {
    /// Begins an envelope.
    ///
    /// # Errors
    /// Those of [`seal`](crate::seal).
    pub fn new(options: &SealOptions, random: &mut impl Random) -> Result<Self, Error> {
        let mut begin = Vec::new();
        let stream = options.sealer().stream(random, &mut begin)?;
        Ok(Self { stream: Some(stream), begin })
    }

    /// Seals the next bytes of the content. Returns the next bytes of the envelope.
    ///
    /// # Errors
    /// `argument` beyond the limit of the format, and for every call after that or the end.
    pub fn push(&mut self, content: &[u8]) -> Result<Vec<u8>, Error> {
        let mut out = std::mem::take(&mut self.begin);
        let stream = self.stream.as_mut().ok_or_else(ended)?;
        match stream.push(content, &mut out) {
            Ok(()) => Ok(out),
            Err(error) => {
                self.stream = None;
                Err(error.into())
            }
        }
    }

    /// Returns the last bytes of the envelope.
    ///
    /// # Errors
    /// `argument` after an error or the end.
    pub fn finish(&mut self) -> Result<Vec<u8>, Error> {
        let mut out = std::mem::take(&mut self.begin);
        self.stream.take().ok_or_else(ended)?.finish(&mut out)?;
        Ok(out)
    }
}

pub(crate) fn ended() -> Error {
    Error::argument("the stream has ended")
}
