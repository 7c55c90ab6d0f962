//! Sealing content that comes in pieces.

use endseal_crypto::random::Random;

use crate::error::Error;
use crate::seal::SealOptions;

/// Room for what is sealed beside the content: a chunk that was kept back, tags and signatures.
const SLACK: usize = 20_000;

/// An envelope that is being sealed. It is whole after [`finish`](Self::finish).
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct SealStream {
    /// `None` after the end or an error.
    stream: Option<endseal_envelope::SealStream>,
    /// Header and slots, until the first call takes them.
    begin: Vec<u8>,
    /// A copy in another process would seal other content under the same keys.
    #[cfg(not(target_family = "wasm"))]
    process: u32,
}

impl SealStream {
    /// Begins an envelope.
    ///
    /// # Errors
    /// Those of [`seal`](crate::seal).
    pub fn new(options: &SealOptions, random: &mut impl Random) -> Result<Self, Error> {
        let mut begin = Vec::new();
        let stream = options.sealer().stream(random, &mut begin)?;
        Ok(Self::of(stream, begin))
    }

    fn of(stream: endseal_envelope::SealStream, begin: Vec<u8>) -> Self {
        Self {
            stream: Some(stream),
            begin,
            #[cfg(not(target_family = "wasm"))]
            process: std::process::id(),
        }
    }

    /// Refuses a copy that `fork` made.
    #[cfg_attr(target_family = "wasm", allow(clippy::unused_self, reason = "there is no fork"))]
    fn check_process(&self) -> Result<(), Error> {
        #[cfg(not(target_family = "wasm"))]
        if self.process != std::process::id() {
            return Err(Error::argument("the stream belongs to another process"));
        }
        Ok(())
    }

    /// Begins an envelope whose chunks the caller encrypts, as
    /// [`Sealer::stream_detached`](endseal_envelope::Sealer::stream_detached) describes. Returns
    /// the key of the records, which the caller wipes, with header and slots behind it; the other
    /// calls return records.
    ///
    /// # Errors
    /// Those of [`seal`](crate::seal).
    pub fn new_detached(
        options: &SealOptions,
        random: &mut impl Random,
    ) -> Result<(Self, Vec<u8>), Error> {
        let mut begin = vec![0; 32];
        let stream = options.sealer().stream_detached(random, &mut begin)?;
        // The prelude does not complete a chunk: there is no record yet.
        begin[..32].copy_from_slice(stream.detached_key().unwrap_or(&[0; 32]));
        Ok((Self::of(stream, Vec::new()), begin))
    }

    /// Seals the next bytes of the content. Returns the next bytes of the envelope.
    ///
    /// # Errors
    /// `argument` beyond the limit of the format, for every call after that or the end, and in
    /// another process than that which began the envelope.
    pub fn push(&mut self, content: &[u8]) -> Result<Vec<u8>, Error> {
        self.check_process()?;
        let mut out = std::mem::take(&mut self.begin);
        out.reserve(content.len() + content.len() / 512 + SLACK);
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
    /// `argument` after an error or the end, and in another process.
    pub fn finish(&mut self) -> Result<Vec<u8>, Error> {
        self.check_process()?;
        let mut out = std::mem::take(&mut self.begin);
        self.stream.take().ok_or_else(ended)?.finish(&mut out)?;
        Ok(out)
    }
}

pub(crate) fn ended() -> Error {
    Error::argument("the stream has ended")
}
