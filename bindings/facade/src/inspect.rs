//! The public part of an envelope.

use endseal_envelope::Envelope;

use crate::error::Error;

/// Public facts about an envelope. Nothing of it is authentic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// Name of the suite.
    pub suite: &'static str,
    /// Number of slots: of recipients, or more if their number is hidden.
    pub slots: usize,
    /// Length of the content in bytes; `None` if the envelope was cut short.
    pub content_len: Option<u64>,
}

/// Reads the public part of an envelope.
///
/// # Errors
/// One with the code of the reason, if these bytes are no envelope.
pub fn inspect(envelope: &[u8]) -> Result<Inspected, Error> {
    let parsed = Envelope::parse(envelope)?;
    Ok(Inspected {
        suite: parsed.suite().name(),
        slots: parsed.slots(),
        content_len: parsed.content_len(),
    })
}
