//! `straight` with a sender: the closest to endseal that common libraries provide.
//!
//! An Ed25519 signature (aws-lc-rs) over the ephemeral key and the content's SHA-256 is sealed with
//! the content, so that outsiders do not see the sender. A recipient knows the content key, but can
//! neither sign other content for the sender nor make slots for the signed ephemeral key.
//!
//!     straight's header | sealed: sender (32), signature (64), content | tag (16)
//!
//! Settings follow <https://docs.rs/aws-lc-rs/1.19.0/aws_lc_rs/signature/>, and `straight`.

use std::error::Error;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use super::straight::Straight;
use super::{Group, Subject, straight, take};
use crate::content;
use crate::members::Member;

const LABEL: &[u8; 34] = b"endseal benchmark: straight signed";
const OVERHEAD: usize = 32 + 64 + 16;

pub(crate) const SUBJECT: Subject = Subject {
    name: "straight-signed",
    about: "straight with an Ed25519 signature over ephemeral key and content digest inside",
    settings: "https://docs.rs/aws-lc-rs/1.19.0/aws_lc_rs/signature/",
    properties: &["confidential", "authenticated", "sender", "insider", "sender-hidden"],
    group: |members| Ok(Box::new(Signed::new(members)?)),
    ..straight::SUBJECT
};

struct Signed {
    group: Straight,
    /// Signing key of the first member, which sends. The others know its public key.
    sender: Ed25519KeyPair,
}

impl Signed {
    fn new(members: usize) -> Result<Self, Box<dyn Error>> {
        let sender = Ed25519KeyPair::from_seed_unchecked(&Member::numbered(0)?.seed)?;
        Ok(Self { group: Straight::new(members)?, sender })
    }
}

impl Group for Signed {
    fn seal(&self, content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let (mut envelope, header) = self.group.seal_header(OVERHEAD + content.len())?;
        let signature = self.sender.try_sign(&signed(&header.ephemeral, content))?;
        let sender = self.sender.public_key().as_ref();
        content::seal(&header.content_key, &[sender, signature.as_ref(), content], &mut envelope)?;
        Ok(envelope)
    }

    fn open(&self, member: usize, envelope: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let (header, sealed) = self.group.open_header(member, envelope)?;
        let mut opened = content::open(&header.content_key, sealed)?;
        let mut content = opened.as_slice();
        let sender: &[u8; 32] = take(&mut content)?;
        let signature: &[u8; 64] = take(&mut content)?;
        if sender != self.sender.public_key().as_ref() {
            return Err("the sender is not known".into());
        }
        UnparsedPublicKey::new(&ED25519, sender)
            .verify(&signed(&header.ephemeral, content), signature)?;
        opened.drain(..32 + 64);
        Ok(opened)
    }
}

/// Returns the message that is signed.
fn signed(ephemeral: &[u8; 32], content: &[u8]) -> [u8; 34 + 32 + 32] {
    let mut message = [0; 34 + 32 + 32];
    message[..34].copy_from_slice(LABEL);
    message[34..66].copy_from_slice(ephemeral);
    message[66..].copy_from_slice(digest(&SHA256, content).as_ref());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the property `insider`, which `straight` alone does not have.
    #[test]
    fn a_member_cannot_change_what_another_one_reads() {
        let group = Signed::new(3).unwrap();
        let envelope = group.seal(b"as signed").unwrap();
        let (header, sealed) = group.group.open_header(1, &envelope).unwrap();
        let mut opened = content::open(&header.content_key, sealed).unwrap();
        let start = envelope.len() - sealed.len();

        let mut again = envelope[..start].to_vec();
        content::seal(&header.content_key, &[&opened], &mut again).unwrap();
        assert_eq!(group.open(2, &again).unwrap(), b"as signed");

        opened[32 + 64..].copy_from_slice(b"as forged");
        let mut forged = envelope[..start].to_vec();
        content::seal(&header.content_key, &[&opened], &mut forged).unwrap();
        assert!(group.open(2, &forged).is_err());
    }
}
