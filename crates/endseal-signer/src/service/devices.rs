//! Threads that serve devices, one for each serial port.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::mpsc as sync;
use std::{io, thread};

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::Request;
use endseal_nostr::key::{self, PublicKey};
use tokio::sync::mpsc;

use crate::device::{DeviceClient, DeviceError};
use crate::engine::{DeviceRequest, Engine};

/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);
/// Time without a request after which the device is asked if it is still there.
const IDLE: Duration = Duration::from_secs(5);

/// Report of a port.
pub(super) enum DeviceNotice {
    /// A device with this key answers; none if it has no key.
    Connected(Option<PublicKey>),
    /// There is no device, for this reason.
    Disconnected(String),
    /// Answer to the request with this number.
    Answered(u32, Result<Zeroizing<String>, DeviceError>),
}

/// The serial ports that the options name.
pub(super) struct DevicePorts {
    ports: Vec<DevicePort>,
}

struct DevicePort {
    path: PathBuf,
    requests: sync::Sender<DeviceRequest>,
    key: Option<PublicKey>,
    in_flight: Option<u32>,
    /// Number of the request that is withdrawn.
    withdrawn: Arc<AtomicU32>,
}

impl Drop for DevicePort {
    fn drop(&mut self) {
        self.withdrawn.store(self.in_flight.unwrap_or_default(), Ordering::Relaxed);
    }
}

impl DevicePorts {
    /// Starts a thread for each path.
    pub(super) fn start(
        paths: &[PathBuf],
        notices: &mpsc::UnboundedSender<(usize, DeviceNotice)>,
    ) -> io::Result<Self> {
        let mut ports = Vec::new();
        for (number, path) in paths.iter().enumerate() {
            let (requests, received) = sync::channel();
            let withdrawn = Arc::new(AtomicU32::new(0));
            let line = Line {
                path: path.clone(),
                number,
                notices: notices.clone(),
                withdrawn: Arc::clone(&withdrawn),
            };
            thread::Builder::new().name("device".to_owned()).spawn(move || line.run(&received))?;
            let path = path.clone();
            ports.push(DevicePort { path, requests, key: None, in_flight: None, withdrawn });
        }
        Ok(Self { ports })
    }

    /// Takes what a port reports. Returns an answer, which the engine is to get.
    #[allow(clippy::type_complexity, reason = "number and answer of a request")]
    pub(super) fn notice(
        &mut self,
        number: usize,
        notice: DeviceNotice,
        engine: &mut Engine,
    ) -> Option<(u32, Result<Zeroizing<String>, DeviceError>)> {
        let port = self.ports.get_mut(number)?;
        let path = port.path.display();
        let mut answer = None;
        match notice {
            DeviceNotice::Connected(Some(key)) => {
                port.key = Some(key);
                let user = key::public_to_hex(&key);
                let user = str::from_utf8(&user).unwrap_or_default();
                if engine.has_device_user(&key) {
                    tracing::info!(target: "device", %path, user, "connected");
                } else {
                    tracing::warn!(target: "device", %path, user, "the device has another key");
                }
            }
            DeviceNotice::Connected(None) => {
                port.key = None;
                tracing::warn!(target: "device", %path, "the device has no key");
            }
            DeviceNotice::Disconnected(cause) => {
                port.key = None;
                tracing::warn!(target: "device", %path, cause, "no device");
            }
            DeviceNotice::Answered(request, result) => {
                port.in_flight = None;
                answer = Some((request, result));
            }
        }
        engine.set_devices(self.ports.iter().filter_map(|it| it.key).collect());
        answer
    }

    /// Gives each device without a request its next one, and withdraws those that no one waits for.
    pub(super) fn pump(&mut self, now: u64, engine: &mut Engine) {
        for port in &mut self.ports {
            if let Some(number) = port.in_flight {
                if !engine.is_at_device(number) {
                    port.withdrawn.store(number, Ordering::Relaxed);
                }
                continue;
            }
            let next = port.key.and_then(|key| engine.next_for_device(now, &key));
            if let Some(request) = next {
                port.in_flight = Some(request.number);
                // If the thread has ended, the request times out.
                let _ = port.requests.send(request);
            }
        }
    }
}

/// The thread of a port.
struct Line {
    path: PathBuf,
    number: usize,
    notices: mpsc::UnboundedSender<(usize, DeviceNotice)>,
    withdrawn: Arc<AtomicU32>,
}

impl Line {
    /// Connects and serves until the event loop has ended.
    fn run(&self, requests: &sync::Receiver<DeviceRequest>) {
        let mut last = String::new();
        loop {
            let cause = match connect(&self.path) {
                Ok((client, Some(key))) => {
                    last.clear();
                    self.report(DeviceNotice::Connected(Some(key)));
                    match self.serve(client, key, requests) {
                        Some(error) => error.to_string(),
                        None => return,
                    }
                }
                Ok((_, None)) => DeviceError::NO_KEY.to_owned(),
                Err(error) => error.to_string(),
            };
            if cause != last {
                self.report(match cause.as_str() {
                    DeviceError::NO_KEY => DeviceNotice::Connected(None),
                    _ => DeviceNotice::Disconnected(cause.clone()),
                });
                last = cause;
            }
            match requests.recv_timeout(RETRY) {
                // It was sent before the disconnection was reported.
                Ok(request) => {
                    let lost = Err(DeviceError::Silent);
                    self.report(DeviceNotice::Answered(request.number, lost));
                }
                Err(sync::RecvTimeoutError::Timeout) => {}
                Err(sync::RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Serves requests. Returns why the device is lost, or `None` if the event loop has ended.
    fn serve(
        &self,
        mut client: DeviceClient,
        key: PublicKey,
        requests: &sync::Receiver<DeviceRequest>,
    ) -> Option<DeviceError> {
        loop {
            let request = match requests.recv_timeout(IDLE) {
                Ok(request) => request,
                Err(sync::RecvTimeoutError::Timeout) => match client.public_key() {
                    Ok(Some(found)) if found == key => continue,
                    // Another board, or another key.
                    Ok(_) => return Some(DeviceError::Malformed),
                    Err(error) => return Some(error),
                },
                Err(sync::RecvTimeoutError::Disconnected) => return None,
            };
            let number = request.number;
            let mut json = request.json;
            // The engine has written it, so it parses.
            let Ok(asked) = Request::parse(&mut json) else { continue };
            let mut is_withdrawn = || self.withdrawn.load(Ordering::Relaxed) == number;
            let result = client.call_until(asked.method.name(), asked.params(), &mut is_withdrawn);
            let is_lost = result.as_ref().err().is_some_and(DeviceError::is_lost);
            self.report(DeviceNotice::Answered(number, result));
            if is_lost {
                return Some(DeviceError::Silent);
            }
        }
    }

    fn report(&self, notice: DeviceNotice) {
        // The event loop may have ended; the next look at the requests says so.
        let _ = self.notices.send((self.number, notice));
    }
}

fn connect(path: &Path) -> Result<(DeviceClient, Option<PublicKey>), DeviceError> {
    let mut client = DeviceClient::connect(path)?;
    let key = client.public_key()?;
    Ok((client, key))
}
