//! Opening an envelope that comes in pieces.

use std::sync::{Arc, Mutex, PoisonError};

use endseal_crypto::identity;

use crate::error::Error;
use crate::open::{Info, OpenOptions};
use crate::seal_stream::ended;

type Stream = endseal_envelope::OpenStream<'static, Arc<identity::Identity>>;

/// An envelope that is being opened, a block (4 MiB) at a time. What it returns is authentic, and
/// complete after [`finish`](Self::finish).
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct OpenStream {
    /// `None` after the end. Behind a lock that no one takes, because a replay cache is not `Sync`.
    stream: Mutex<Option<Stream>>,
    info: Option<Info>,
}

impl OpenStream {
    /// Begins to open an envelope.
    ///
    /// # Errors
    /// `argument` for a context that is too long.
    pub fn new(options: &OpenOptions) -> Result<Self, Error> {
        let identity = Arc::clone(&options.identity.0);
        let stream =
            endseal_envelope::OpenStream::new(identity, &options.context, options.policy())?;
        Ok(Self { stream: Mutex::new(Some(stream)), info: None })
    }

    fn stream(&mut self) -> &mut Option<Stream> {
        self.stream.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next bytes of the envelope. Returns the content of the blocks that they complete.
    ///
    /// # Errors
    /// One with the code of the reason. Every later call returns the same one.
    pub fn feed(&mut self, mut envelope: &[u8]) -> Result<Vec<u8>, Error> {
        let stream = self.stream().as_mut().ok_or_else(ended)?;
        let mut content = Vec::new();
        while let Some(block) = stream.feed(&mut envelope)? {
            content.extend_from_slice(block);
        }
        self.info = stream.info().map(Info::of);
        Ok(content)
    }

    /// Ends the envelope, and returns the rest of its content.
    ///
    /// # Errors
    /// One with the code of the reason: an envelope that was cut short is not whole.
    pub fn finish(&mut self) -> Result<Vec<u8>, Error> {
        let last = self.stream().take().ok_or_else(ended)?.finish()?;
        self.info = Some(Info::of(last.info()));
        Ok(last.content().to_vec())
    }

    /// Returns what is known of the message: after the first content, or the end.
    #[must_use]
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }
}
