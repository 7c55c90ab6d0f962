//! The way from the client to a backend: where requests go, and whose CPU time it takes.

use core::net::SocketAddr;
use std::time::Instant;

use endseal_s3_protocol::sigv4::Signer;

use super::shape::Backend;
use crate::clock::Elapsed;
use crate::s3::client::{Connection, head};
use crate::s3::content::Content;
use crate::s3::process::CpuClock;
use crate::s3::upload::{self, Upload};
use crate::s3::{DROP, Failure, KEEP, signer};

/// A subject's way.
pub(super) struct Line {
    /// Where the client connects.
    pub(super) entry: SocketAddr,
    /// Where objects end up.
    pub(super) backend: SocketAddr,
    /// Of the proxy, if there is one.
    clock: Option<CpuClock>,
    to: Backend,
    signer: Signer,
    /// Headers of uploads that ask the server for a service, such as encryption.
    asks: &'static [(&'static str, &'static str)],
    /// True if uploads are sent in chunks.
    in_chunks: bool,
    /// Suffix of names at the backend.
    suffix: &'static str,
    /// True if each object must be kept, also those that nobody fetches.
    keeps_all: bool,
}

impl Line {
    pub(super) fn new(
        entry: SocketAddr,
        backend: SocketAddr,
        clock: Option<CpuClock>,
        to: Backend,
    ) -> Self {
        Self {
            entry,
            backend,
            clock,
            to,
            signer: signer(),
            asks: &[],
            in_chunks: false,
            suffix: "",
            keeps_all: false,
        }
    }

    /// The same, with headers of all uploads.
    pub(super) fn asking(self, asks: &'static [(&'static str, &'static str)]) -> Self {
        Self { asks, ..self }
    }

    /// The same, with uploads in chunks.
    pub(super) fn in_chunks(self) -> Self {
        Self { in_chunks: true, ..self }
    }

    /// The same, with a proxy that reads what it has stored, under names with this suffix.
    pub(super) fn keeping_all(self, suffix: &'static str) -> Self {
        Self { suffix, keeps_all: true, ..self }
    }

    pub(super) fn connect(&self) -> Result<Connection, Failure> {
        Connection::open(self.entry)
    }

    /// A connection that was used before, if it is still good; otherwise a new one.
    pub(super) fn reuse(&self, connection: Option<Connection>) -> Result<Connection, Failure> {
        match connection.filter(|connection| !connection.is_stale()) {
            Some(connection) => Ok(connection),
            None => self.connect(),
        }
    }

    /// The path of an object that is fetched again. Subjects must not read each other's.
    pub(super) fn kept(&self, name: &str) -> String {
        format!("/{KEEP}/{}-{name}", self.entry.port())
    }

    /// The path of an object that nobody fetches: one that the sink drops.
    pub(super) fn dropped(&self, name: &str) -> String {
        match self.to {
            Backend::Sink if !self.keeps_all => format!("/{DROP}/{}-{name}", self.entry.port()),
            _ => self.kept(name),
        }
    }

    /// A signed head towards the proxy.
    pub(super) fn head(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        len: Option<u64>,
    ) -> Result<Vec<u8>, Failure> {
        head(&self.signer, self.entry, method, target, headers, len)
    }

    /// The same of an upload.
    pub(super) fn head_of_put(&self, path: &str, len: u64) -> Result<Vec<u8>, Failure> {
        self.head("PUT", path, self.asks, Some(len))
    }

    /// Sends a request with a short body; returns the body of the answer, which must be a success.
    pub(super) fn ask(&self, method: &str, target: &str, body: &[u8]) -> Result<String, Failure> {
        let head = self.head(method, target, &[], Some(body.len() as u64))?;
        let (status, _, answer) = self.connect()?.ask(&head, body)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        match status {
            200..300 => Ok(answer),
            _ => Err(format!("status {status}: {answer}").into()),
        }
    }

    /// A signed head past it.
    pub(super) fn head_past(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        len: Option<u64>,
    ) -> Result<Vec<u8>, Failure> {
        let target = format!("{target}{}", self.suffix);
        head(&self.signer, self.backend, method, &target, headers, len)
    }

    /// An upload that is ready to be sent.
    pub(super) fn upload(&self, path: &str, content: Content) -> Result<Upload, Failure> {
        if self.in_chunks {
            return Upload::in_chunks(&self.signer, self.entry, path, content);
        }
        let mut headers = self.asks.to_vec();
        // Without one a real server makes a sum of its own choice, CRC-64, which takes versitygw a
        // fifth of its time. Our proxy sends one in any case, so that ours alone would be spared
        // it.
        let sum = (self.to == Backend::Server).then(|| upload::sum_of(content));
        headers.extend(sum.as_deref().map(|sum| (upload::SUM.header(), sum)));
        Ok(Upload::plain(self.head("PUT", path, &headers, Some(content.len))?, content))
    }

    pub(super) fn put(&self, path: &str, content: Content) -> Result<(), Failure> {
        self.upload(path, content)?.send(&mut self.connect()?)
    }

    pub(super) fn get(&self, path: &str, content: Content) -> Result<(), Failure> {
        self.connect()?.get(&self.head("GET", path, &[], None)?, content, 0, content.len)
    }

    /// Removes an object; it does not matter if it stays.
    pub(super) fn delete(&self, path: &str) {
        let removed = self
            .head_past("DELETE", path, &[], None)
            .and_then(|head| Connection::open(self.backend)?.ask(&head, &[]));
        let _it_goes_with_the_backend = removed;
    }

    /// The proxy's CPU time so far, if there is one.
    pub(super) fn cpu(&mut self) -> Result<Option<f64>, Failure> {
        self.clock.as_mut().map(CpuClock::read).transpose()
    }

    /// Times `work`, by the wall and by the proxy's CPU.
    pub(super) fn time(
        &mut self,
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
