//! The fuzz targets of endseal, as functions: `fuzz_targets/` calls them with the fuzzer's inputs,
//! `replay` with the kept corpus.
//!
//! A target panics on a fault: a decoder that accepts what its encoder does not write, two
//! implementations that disagree, a panic below. `cargo xtask nightly` runs each for ten minutes,
//! `cargo xtask assure` replays the corpus.

mod codec;
pub mod corpus;
mod crypto;
mod envelope;
mod http1;
mod keyring;
mod nostr;
mod nostr_encrypted_key;
mod nostr_encryption;
mod nostr_gift_wrap;
mod nostr_policy;
mod nostr_session;
mod s3;
mod s3_requests;
mod session;
mod transport;

/// A target with its name, which is the name of its file and of its corpus.
pub type Target = (&'static str, fn(&[u8]));

macro_rules! targets {
    ($($module:ident: $($name:ident),+;)+) => {
        $(pub use $module::{$($name),+};)+
        /// All fuzz targets.
        pub const TARGETS: &[Target] = &[$($((stringify!($name), $module::$name)),+),+];
    };
}

targets! {
    codec: codec_view_vs_owned_vs_prost, live_reader_splits, stored_frame;
    crypto: gcm_in_place_vs_aws_lc, kernel_vs_dalek;
    envelope: envelope_open, envelope_stream_vs_whole;
    keyring: address_book, identity_file, identity_text, key_ring, roster;
    nostr: nostr_connect, nostr_entity, nostr_event;
    nostr_encrypted_key: nostr_encrypted_key;
    nostr_encryption: nostr_nip04, nostr_payload, nostr_payload_vs_rust_nostr;
    nostr_gift_wrap: nostr_unwrap;
    nostr_policy: nostr_policy;
    nostr_session: nostr_session;
    s3: s3_authorization, s3_aws_chunked, s3_object_header, s3_xml;
    s3_requests: s3_requests;
    session: bundle, certificate, conversation, mls_header, session_file, session_message, store_packs;
    transport: transfer, transport_prefix;
}

/// Splits an input into a choice, which is its first byte, and the rest.
fn choice(data: &[u8]) -> (usize, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (usize::from(*first), rest))
}
