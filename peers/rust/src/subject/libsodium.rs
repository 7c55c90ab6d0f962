//! libsodium's sealed boxes, one for each member, by the crate `libsodium-rs`.
//!
//! A sealed box holds the content key; XChaCha20-Poly1305 seals the content. There is no sender. A
//! reader knows its position in the list, so that it opens one box.
//!
//!     count (4) | count times: sealed box (80) | nonce (24) | content | tag (16)
//!
//! `libsodium-native` converts the members' Ed25519 keys at each seal, with libsodium's own
//! function (which also checks that they are in the main subgroup); `libsodium-native-x25519` has
//! stored X25519 keys.
//!
//! libsodium's page on several recipients
//! (<https://doc.libsodium.org/quickstart/multiple_recipients>) signs once for each recipient and
//! seals the whole content to each. That is not the work of these cases, so boxes of a content key
//! represent libsodium here, without a sender.
//!
//! Settings follow <https://doc.libsodium.org/public-key_cryptography/sealed_boxes>,
//! <https://doc.libsodium.org/advanced/ed25519-curve25519> and
//! <https://doc.libsodium.org/secret-key_cryptography/aead/chacha20-poly1305>.

use std::error::Error;

use libsodium_rs::crypto_aead::xchacha20poly1305::{self as aead, Key, Nonce};
use libsodium_rs::crypto_box::{self, SEALBYTES, SecretKey};
use libsodium_rs::crypto_sign;

use super::{Group, Subject, take, take_slots};
use crate::members::Member;

const SLOT: usize = 32 + SEALBYTES;

pub(crate) const CONVERTING: Subject = Subject {
    name: "libsodium-native",
    about: "sealed box of a content key once a member, from Ed25519 keys; XChaCha20-Poly1305",
    crates: &["libsodium-rs", "libsodium-sys-stable"],
    settings: "https://doc.libsodium.org/public-key_cryptography/sealed_boxes",
    properties: &["confidential", "authenticated", "sender-hidden", "recipients-hidden"],
    max_members: 100_000,
    group: |members| Ok(Box::new(Libsodium::new(members, true)?)),
};

pub(crate) const X25519: Subject = Subject {
    name: "libsodium-native-x25519",
    about: "as libsodium-native, to X25519 keys that were converted before",
    group: |members| Ok(Box::new(Libsodium::new(members, false)?)),
    ..CONVERTING
};

struct Libsodium {
    ed25519: Vec<crypto_sign::PublicKey>,
    x25519: Vec<crypto_box::PublicKey>,
    secrets: Vec<SecretKey>,
    converts: bool,
}

impl Libsodium {
    fn new(members: usize, converts: bool) -> Result<Self, Box<dyn Error>> {
        libsodium_rs::ensure_init()?;
        let members = Member::group(members)?;
        let ed25519 = |it: &Member| crypto_sign::PublicKey::from_bytes(&it.ed25519);
        let x25519 = |it: &Member| crypto_box::PublicKey::from_bytes(&it.x25519);
        let secret = |it: &Member| SecretKey::from_bytes(&it.x25519_secret);
        Ok(Self {
            ed25519: members.iter().map(ed25519).collect::<Result<_, _>>()?,
            x25519: members.iter().map(x25519).collect::<Result<_, _>>()?,
            secrets: members.iter().map(secret).collect::<Result<_, _>>()?,
            converts,
        })
    }
}

impl Group for Libsodium {
    fn seal(&self, content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let slots = self.x25519.len() * SLOT;
        let mut envelope = Vec::with_capacity(4 + slots + 24 + content.len() + 16);
        envelope.extend_from_slice(&u32::try_from(self.x25519.len())?.to_le_bytes());
        let key = Key::generate();
        if self.converts {
            for member in &self.ed25519 {
                let member = crypto_sign::ed25519_pk_to_curve25519(member)?;
                let member = crypto_box::PublicKey::from_bytes(&member)?;
                envelope.extend_from_slice(&crypto_box::seal_box(key.as_bytes(), &member)?);
            }
        } else {
            for member in &self.x25519 {
                envelope.extend_from_slice(&crypto_box::seal_box(key.as_bytes(), member)?);
            }
        }
        let nonce = Nonce::generate();
        envelope.extend_from_slice(nonce.as_bytes());
        envelope.extend_from_slice(&aead::encrypt(content, None, &nonce, &key)?);
        Ok(envelope)
    }

    fn open(&self, member: usize, envelope: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut rest = envelope;
        let slot = take_slots::<SLOT>(&mut rest)?.get(member).ok_or("no slot for this member")?;
        let nonce = Nonce::from_bytes(*take(&mut rest)?);
        let public = self.x25519.get(member).ok_or("no such member")?;
        let secret = self.secrets.get(member).ok_or("no such member")?;
        let key = Key::from_bytes(&crypto_box::open_sealed_box(slot, public, secret)?)?;
        Ok(aead::decrypt(rest, None, &nonce, &key)?)
    }
}
