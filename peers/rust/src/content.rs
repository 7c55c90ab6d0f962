//! AES-256-GCM of aws-lc-rs for the content, for subjects whose library seals only keys.

use std::error::Error;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::error::Unspecified;

/// Returns a new key for a single content, so that its nonce can be zero.
pub(crate) fn new_key() -> Result<[u8; 32], Unspecified> {
    let mut key = [0; 32];
    aws_lc_rs::rand::fill(&mut key)?;
    Ok(key)
}

/// Seals the parts of a content as one, and appends the result and the tag.
pub(crate) fn seal(key: &[u8; 32], parts: &[&[u8]], to: &mut Vec<u8>) -> Result<(), Unspecified> {
    let start = to.len();
    for part in parts {
        to.extend_from_slice(part);
    }
    let tag =
        cipher(key)?.seal_in_place_separate_tag(zero_nonce(), Aad::empty(), &mut to[start..])?;
    to.extend_from_slice(tag.as_ref());
    Ok(())
}

pub(crate) fn open(key: &[u8; 32], sealed: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut content = sealed.to_vec();
    let length = cipher(key)?.open_in_place(zero_nonce(), Aad::empty(), &mut content)?.len();
    content.truncate(length);
    Ok(content)
}

pub(crate) fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

fn cipher(key: &[u8; 32]) -> Result<LessSafeKey, Unspecified> {
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key)?))
}
