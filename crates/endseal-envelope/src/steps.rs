//! Steps of sealing and opening, whose ends can be marked for measurements.

/// A step of sealing or opening. It may end several times in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Step {
    /// Fresh keys and nonces from randomness, and the keys derived from them.
    Keys,
    /// X25519 with each recipient; opening, with the ephemeral key.
    Agreement,
    /// Wraps the content key for each recipient; opening, unwraps it.
    Wrap,
    /// Sorts the slots of an envelope into their order.
    Sort,
    /// Encrypts or decrypts the content.
    Content,
    /// Digest of the content, and signing or verification.
    Signature,
    /// Writes header and prelude into the envelope.
    Encoding,
    /// Parses the envelope and finds the reader's slot.
    Lookup,
}

/// A marker that does nothing, for callers that do not measure steps.
pub(crate) fn unmarked(_: Step) {}
