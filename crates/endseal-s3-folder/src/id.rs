//! Names of data and uploads.

use core::fmt;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_s3_protocol::S3Error;

/// 16 random bytes, written as 32 digits. Good as an entity tag too.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(String);

impl Id {
    /// Draws a new random id.
    pub(crate) fn random() -> Result<Self, S3Error> {
        let mut bytes = [0; 16];
        OsRandom.fill(&mut bytes).map_err(|_| S3Error::internal())?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// Reads one; nothing else can become part of a path.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (text.len() == 32 && digits).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
