//! Tools of the suite `s3`: servers and proxies in processes of their own, and a client that costs
//! little.
//!
//! | process | what it is |
//! |---|---|
//! | `sink` | a backend that drops what it gets, or keeps it in memory |
//! | `pass` | a proxy that passes on, without cryptography and signatures |
//! | `seed` | the published baseline's shape of an encrypting proxy |
//!
//! Each runs as a program of its own, started by `process`, so that CPU time and memory are those
//! of one subject alone. They end with the process that started them.

pub(crate) mod client;
pub(crate) mod content;
pub(crate) mod http;
pub(crate) mod listen;
pub(crate) mod pass;
pub(crate) mod process;
pub(crate) mod seed;
pub(crate) mod sink;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod upload;
mod upstream;

/// Access key of every client and backend of this suite.
pub(crate) const ACCESS_KEY: &str = "endsealbench";
/// Secret of the access key. It protects nothing: everything is removed after the run.
pub(crate) const SECRET: &str = "endseal-bench-0123456789abcdefghij";
/// Region that all signatures are valid for.
pub(crate) const REGION: &str = "us-east-1";

/// Name of the bucket whose objects the sink keeps.
pub(crate) const KEEP: &str = "keep";
/// Name of the bucket whose objects the sink drops.
pub(crate) const DROP: &str = "drop";

/// Returns a signer with the suite's credentials.
pub(crate) fn signer() -> endseal_s3_protocol::sigv4::Signer {
    let secret = endseal_s3_protocol::sigv4::SecretKey::new(SECRET.to_owned());
    endseal_s3_protocol::sigv4::Signer::new(ACCESS_KEY.to_owned(), secret, REGION.to_owned())
}
