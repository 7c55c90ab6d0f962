//! AES-256-GCM (NIST SP 800-38D) with a nonce of 12 bytes, for formats of others that are read.
//!
//! Formats of this project use [`segment`](crate::segment).

use crate::low::wipe::wipe;
use crate::mid::aes_gcm::AesGcm;
use crate::segment::AuthenticationFailed;

/// Length of a key in bytes.
pub const KEY_LEN: usize = 32;
/// Length of a nonce in bytes.
pub const NONCE_LEN: usize = 12;
/// Length of a tag in bytes.
pub const TAG_LEN: usize = 16;

/// Decrypts `text` where it lies, if the tag is that of `data` and `text`.
///
/// # Errors
/// [`AuthenticationFailed`] if any of the inputs differs from that of encryption; `text` is then
/// wiped.
pub fn open(
    key: &[u8; KEY_LEN],
    nonce: &[u8; NONCE_LEN],
    data: &[u8],
    text: &mut [u8],
    tag: &[u8; TAG_LEN],
) -> Result<(), AuthenticationFailed> {
    let opened = AesGcm::new(key).map(|gcm| gcm.open_within(nonce, data, text, 0, tag));
    if opened == Some(Ok(())) {
        return Ok(());
    }
    wipe(text);
    Err(AuthenticationFailed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unhex::{unhex, unhex_array};

    /// Test case 16 of McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B.
    #[test]
    fn the_published_answer_opens_and_every_change_is_refused() {
        let key = unhex_array("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
        let nonce = unhex_array("cafebabefacedbaddecaf888");
        let data = unhex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
        let sealed = unhex(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b\
             1056828838c5f61e6393ba7a0abcc9f662",
        );
        let tag = unhex_array("76fc6ece0f4e1768cddf8853bb2d551b");
        let mut text = sealed.clone();
        open(&key, &nonce, &data, &mut text, &tag).unwrap();
        let expected = unhex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e\
             2449a6b525b16aedf5aa0de657ba637b39",
        );
        assert_eq!(text, expected);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&key, &nonce, &data, &mut changed, &tag).is_err());
            assert!(changed.iter().all(|byte| *byte == 0));
        }
        for at in 0..TAG_LEN {
            let mut changed = tag;
            changed[at] ^= 1;
            assert!(open(&key, &nonce, &data, &mut sealed.clone(), &changed).is_err());
        }
        assert!(open(&key, &nonce, &data[1..], &mut sealed.clone(), &tag).is_err());
    }
}
