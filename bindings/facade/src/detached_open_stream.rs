//! Opening an envelope whose chunks the caller decrypts.

use std::sync::{Arc, Mutex, PoisonError};

use endseal_crypto::identity;

use crate::error::Error;
use crate::open::{Info, OpenOptions};
use crate::seal_stream::ended;

type Stream = endseal_envelope::DetachedOpenStream<'static, Arc<identity::Identity>>;

/// [`OpenStream`](crate::OpenStream) for a caller that decrypts the chunks, as
/// [`endseal_envelope::DetachedOpenStream`] describes.
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct DetachedOpenStream {
    /// `None` after the end. Behind a lock that no one takes, because a replay cache is not `Sync`.
    stream: Mutex<Option<Stream>>,
    has_key: bool,
    info: Option<Info>,
}

impl DetachedOpenStream {
    /// Begins to open an envelope.
    ///
    /// # Errors
    /// `argument` for a context that is too long.
    pub fn new(options: &OpenOptions) -> Result<Self, Error> {
        let identity = Arc::clone(&options.identity.0);
        let stream = Stream::new(identity, &options.context, options.policy())?;
        Ok(Self { stream: Mutex::new(Some(stream)), has_key: false, info: None })
    }

    fn stream(&mut self) -> Result<&mut Stream, Error> {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        stream.as_mut().ok_or_else(ended)
    }

    /// Takes the next bytes of the envelope. Returns the records that they complete, and true if
    /// the key (32 bytes) is before them, which is once; the caller wipes it.
    ///
    /// # Errors
    /// One with the code of the reason. Every later call returns the same one.
    pub fn feed(&mut self, envelope: &[u8]) -> Result<(Vec<u8>, bool), Error> {
        let before = if self.has_key { 0 } else { 32 };
        let mut out = Vec::with_capacity(before + envelope.len() + envelope.len() / 512 + SLACK);
        out.resize(before, 0);
        let stream = self.stream()?;
        stream.feed(envelope, &mut out)?;
        let Some(key) = stream.key().filter(|_| before > 0) else {
            // Without a key there is no record.
            out.drain(..before);
            return Ok((out, false));
        };
        out[..32].copy_from_slice(key);
        self.has_key = true;
        Ok((out, true))
    }

    /// Ends the envelope, and returns its last record.
    ///
    /// # Errors
    /// One with the code of the reason, if it was cut short before the chunks.
    pub fn end(&mut self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(SLACK);
        self.stream()?.end(&mut out)?;
        Ok(out)
    }

    /// Takes the plaintexts of the next chunks. Returns the content of the blocks that they
    /// complete.
    ///
    /// # Errors
    /// One with the code of the reason. Every later call returns the same one.
    pub fn take(&mut self, plaintexts: &[u8]) -> Result<Vec<u8>, Error> {
        let stream = self.stream()?;
        let mut content = Vec::new();
        for chunk in plaintexts.as_chunks().0 {
            if let Some(block) = stream.take(chunk)? {
                content.extend_from_slice(block);
            }
        }
        self.info = self.stream()?.info().map(Info::of);
        Ok(content)
    }

    /// Takes the plaintext of the last chunk, and returns the rest of the content.
    ///
    /// # Errors
    /// One with the code of the reason.
    pub fn finish(&mut self, plaintext: &[u8]) -> Result<Vec<u8>, Error> {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let last = stream.ok_or_else(ended)?.finish(plaintext)?;
        self.info = Some(Info::of(last.info()));
        Ok(last.content().to_vec())
    }

    /// Returns what is known of the message: after the first content, or the end.
    #[must_use]
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }
}

/// Room for records beside the bytes that make them: a chunk that was kept back, and nonces.
const SLACK: usize = 20_000;
