//! Tests of key providers: a wrapped key opens, a changed one does not, and failures of a provider
//! are handled.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "these are tests")]

mod cache;
mod laws;
mod ring;
mod ring_file;
mod rsa;
mod scripted;
mod several;
mod vectors;

use endseal_kms::{ContentKey, KeyId, KeyProvider, ProviderError, Wrapped};
use laws::*;
