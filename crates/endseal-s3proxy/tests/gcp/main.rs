//! Tests of the Google Cloud KMS key provider over the proxy's HTTP client, with a server of our
//! own that encrypts, verifies assertions and issues tokens.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "these are tests")]

#[path = "../proxy/client.rs"]
#[allow(dead_code, reason = "the tests of the proxy use the rest")]
mod client;
#[path = "../proxy/fixture.rs"]
#[allow(dead_code, reason = "the tests of the proxy use the rest")]
mod fixture;
#[path = "../../../endseal-kms/tests/it/laws.rs"]
mod laws;
mod log;
mod protocol;
mod proxied;
mod server;
mod tokens;

use endseal_kms::{KeyProvider, ProviderError, Wrapped};
use laws::*;
