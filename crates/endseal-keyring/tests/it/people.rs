//! Identities with fixed seeds, as in the vectors.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::{ed25519, hash, label, mlkem768};
use endseal_keyring::roster::Member;
use endseal_keyring::{Name, Roster};

/// Returns the identity whose two seeds are repeated bytes.
pub(crate) fn identity(n: u8) -> Identity {
    let seeds = (ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]));
    Identity::from_seeds(seeds.0, seeds.1)
}

/// Returns its public half without the ML-KEM-768 key.
pub(crate) fn short(n: u8) -> PublicIdentity {
    PublicIdentity::short(*identity(n).public().ed25519())
}

/// Returns a different public identity for each number, without an ML-KEM-768 key.
pub(crate) fn numbered(n: usize) -> PublicIdentity {
    let seed = ed25519::Seed::init_with(|seed| seed[..8].copy_from_slice(&n.to_le_bytes()));
    PublicIdentity::short(*ed25519::SigningKey::from_seed(seed).public_key())
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(crate) fn member(text: &str, n: u8) -> Member {
    Member::new(name(text), short(n))
}

/// Replaces a text in a roster, and signs the result as `identity(n)`.
pub(crate) fn signed_again(roster: &Roster, n: u8, from: &str, to: &str) -> Roster {
    let text = str::from_utf8(roster.as_bytes()).unwrap();
    let body = text[..text.find("signature ").unwrap()].replace(from, to);
    let digest = hash::digest(body.as_bytes());
    let message = [label::ROSTER_SIGNATURE.as_str().as_bytes(), &[0], &digest].concat();
    let signature = Base64::encode_string(identity(n).signing().sign(&message).as_bytes());
    Roster::parse(format!("{body}signature {signature}\n").as_bytes()).unwrap()
}
