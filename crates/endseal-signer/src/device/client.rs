//! Requests to a device and their answers.

use core::time::Duration;
use std::path::Path;
use std::time::Instant;

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{Answer, Response};
use endseal_nostr::json::write;
use endseal_nostr::key::{self, PublicKey};

use super::{Port, PortError};

/// Longest wait for an answer in total: 30 seconds for the button, and time for lines.
pub const TIMEOUT: Duration = Duration::from_secs(45);
/// Longest wait of a host that connects, and of each of its attempts: a board may be starting.
const CONNECT: Duration = Duration::from_secs(6);
const ATTEMPT: Duration = Duration::from_millis(500);
/// Longest line of a request in bytes.
const MAX_REQUEST: usize = 32_768;
/// Time between two looks at whether a request is withdrawn.
const LOOK: Duration = Duration::from_millis(100);

/// Connection with a device.
#[derive(Debug)]
pub struct DeviceClient {
    port: Port,
    number: u64,
}

/// Reason why a device gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The serial port failed.
    #[error("{0}")]
    Port(#[from] PortError),
    /// There was no answer in time.
    #[error("the device does not answer")]
    Silent,
    /// The request does not fit into a line.
    #[error("the request is too long for the device")]
    TooLong,
    /// The device answered with this error.
    #[error("{0}")]
    Answer(String),
    /// The answer is none that a device gives.
    #[error("the device gives an answer that it should not")]
    Malformed,
}

impl DeviceError {
    /// Text of a device without a key.
    pub const NO_KEY: &'static str = "the device has no key";

    /// Returns true if the port or the device has to be connected again.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Port(_) | Self::Silent | Self::Malformed)
    }
}

impl DeviceClient {
    /// Opens a port and waits until a device answers there. What another program has left is
    /// ended.
    ///
    /// # Errors
    /// [`DeviceError`] if the port cannot be used, or no device answers.
    pub fn connect(path: &Path) -> Result<Self, DeviceError> {
        let mut client = Self { port: Port::open(path)?, number: first_number() };
        let until = Instant::now() + CONNECT;
        loop {
            client.port.write(b"\n")?;
            match client.call_within("ping", &[], ATTEMPT, &mut || false) {
                Err(DeviceError::Silent) if Instant::now() < until => {}
                Err(error) => return Err(error),
                Ok(_) => return Ok(client),
            }
        }
    }

    /// Returns the public key of the device, or `None` if it has no key.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn public_key(&mut self) -> Result<Option<PublicKey>, DeviceError> {
        match self.call("get_public_key", &[]) {
            Err(DeviceError::Answer(text)) if text == DeviceError::NO_KEY => Ok(None),
            Err(error) => Err(error),
            Ok(text) => key::public_from_hex(&text).map(Some).map_err(|_| DeviceError::Malformed),
        }
    }

    /// Sends a request and waits for its result.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn call(
        &mut self,
        method: &str,
        params: &[&str],
    ) -> Result<Zeroizing<String>, DeviceError> {
        self.call_within(method, params, TIMEOUT, &mut || false)
    }

    /// Sends a request like [`call`](Self::call), and withdraws it once `is_withdrawn` returns
    /// true.
    ///
    /// # Errors
    /// [`DeviceError`]; a withdrawn request has an error of the device.
    pub fn call_until(
        &mut self,
        method: &str,
        params: &[&str],
        is_withdrawn: &mut dyn FnMut() -> bool,
    ) -> Result<Zeroizing<String>, DeviceError> {
        self.call_within(method, params, TIMEOUT, is_withdrawn)
    }

    /// Checks that the device is there.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn ping(&mut self) -> Result<(), DeviceError> {
        self.call_within("ping", &[], Duration::from_secs(3), &mut || false).map(drop)
    }

    fn call_within(
        &mut self,
        method: &str,
        params: &[&str],
        timeout: Duration,
        is_withdrawn: &mut dyn FnMut() -> bool,
    ) -> Result<Zeroizing<String>, DeviceError> {
        self.number = self.number.wrapping_add(1);
        let id = self.number.to_string();
        let line = request(&id, method, params);
        if line.len() > MAX_REQUEST + 1 {
            return Err(DeviceError::TooLong);
        }
        self.port.write(&line)?;
        let (until, mut was_withdrawn) = (Instant::now() + timeout, false);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DeviceError::Silent);
            }
            if let Some(mut line) = self.port.line(left.min(LOOK))? {
                // Others answer requests of a host that was here before, or noise.
                let Ok(response) = Response::parse(&mut line) else { continue };
                if response.id != id {
                    continue;
                }
                return match response.answer {
                    Answer::Text(text) => Ok(Zeroizing::new(text.to_owned())),
                    Answer::Error(text) => Err(DeviceError::Answer(text.to_owned())),
                    _ => Err(DeviceError::Malformed),
                };
            }
            if !was_withdrawn && is_withdrawn() {
                was_withdrawn = true;
                self.port.write(b"\n")?;
            }
        }
    }
}

/// A first number that is not that of a host which used the device before.
fn first_number() -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().wrapping_mul(1_000_000).wrapping_add(since.subsec_micros().into())
}

fn request(id: &str, method: &str, params: &[&str]) -> Zeroizing<Vec<u8>> {
    let len: usize = params.iter().map(|it| 6 * it.len() + 3).sum();
    let mut line = Zeroizing::new(Vec::with_capacity(len + method.len() + 128));
    line.extend_from_slice(b"{\"id\":");
    write::text(&mut *line, id.into());
    line.extend_from_slice(b",\"method\":");
    write::text(&mut *line, method.into());
    line.extend_from_slice(b",\"params\":[");
    for (i, param) in params.iter().enumerate() {
        if i > 0 {
            line.push(b',');
        }
        write::text(&mut *line, (*param).into());
    }
    line.extend_from_slice(b"]}\n");
    line
}
