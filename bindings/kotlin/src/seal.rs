//! Sealing.

use std::sync::{Arc, Mutex, PoisonError};

use endseal_facade as facade;
use endseal_facade::{OsRandom, SuiteChoice};

use crate::error::EndsealError;
use crate::identity::{Identity, Recipients};

/// Suite of an envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, uniffi::Enum)]
pub enum Suite {
    /// X25519 with ML-KEM-768, which stays secret when quantum computers exist.
    Hybrid,
    /// X25519, for recipients without a post-quantum key.
    X25519,
    /// X25519 in a compact form, in envelopes of others.
    X25519Compact,
}

impl Suite {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "x25519" => Self::X25519,
            "x25519-compact" => Self::X25519Compact,
            _ => Self::Hybrid,
        }
    }
}

/// Parts of an envelope beside its content.
#[derive(uniffi::Record)]
pub struct SealOptions {
    /// The identity that seals and signs.
    pub sender: Arc<Identity>,
    /// The readers.
    pub recipients: Arc<Recipients>,
    /// Name of the application and its protocol. Both sides give the same.
    pub context: String,
    /// Time to state, in milliseconds since 1970-01-01T00:00:00Z.
    #[uniffi(default = None)]
    pub time: Option<u64>,
    /// Suite of the envelope.
    #[uniffi(default = None)]
    pub suite: Option<Suite>,
    /// Hides the number of recipients among slots that no one can open.
    #[uniffi(default = false)]
    pub hides_count: bool,
}

impl SealOptions {
    fn options(&self) -> Result<facade::SealOptions, EndsealError> {
        let suite = match self.suite.unwrap_or(Suite::Hybrid) {
            Suite::Hybrid => SuiteChoice::Hybrid,
            Suite::X25519 => SuiteChoice::X25519,
            Suite::X25519Compact => {
                return Err(facade::Error::argument("the compact form is not for sealing").into());
            }
        };
        Ok(facade::SealOptions {
            sender: self.sender.0.clone(),
            recipients: self.recipients.0.clone(),
            context: self.context.clone().into_bytes(),
            time: self.time.filter(|it| *it > 0),
            suite,
            hides_count: self.hides_count,
        })
    }
}

/// Seals content.
#[uniffi::export]
pub fn seal_now(content: &[u8], options: SealOptions) -> Result<Vec<u8>, EndsealError> {
    Ok(facade::seal(content, &options.options()?, &mut OsRandom)?)
}

/// An envelope that is being sealed.
#[derive(uniffi::Object)]
pub struct SealStream(Mutex<facade::SealStream>);

#[uniffi::export]
impl SealStream {
    /// Begins an envelope.
    #[uniffi::constructor]
    pub fn new(options: SealOptions) -> Result<Arc<Self>, EndsealError> {
        let stream = facade::SealStream::new(&options.options()?, &mut OsRandom)?;
        Ok(Arc::new(Self(Mutex::new(stream))))
    }

    /// Seals the next bytes of the content. Returns the next bytes of the envelope.
    pub fn push(&self, content: &[u8]) -> Result<Vec<u8>, EndsealError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).push(content)?)
    }

    /// Returns the last bytes of the envelope. Without them no one opens it.
    pub fn finish(&self) -> Result<Vec<u8>, EndsealError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).finish()?)
    }
}
