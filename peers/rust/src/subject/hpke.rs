//! HPKE (RFC 9180) base mode, once for each member, by the crate `hpke`.
//!
//! DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM seal a content key; AES-256-GCM of
//! aws-lc-rs seals the content, because it is the fastest that a user of `hpke` can choose. Members
//! are known by Ed25519 keys, which are converted at each seal. Base mode has no sender. RFC 9180
//! leaves several recipients to the application: here a reader knows its position in the list, so
//! that it opens one slot and no key id is sent.
//!
//!     count (4) | count times: enc (32), sealed content key (48) | content | tag (16)
//!
//! Settings follow <https://docs.rs/hpke/0.15.1/hpke/> and
//! <https://www.rfc-editor.org/rfc/rfc9180.html#section-6.1>.

use std::error::Error;

use hpke::aead::AesGcm256;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};

use super::{Group, Subject, take_slots};
use crate::content;
use crate::members::{Member, to_x25519};

const INFO: &[u8] = b"endseal benchmark: content key";
const ENC: usize = 32;
const SLOT: usize = ENC + 32 + 16;

pub(crate) const SUBJECT: Subject = Subject {
    name: "hpke",
    about: "HPKE base mode (X25519, HKDF-SHA256, AES-256-GCM) once a member, from Ed25519 keys",
    crates: &["hpke", "curve25519-dalek", "aws-lc-rs"],
    settings: "https://docs.rs/hpke/0.15.1/hpke/",
    properties: &["confidential", "authenticated", "sender-hidden", "recipients-hidden"],
    max_members: 100_000,
    group: |members| Ok(Box::new(Hpke::new(members)?)),
};

struct Hpke {
    members: Vec<[u8; 32]>,
    secrets: Vec<<X25519HkdfSha256 as Kem>::PrivateKey>,
}

impl Hpke {
    fn new(members: usize) -> Result<Self, Box<dyn Error>> {
        let members = Member::group(members)?;
        let secret = |member: &Member| Deserializable::from_bytes(&member.x25519_secret);
        let secrets = members.iter().map(secret).collect::<Result<_, _>>()?;
        Ok(Self { members: members.iter().map(|member| member.ed25519).collect(), secrets })
    }
}

impl Group for Hpke {
    fn seal(&self, content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let slots = self.members.len() * SLOT;
        let mut envelope = Vec::with_capacity(4 + slots + content.len() + 16);
        envelope.extend_from_slice(&u32::try_from(self.members.len())?.to_le_bytes());
        let key = content::new_key()?;
        for member in &self.members {
            let member = Deserializable::from_bytes(&to_x25519(member)?)?;
            let (enc, wrapped) = hpke::single_shot_seal::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
                &OpModeS::Base,
                &member,
                INFO,
                &key,
                b"",
            )?;
            envelope.extend_from_slice(&enc.to_bytes());
            envelope.extend_from_slice(&wrapped);
        }
        content::seal(&key, &[content], &mut envelope)?;
        Ok(envelope)
    }

    fn open(&self, member: usize, envelope: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut rest = envelope;
        let slot = take_slots::<SLOT>(&mut rest)?.get(member).ok_or("no slot for this member")?;
        let (enc, wrapped) = slot.split_at(ENC);
        let key = hpke::single_shot_open::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            self.secrets.get(member).ok_or("no such member")?,
            &Deserializable::from_bytes(enc)?,
            INFO,
            wrapped,
            b"",
        )?;
        content::open(key.as_slice().try_into()?, rest)
    }
}
