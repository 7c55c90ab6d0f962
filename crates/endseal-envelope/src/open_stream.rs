//! An envelope opened from bytes that come in pieces, without I/O.

use core::borrow::Borrow;

use endseal_crypto::identity::Identity;
use endseal_crypto::segment::ChunkKeys;

use crate::blocks::{Blocks, LastBlock};
use crate::error::OpenError;
use crate::message_info::MessageInfo;
use crate::open::Opener;
use crate::policy::Policy;
use crate::start::Start;

impl<'a> Opener<'a> {
    /// Begins to open an envelope whose bytes come in pieces. [`OpenStream::new`] does the same for
    /// an identity that is owned or shared.
    ///
    /// # Errors
    /// [`OpenError::ContextTooLong`].
    pub fn stream<'p>(
        &self,
        policy: Policy<'p>,
    ) -> Result<OpenStream<'p, &'a Identity>, OpenError> {
        OpenStream::new(self.identity, self.context, policy)
    }
}

/// Opens an envelope whose bytes come in pieces of any length, without I/O. Every byte that it
/// releases was authenticated, and signed by the sender.
///
/// With an `Arc<Identity>` and a policy that owns its replay cache it borrows nothing, so that an
/// object of another language can hold it. Memory: one block (4 MiB) and the bodies of at most 16
/// slots, however many there are. The work of a call is bounded by the bytes that it takes.
///
/// ```
/// # use endseal_crypto::{identity::Identity, random::OsRandom};
/// # use endseal_envelope::{OpenStream, Policy, Recipients, Sealer};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (alice, bob) = (Identity::generate(&mut OsRandom)?, Identity::generate(&mut OsRandom)?);
/// # let recipients = Recipients::from_identities([bob.public()])?;
/// # let context = b"example.org/files@v1";
/// # let envelope = Sealer::new(&alice, &recipients, context).seal(b"a long text", &mut OsRandom)?;
/// let bob = std::sync::Arc::new(bob);
/// let mut stream = OpenStream::new(bob, context, Policy::new())?;
/// let mut content = Vec::new();
/// for mut piece in envelope.chunks(100) {
///     while let Some(block) = stream.feed(&mut piece)? {
///         content.extend_from_slice(block);
///     }
/// }
/// // Until here `content` is a prefix: a stream that was cut short ends in an error.
/// let last = stream.finish()?;
/// content.extend_from_slice(last.content());
/// assert_eq!(content, b"a long text");
/// assert_eq!(&last.info().sender, alice.public().ed25519());
/// # Ok(())
/// # }
/// ```
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct OpenStream<'p, I> {
    /// Present until all slots were read.
    start: Option<Start<'p, I>>,
    /// Present afterwards.
    blocks: Option<(ChunkKeys, Blocks<'p>)>,
    /// The error of the call that failed, if neither is present.
    error: OpenError,
}

impl<'p, I: Borrow<Identity>> OpenStream<'p, I> {
    /// Begins to open an envelope to `identity`, which may be a reference or an `Arc`. `context` is
    /// the one that was given to [`Sealer::new`](crate::Sealer::new).
    ///
    /// # Errors
    /// [`OpenError::ContextTooLong`].
    pub fn new(identity: I, context: &[u8], policy: Policy<'p>) -> Result<Self, OpenError> {
        let start = Some(Start::new(identity, context, policy)?);
        Ok(Self { start, blocks: None, error: OpenError::Authentication })
    }

    /// Takes bytes from the beginning of `data`, and returns the next block of content (4 MiB) as
    /// soon as it was verified and the policy has accepted the sender. `None` means that all of
    /// `data` was taken; while it returns a block, the caller MUST call it again with the rest.
    ///
    /// The blocks are a prefix of the content until [`finish`](Self::finish) has succeeded: the
    /// caller MUST NOT treat them as complete before.
    ///
    /// # Errors
    /// [`OpenError`]. Every later call returns the same error.
    pub fn feed(&mut self, data: &mut &[u8]) -> Result<Option<&[u8]>, OpenError> {
        match self.advance(data) {
            Ok(is_block) => Ok(self.blocks().filter(|_| is_block).map(Blocks::content)),
            Err(error) => {
                // Plaintext that was not verified is wiped at once.
                (self.start, self.blocks, self.error) = (None, None, error);
                Err(error)
            }
        }
    }

    fn advance(&mut self, data: &mut &[u8]) -> Result<bool, OpenError> {
        if let Some(start) = &mut self.start
            && !start.feed(data)?
        {
            return Ok(false);
        }
        if let Some(start) = self.start.take() {
            let (keys, blocks) = start.into_blocks()?;
            self.blocks = Some((keys.open_keys(), blocks));
        }
        let (keys, blocks) = self.blocks.as_mut().ok_or(self.error)?;
        blocks.feed(keys, data)
    }

    fn blocks(&self) -> Option<&Blocks<'p>> {
        self.blocks.as_ref().map(|(_, blocks)| blocks)
    }

    /// Bytes that complete what is read at present (header, tags, bodies or a chunk of 16,400
    /// bytes). A source that is asked for no more is read without a copy in between.
    #[must_use]
    pub fn needed(&self) -> usize {
        let of_start = self.start.as_ref().map(Start::needed);
        of_start.or_else(|| self.blocks().map(Blocks::needed)).unwrap_or(0)
    }

    /// Sender, message id, time and suite. `None` until the first block was verified; in an
    /// envelope with less than 4 MiB of content that is at [`finish`](Self::finish).
    #[must_use]
    pub fn info(&self) -> Option<&MessageInfo> {
        self.blocks().and_then(Blocks::info)
    }

    /// Ends the envelope: no more bytes come. Returns the rest of the content, with which it is
    /// complete.
    ///
    /// A replay cache remembers the message here, when all of it was verified.
    ///
    /// # Errors
    /// [`OpenError`], also if the envelope was cut short or an earlier call failed.
    pub fn finish(self) -> Result<LastBlock, OpenError> {
        if let Some(start) = &self.start {
            return Err(start.truncated());
        }
        let (keys, mut blocks) = self.blocks.ok_or(self.error)?;
        blocks.finish(&keys)?;
        blocks.into_last().ok_or(OpenError::Authentication)
    }
}
