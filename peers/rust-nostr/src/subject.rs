//! The list of subjects of the suite `nostr`.

use crate::case::{Asked, Job};
use crate::protocol::{Described, Refusal};
use crate::{baseline, cached, library, versions};

/// An implementation that is measured.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    about: &'static str,
    crates: &'static [&'static str],
    settings: &'static str,
    /// Creates the keys and inputs of a case.
    pub(crate) prepare: fn(Asked) -> Result<Job, Refusal>,
}

/// All subjects, in the order of `hello`.
pub(crate) const SUBJECTS: [Subject; 3] = [
    Subject {
        name: "rust-nostr",
        about: "the crate nostr, its calls that take keys: each message derives its key anew, and \
                signing an event verifies the signature",
        crates: &["nostr", "secp256k1", "aes", "cbc"],
        settings: "https://docs.rs/nostr/0.45.6/nostr/nips/nip44/fn.encrypt.html",
        prepare: library::prepare,
    },
    Subject {
        name: "rust-nostr-cached",
        about: "the crate nostr, its module v2 under a kept conversation key and with a random \
                generator in the process; signing an event without verifying the signature",
        crates: &["nostr", "secp256k1", "base64", "rand"],
        settings: "https://docs.rs/nostr/0.45.6/nostr/nips/nip44/v2/index.html",
        prepare: cached::prepare,
    },
    Subject {
        name: "baseline-method",
        about: "the method of the published benchmark's device, written anew: keys from hexadecimal \
                strings and a shared secret for each message, AES and ChaCha20 without instructions \
                for them, events as JSON documents and strings",
        crates: &["k256", "sha2", "hmac", "base64", "serde_json"],
        settings: "https://github.com/lnbits/nsec-remote-signer",
        prepare: baseline::prepare,
    },
];

/// Properties of NIP-44, which all subjects support. NIP-04 and plain AES are not authenticated.
const PROPERTIES: [&str; 3] = ["confidential", "authenticated", "sender"];

pub(crate) fn described() -> Vec<Described> {
    let describe = |subject: &Subject| Described {
        subject: subject.name,
        about: subject.about.to_owned(),
        versions: versions::of_all(subject.crates),
        settings: subject.settings,
        properties: &PROPERTIES,
    };
    SUBJECTS.iter().map(describe).collect()
}
