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
        Ok(Self { stream: Mutex::new(Some(stream)), info: None })
    }

    fn stream(&mut self) -> Result<&mut Stream, Error> {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        stream.as_mut().ok_or_else(ended)
    }

    /// Takes the next bytes of header and slots. Returns how many of the bytes it took; and key (32
    /// bytes) and nonce (12) of the first chunk, when it has all slots. The caller wipes the key.
    /// The bytes that were not taken are of the chunks.
    ///
    /// # Errors
    /// One with the code of the reason. Every later call returns the same one.
    pub fn feed(&mut self, envelope: &[u8]) -> Result<(usize, Option<Vec<u8>>), Error> {
        let (stream, mut rest) = (self.stream()?, envelope);
        stream.feed(&mut rest)?;
        let parts = stream.key().zip(stream.nonce(0));
        let begin = parts.map(|(key, nonce)| [&key[..], &nonce].concat());
        Ok((envelope.len() - rest.len(), begin))
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
    /// One with the code of the reason, also if the envelope was cut short before the chunks.
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
