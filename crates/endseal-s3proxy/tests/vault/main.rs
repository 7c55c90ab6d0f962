//! Tests of the Vault key provider over the proxy's HTTP client: its protocol, and a real OpenBao.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "these are tests")]

#[path = "../../../endseal-kms/tests/it/laws.rs"]
mod laws;
mod openbao;
mod protocol;
mod server;

use endseal_kms::{ContentKey, KeyProvider, ProviderError, Wrapped};
use laws::*;
