//! Bytes of a message on the socket.

use core::fmt;
use std::io::{self, Read, Write};

use endseal_crypto::secret::Zeroizing;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Most bytes of the JSON of a message, and of its secret: 4 MiB. A list of 1,000 apps has less.
pub const MAX_FRAME: usize = 4 << 20;

/// Cause why a message was not read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum FrameError {
    /// The socket failed.
    Io(io::Error),
    /// A length is above [`MAX_FRAME`].
    Length,
    /// The JSON is none of a message.
    Json(serde_json::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for FrameError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Length => f.write_str("a message on the socket is too long"),
            Self::Json(error) => write!(f, "a message on the socket is malformed: {error}"),
        }
    }
}

impl core::error::Error for FrameError {}

/// Bytes of a message.
pub(crate) fn to_bytes(
    json: &impl Serialize,
    secret: &[u8],
) -> Result<Zeroizing<Vec<u8>>, FrameError> {
    let json = Zeroizing::new(serde_json::to_vec(json)?);
    let mut bytes = Zeroizing::new(Vec::with_capacity(8 + json.len() + secret.len()));
    for part in [&json[..], secret] {
        let len = u32::try_from(part.len()).ok().filter(|_| part.len() <= MAX_FRAME);
        bytes.extend_from_slice(&len.ok_or(FrameError::Length)?.to_le_bytes());
        bytes.extend_from_slice(part);
    }
    Ok(bytes)
}

/// Writes a message.
pub(super) fn write(
    stream: &mut impl Write,
    json: &impl Serialize,
    secret: &[u8],
) -> Result<(), FrameError> {
    Ok(stream.write_all(&to_bytes(json, secret)?)?)
}

/// Reads a message and its secret.
pub(super) fn read<T: DeserializeOwned>(
    stream: &mut impl Read,
) -> Result<(T, Zeroizing<Vec<u8>>), FrameError> {
    let json = part(stream)?;
    let secret = part(stream)?;
    Ok((serde_json::from_slice(&json)?, secret))
}

fn part(stream: &mut impl Read) -> Result<Zeroizing<Vec<u8>>, FrameError> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = usize::try_from(u32::from_le_bytes(len)).map_err(|_| FrameError::Length)?;
    if len > MAX_FRAME {
        return Err(FrameError::Length);
    }
    let mut bytes = Zeroizing::new(vec![0; len]);
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
