//! The path from the client to a backend: the addresses, and the process whose CPU time is
//! measured.

use core::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use endseal_s3_protocol::sigv4::Signer;

use super::shape::Backend;
use crate::clock::Elapsed;
use crate::s3::client::{Connection, Head, head};
use crate::s3::content::Content;
use crate::s3::process::CpuClock;
use crate::s3::upload::{self, Upload};
use crate::s3::{DROP, KEEP, signer};
use crate::subject::Failure;

/// Path of a subject's requests.
pub(super) struct Line {
    /// Address to which the client connects.
    pub(super) entry: SocketAddr,
    /// Address of the backend that stores the objects.
    pub(super) backend: SocketAddr,
    /// CPU clock of the proxy, if there is one.
    clock: Option<Mutex<CpuClock>>,
    to: Backend,
    /// True if the proxy claims to refuse changed objects.
    pub(super) authenticates: bool,
    signer: Signer,
    /// Suffix that the proxy appends to names at the backend. A proxy with one reads what it has
    /// stored, so that the backend must keep each object, even one that is never fetched.
    suffix: &'static str,
}

impl Line {
    pub(super) fn new(
        entry: SocketAddr,
        backend: SocketAddr,
        clock: Option<CpuClock>,
        to: Backend,
        authenticates: bool,
    ) -> Self {
        let clock = clock.map(Mutex::new);
        Self { entry, backend, clock, to, authenticates, signer: signer(), suffix: "" }
    }

    /// Sets the suffix of names at the backend.
    pub(super) fn with_suffix(self, suffix: &'static str) -> Self {
        Self { suffix, ..self }
    }

    /// Returns the given connection if it is still usable, otherwise a new one.
    pub(super) fn reuse(&self, connection: Option<Connection>) -> Result<Connection, Failure> {
        match connection.filter(|connection| !connection.is_stale()) {
            Some(connection) => Ok(connection),
            None => Connection::open(self.entry),
        }
    }

    /// Returns the path of an object that is fetched again. It is different for each subject.
    pub(super) fn kept(&self, name: &str) -> String {
        format!("/{KEEP}/{}-{name}", self.entry.port())
    }

    /// Returns the path of an object that is never fetched, so that the sink drops it.
    pub(super) fn dropped(&self, name: &str) -> String {
        match self.to {
            Backend::Sink if self.suffix.is_empty() => {
                format!("/{DROP}/{}-{name}", self.entry.port())
            }
            _ => self.kept(name),
        }
    }

    /// Builds the signed head of a request to the proxy.
    pub(super) fn head(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Result<Head, Failure> {
        head(&self.signer, self.entry, method, target, headers)
    }

    /// Sends a request with a short body. Returns the body of the answer, which must be a success.
    pub(super) fn ask(&self, method: &str, target: &str, body: &[u8]) -> Result<String, Failure> {
        let head = self.head(method, target, &[])?;
        let (status, _, answer) = Connection::open(self.entry)?.ask(&head, body)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        match status {
            200..300 => Ok(answer),
            _ => Err(format!("status {status}: {answer}").into()),
        }
    }

    /// Builds the signed head of a request to the backend, past the proxy.
    pub(super) fn head_past(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Result<Head, Failure> {
        let target = format!("{target}{}", self.suffix);
        head(&self.signer, self.backend, method, &target, headers)
    }

    /// Prepares an upload in chunks.
    pub(super) fn upload_in_chunks(&self, path: &str, content: Content) -> Result<Upload, Failure> {
        Upload::in_chunks(&self.signer, self.entry, path, content)
    }

    /// Prepares an upload.
    pub(super) fn upload(&self, path: &str, content: Content) -> Result<Upload, Failure> {
        let mut headers = Vec::new();
        // Without a checksum a real server computes CRC-64, which takes versitygw a fifth of its
        // time. Our proxy always sends a checksum, so only our subject would be spared that.
        let sum = (self.to == Backend::Server).then(|| upload::sum_of(content));
        headers.extend(sum.as_deref().map(|sum| (upload::SUM.header(), sum)));
        Ok(Upload::plain(self.head("PUT", path, &headers)?, content))
    }

    pub(super) fn put(&self, path: &str, content: Content) -> Result<(), Failure> {
        self.upload(path, content)?.send(&mut Connection::open(self.entry)?)
    }

    pub(super) fn get(&self, path: &str, content: Content) -> Result<(), Failure> {
        let head = self.head("GET", path, &[])?;
        Connection::open(self.entry)?.get(&head, content, 0, content.len)
    }

    /// Removes an object. A failure is ignored.
    pub(super) fn delete(&self, path: &str) {
        let removed = self
            .head_past("DELETE", path, &[])
            .and_then(|head| Connection::open(self.backend)?.ask(&head, &[]));
        let _it_goes_with_the_backend = removed;
    }

    /// Returns the proxy's CPU time so far, if there is a proxy.
    fn cpu(&self) -> Result<Option<f64>, Failure> {
        let read =
            |clock: &Mutex<CpuClock>| clock.lock().unwrap_or_else(PoisonError::into_inner).read();
        self.clock.as_ref().map(read).transpose()
    }

    /// Times `work` by the wall clock and by the proxy's CPU time.
    pub(super) fn time(
        &self,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Elapsed, Failure> {
        let before = self.cpu()?;
        let start = Instant::now();
        work()?;
        let wall_ns = start.elapsed().as_secs_f64() * 1e9;
        let after = self.cpu()?;
        let cpu_ns = before.zip(after).map(|(before, after)| (after - before).max(0.0));
        Ok(Elapsed::new(wall_ns, cpu_ns))
    }
}
