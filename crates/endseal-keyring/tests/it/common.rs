//! Identities of fixed seeds.

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::{ed25519, mlkem768};
use endseal_keyring::Name;

/// The identity of two seeds of repeated bytes.
pub(crate) fn identity(n: u8) -> Identity {
    Identity::from_seeds(
        ed25519::Seed::from_bytes(&[n; 32]),
        mlkem768::Seed::from_bytes(&[n ^ 0xff; 64]),
    )
}

/// Its public half without the ML-KEM-768 key.
pub(crate) fn short(n: u8) -> PublicIdentity {
    PublicIdentity::new(*identity(n).public().ed25519(), None)
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}
