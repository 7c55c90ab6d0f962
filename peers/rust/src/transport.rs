//! Interface of a subject of the suite `transport`.

use self::carrier::Carrier;
use self::examine::{Delayed, Found};
use self::work::{Duplex, Fault, Spent, Work};

// What every subject does, and how it is measured: the same files as for endseal's own subjects, so
// that they differ in what they are and in nothing else.
#[path = "../../../bench/src/duplex/carrier.rs"]
pub(crate) mod carrier;
#[path = "../../../bench/src/duplex/examine.rs"]
mod examine;
#[path = "../../../bench/src/duplex/idle.rs"]
mod idle;
#[path = "../../../bench/src/duplex/processor.rs"]
mod processor;
#[path = "../../../bench/src/duplex/relay.rs"]
pub(crate) mod relay;
#[path = "../../../bench/src/duplex/serve.rs"]
mod serve;
#[path = "../../../bench/src/duplex/work.rs"]
pub(crate) mod work;

#[path = "transport/pair.rs"]
pub(crate) mod pair;

/// One way to carry messages.
pub(crate) struct Transport {
    pub(crate) name: &'static str,
    /// One line for the report.
    pub(crate) about: &'static str,
    /// Crates whose versions are reported, as `Cargo.lock` has them.
    pub(crate) crates: &'static [&'static str],
    /// The document whose recommendation is followed.
    pub(crate) settings: &'static str,
    /// From the list in the specification.
    pub(crate) properties: &'static [&'static str],
    /// Makes keys and, where the work begins so, connects the two ends.
    pub(crate) prepare: fn(Work, u64) -> Result<Box<dyn Prepared>, Fault>,
}

/// Properties of TLS 1.3 with both keys pinned.
pub(crate) const PINNED: &[&str] = &["confidential", "authenticated", "sender"];
/// The same with a key exchange that withstands a quantum computer.
pub(crate) const PINNED_POST_QUANTUM: &[&str] =
    &["confidential", "authenticated", "sender", "post-quantum"];

/// A case of a subject, with its two ends.
pub(crate) trait Prepared {
    /// Checks that the subject does what it claims.
    fn check(&mut self) -> Result<Found, Fault>;

    /// The figures of the case `handshake`.
    fn delayed(&self) -> Result<Delayed, Fault>;

    /// Bytes of heap of a connection on which nothing happens.
    fn idle_memory(&self) -> Result<Option<u64>, Fault>;

    /// Does the work so many times.
    fn run(&mut self, iterations: u64) -> Result<Spent, Fault>;
}

impl<C: Carrier> Prepared for Duplex<C> {
    fn check(&mut self) -> Result<Found, Fault> {
        Self::check(self)
    }

    fn delayed(&self) -> Result<Delayed, Fault> {
        Self::delayed(self)
    }

    fn idle_memory(&self) -> Result<Option<u64>, Fault> {
        idle::memory(self)
    }

    fn run(&mut self, iterations: u64) -> Result<Spent, Fault> {
        Self::run(self, iterations)
    }
}

/// The two ends of a carrier.
pub(crate) fn ends<C: Carrier>(
    carrier: C,
    work: Work,
    inputs: u64,
) -> Result<Box<dyn Prepared>, Fault> {
    Ok(Box::new(Duplex::prepare(carrier, work, inputs)?))
}
