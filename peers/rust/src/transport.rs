//! Interface of a subject of the suite `transport`, and its preparation.

use self::carrier::Carrier;
use self::examine::{Delayed, Found};
use self::work::{Duplex, Fault, Spent, Work};

// The work and its measurement are the same files as for endseal's own subjects, so that only the
// subjects differ.
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

/// One transport that carries messages.
pub(crate) struct Transport {
    pub(crate) name: &'static str,
    /// Description in one line, for the report.
    pub(crate) about: &'static str,
    /// Crates whose versions are reported, by their names in `Cargo.lock`.
    pub(crate) crates: &'static [&'static str],
    /// The document whose recommendation the settings follow.
    pub(crate) settings: &'static str,
    /// Properties from the list in the specification.
    pub(crate) properties: &'static [&'static str],
    /// Creates keys and, if the work needs it, connects the two ends.
    pub(crate) prepare: fn(Work, u64) -> Result<Box<dyn Prepared>, Fault>,
}

/// Properties of TLS 1.3 with both keys pinned.
pub(crate) const PINNED: &[&str] = &["confidential", "authenticated", "sender"];
/// Properties of TLS 1.3 with both keys pinned and a post-quantum key exchange.
pub(crate) const PINNED_POST_QUANTUM: &[&str] =
    &["confidential", "authenticated", "sender", "post-quantum"];

/// A prepared case of a subject, with its two ends.
pub(crate) trait Prepared {
    /// Checks that the subject does what it claims.
    fn check(&mut self) -> Result<Found, Fault>;

    /// Measures the figures of the case `handshake`.
    fn delayed(&self) -> Result<Delayed, Fault>;

    /// Measures the bytes of heap of an idle connection.
    fn idle_memory(&self) -> Result<Option<u64>, Fault>;

    /// Does the work `iterations` times.
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

/// Prepares a case with the two ends of a subject.
pub(crate) fn ends<C: Carrier>(
    carrier: C,
    work: Work,
    inputs: u64,
) -> Result<Box<dyn Prepared>, Fault> {
    Ok(Box::new(Duplex::prepare(carrier, work, inputs)?))
}
