//! An envelope built directly from good libraries, which takes an afternoon. It is not signed.
//!
//! Each envelope has one ephemeral X25519 key. For each member, curve25519-dalek converts its
//! Ed25519 key, and aws-lc-rs does X25519, HKDF-SHA256 and AES-256-GCM of the content key. A slot
//! starts with four bytes of the SHA-256 of the member's key, and slots are sorted by them, so that
//! a reader finds its own without trying. An observer that has a list of keys can therefore
//! identify the recipients.
//!
//!     ephemeral key (32) | count (4) | count times: key id (4), wrapped key (48)
//!     | content | tag (16)
//!
//! Settings follow <https://docs.rs/aws-lc-rs/1.19.0/aws_lc_rs/agreement/>,
//! <https://www.rfc-editor.org/rfc/rfc5869.html#section-3> (the context is in `info`) and
//! <https://docs.rs/curve25519-dalek/5.0.0/curve25519_dalek/>.

use std::error::Error;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

use super::{Group, Subject, take, take_slots};
use crate::content;
use crate::members::{Member, to_x25519};

const LABEL: &[u8] = b"endseal benchmark: straight";
const KEY_ID: usize = 4;
const SLOT: usize = KEY_ID + 32 + 16;
/// Returns the length of the header before the content, for `members` members.
const fn header_length(members: usize) -> usize {
    32 + 4 + members * SLOT
}

pub(crate) const SUBJECT: Subject = Subject {
    name: "straight",
    about: "one ephemeral key, dalek conversion, aws-lc-rs X25519, HKDF, AES-256-GCM; not signed",
    crates: &["aws-lc-rs", "curve25519-dalek"],
    settings: "https://docs.rs/aws-lc-rs/1.19.0/aws_lc_rs/agreement/",
    properties: &["confidential", "authenticated", "sender-hidden"],
    max_members: 100_000,
    group: |members| Ok(Box::new(Straight::new(members)?)),
};

pub(super) struct Straight {
    members: Vec<[u8; 32]>,
    readers: Vec<Reader>,
}

/// Keys of a member that opens envelopes.
struct Reader {
    key_id: [u8; KEY_ID],
    x25519: [u8; 32],
    secret: PrivateKey,
}

/// Parsed header of an envelope, with the content key.
pub(super) struct Header {
    pub(super) ephemeral: [u8; 32],
    pub(super) content_key: [u8; 32],
}

impl Straight {
    pub(super) fn new(members: usize) -> Result<Self, Box<dyn Error>> {
        let members = Member::group(members)?;
        let reader = |member: &Member| -> Result<Reader, Box<dyn Error>> {
            let secret = PrivateKey::from_private_key(&X25519, &member.x25519_secret)?;
            Ok(Reader { key_id: key_id(&member.ed25519), x25519: member.x25519, secret })
        };
        Ok(Self {
            readers: members.iter().map(reader).collect::<Result<_, _>>()?,
            members: members.iter().map(|member| member.ed25519).collect(),
        })
    }

    /// Builds a new envelope up to its content, with space for `capacity` more bytes.
    pub(super) fn seal_header(&self, capacity: usize) -> Result<(Vec<u8>, Header), Box<dyn Error>> {
        let secret = PrivateKey::generate(&X25519)?;
        let ephemeral: [u8; 32] = secret.compute_public_key()?.as_ref().try_into()?;
        let content_key = content::new_key()?;
        let salt = Salt::new(HKDF_SHA256, LABEL);
        let mut slots = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let x25519 = to_x25519(member)?;
            let key = wrapping_key(&salt, &secret, &x25519, &[&ephemeral, &x25519])?;
            let mut slot = [0; SLOT];
            let (id, wrapped) = slot.split_at_mut(KEY_ID);
            let (wrapped, tag) = wrapped.split_at_mut(32);
            id.copy_from_slice(&key_id(member));
            wrapped.copy_from_slice(&content_key);
            // The nonce can be zero, because the key is used once.
            let nonce = content::zero_nonce();
            tag.copy_from_slice(
                key.seal_in_place_separate_tag(nonce, Aad::empty(), wrapped)?.as_ref(),
            );
            slots.push(slot);
        }
        slots.sort_unstable();
        let mut envelope = Vec::with_capacity(header_length(slots.len()) + capacity);
        envelope.extend_from_slice(&ephemeral);
        envelope.extend_from_slice(&u32::try_from(slots.len())?.to_le_bytes());
        envelope.extend_from_slice(slots.as_flattened());
        Ok((envelope, Header { ephemeral, content_key }))
    }

    /// Opens the header as that member. Returns it with the sealed content.
    pub(super) fn open_header<'a>(
        &self,
        member: usize,
        envelope: &'a [u8],
    ) -> Result<(Header, &'a [u8]), Box<dyn Error>> {
        let mut rest = envelope;
        let ephemeral: [u8; 32] = *take(&mut rest)?;
        let slots = take_slots::<SLOT>(&mut rest)?;
        let reader = self.readers.get(member).ok_or("no such member")?;
        let salt = Salt::new(HKDF_SHA256, LABEL);
        let key = wrapping_key(&salt, &reader.secret, &ephemeral, &[&ephemeral, &reader.x25519])?;
        // Two members may have the same key id, so all slots with it are tried.
        let first = slots.partition_point(|slot| slot[..KEY_ID] < reader.key_id[..]);
        let own = slots[first..].iter().take_while(|slot| slot[..KEY_ID] == reader.key_id);
        for slot in own {
            let mut wrapped = [0; SLOT - KEY_ID];
            wrapped.copy_from_slice(&slot[KEY_ID..]);
            let nonce = content::zero_nonce();
            if let Ok(opened) = key.open_in_place(nonce, Aad::empty(), &mut wrapped) {
                return Ok((Header { ephemeral, content_key: (&*opened).try_into()? }, rest));
            }
        }
        Err("no slot for this member".into())
    }
}

impl Group for Straight {
    fn seal(&self, content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let (mut envelope, header) = self.seal_header(content.len() + 16)?;
        content::seal(&header.content_key, &[content], &mut envelope)?;
        Ok(envelope)
    }

    fn open(&self, member: usize, envelope: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let (header, sealed) = self.open_header(member, envelope)?;
        content::open(&header.content_key, sealed)
    }
}

fn wrapping_key(
    salt: &Salt,
    own: &PrivateKey,
    other: &[u8; 32],
    info: &[&[u8]; 2],
) -> Result<LessSafeKey, Unspecified> {
    agree(own, UnparsedPublicKey::new(&X25519, other), Unspecified, |shared| {
        let derived = salt.extract(shared);
        Ok(LessSafeKey::new(UnboundKey::from(derived.expand(info, &AES_256_GCM)?)))
    })
}

fn key_id(member: &[u8; 32]) -> [u8; KEY_ID] {
    let mut id = [0; KEY_ID];
    id.copy_from_slice(&digest(&SHA256, member).as_ref()[..KEY_ID]);
    id
}
