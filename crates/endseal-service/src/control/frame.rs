//! The encoding of messages on the socket.

use core::fmt;
use std::io::{self, Read};

use endseal_crypto::secret::Zeroizing;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// Maximum length in bytes of the JSON of a message, and of its secret: 4 MiB.
pub const MAX_CONTROL_FRAME: usize = 4 << 20;

/// The reason why a message could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlFrameError {
    /// Reading from or writing to the socket failed.
    Io(io::Error),
    /// A length is above [`MAX_CONTROL_FRAME`], or a line is longer than
    /// [`MAX_CONTROL_LINE`](super::MAX_CONTROL_LINE).
    Length,
    /// The JSON is malformed or does not have the expected structure.
    Json(serde_json::Error),
}

impl From<io::Error> for ControlFrameError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for ControlFrameError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for ControlFrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Length => f.write_str("a message on the socket is too long"),
            Self::Json(error) => write!(f, "a message on the socket is malformed: {error}"),
        }
    }
}

impl core::error::Error for ControlFrameError {}

/// Encodes a message: the JSON and the secret, each with its length.
pub(crate) fn to_bytes(
    json: &impl Serialize,
    secret: &[u8],
) -> Result<Zeroizing<Vec<u8>>, ControlFrameError> {
    let json = Zeroizing::new(serde_json::to_vec(json)?);
    let mut bytes = Zeroizing::new(Vec::with_capacity(8 + json.len() + secret.len()));
    for part in [&json[..], secret] {
        let len = u32::try_from(part.len()).ok().filter(|_| part.len() <= MAX_CONTROL_FRAME);
        bytes.extend_from_slice(&len.ok_or(ControlFrameError::Length)?.to_le_bytes());
        bytes.extend_from_slice(part);
    }
    Ok(bytes)
}

/// Reads a message and its secret from a blocking stream.
pub(crate) fn read<T: DeserializeOwned>(
    stream: &mut impl Read,
) -> Result<(T, Zeroizing<Vec<u8>>), ControlFrameError> {
    let json = part(stream)?;
    let secret = part(stream)?;
    Ok((serde_json::from_slice(&json)?, secret))
}

fn part(stream: &mut impl Read) -> Result<Zeroizing<Vec<u8>>, ControlFrameError> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = usize::try_from(u32::from_le_bytes(len)).map_err(|_| ControlFrameError::Length)?;
    if len > MAX_CONTROL_FRAME {
        return Err(ControlFrameError::Length);
    }
    let mut bytes = Zeroizing::new(vec![0; len]);
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads the JSON or the secret of a message. `None` if the peer does not send it in full, or it is
/// too long.
pub(crate) async fn receive(stream: &mut UnixStream) -> Option<Zeroizing<Vec<u8>>> {
    let len = usize::try_from(stream.read_u32_le().await.ok()?).ok()?;
    if len > MAX_CONTROL_FRAME {
        return None;
    }
    let mut bytes = Zeroizing::new(vec![0; len]);
    stream.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}
