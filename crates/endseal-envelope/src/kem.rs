//! A recipient's ML-KEM-768 key as slots need it.

use endseal_crypto::{hash, mlkem768};

/// An encapsulation key with its digest, which every slot to it contains.
#[derive(Clone, Debug)]
pub(crate) struct Kem {
    pub(crate) key: mlkem768::PublicKey,
    pub(crate) digest: [u8; hash::LEN],
}

impl Kem {
    pub(crate) fn new(key: mlkem768::PublicKey) -> Self {
        Self { digest: hash::digest(key.as_bytes()), key }
    }
}
