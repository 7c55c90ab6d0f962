//! XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03, section 2), as formats of others ask for it.
//!
//! Formats of this project use [`segment`](crate::segment).

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{AeadInOut as _, KeyInit as _};

use crate::low::wipe::wipe;
use crate::segment::AuthenticationFailed;

/// Length of a key in bytes.
pub const KEY_LEN: usize = 32;
/// Length of a nonce in bytes: it may be random.
pub const NONCE_LEN: usize = 24;
/// Length of a tag in bytes.
pub const TAG_LEN: usize = 16;

/// Encrypts `text` where it lies and returns the tag of `data` and ciphertext.
///
/// A key and a nonce MUST be used together once only.
#[must_use]
#[allow(clippy::missing_panics_doc, clippy::expect_used)]
pub fn seal(
    key: &[u8; KEY_LEN],
    nonce: &[u8; NONCE_LEN],
    data: &[u8],
    text: &mut [u8],
) -> [u8; TAG_LEN] {
    XChaCha20Poly1305::new(key.into())
        .encrypt_inout_detached(nonce.into(), data, text.into())
        .expect("fails only with more than 256 GiB")
        .into()
}

/// Decrypts `text` where it lies, if the tag is that of `data` and `text`.
///
/// The tag binds no key: a ciphertext can be made that opens under two keys.
///
/// # Errors
/// [`AuthenticationFailed`] if any of the five inputs differs from that of encryption; `text` is
/// wiped.
pub fn open(
    key: &[u8; KEY_LEN],
    nonce: &[u8; NONCE_LEN],
    data: &[u8],
    text: &mut [u8],
    tag: &[u8; TAG_LEN],
) -> Result<(), AuthenticationFailed> {
    let aead = XChaCha20Poly1305::new(key.into());
    let inout = (&mut *text).into();
    aead.decrypt_inout_detached(nonce.into(), data, inout, tag.into()).map_err(|_| {
        wipe(text);
        AuthenticationFailed
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unhex::unhex_array;

    const TEXT: &[u8] =
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip \
                          for the future, sunscreen would be it.";
    const DATA: [u8; 12] = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];

    fn key() -> [u8; KEY_LEN] {
        core::array::from_fn(|i| 0x80 + i.to_le_bytes()[0])
    }

    fn nonce() -> [u8; NONCE_LEN] {
        core::array::from_fn(|i| 0x40 + i.to_le_bytes()[0])
    }

    /// The test vector of the draft's appendix A.3.1.
    #[test]
    fn the_published_answer_is_given_and_opened() {
        let mut text = [0; TEXT.len()];
        text.copy_from_slice(TEXT);
        let tag = seal(&key(), &nonce(), &DATA, &mut text);
        assert_eq!(text[..16], unhex_array::<16>("bd6d179d3e83d43b9576579493c0e939"));
        assert_eq!(text[98..], unhex_array::<16>("664c97637da9768812f615c68b13b52e"));
        assert_eq!(tag, unhex_array::<16>("c0875924c1c7987947deafd8780acf49"));
        open(&key(), &nonce(), &DATA, &mut text, &tag).unwrap();
        assert_eq!(text, TEXT);
    }

    #[test]
    fn every_changed_byte_is_refused_and_nothing_is_left() {
        let mut sealed = [7; 40];
        let tag = seal(&key(), &nonce(), &DATA, &mut sealed);
        let refuses = |key: &_, nonce: &_, data: &[u8], text: &[u8; 40], tag: &_| {
            let mut text = *text;
            open(key, nonce, data, &mut text, tag) == Err(AuthenticationFailed) && text == [0; 40]
        };
        assert!(!refuses(&key(), &nonce(), &DATA, &sealed, &tag));
        for at in 0..40 {
            let flip = |bytes: &mut [u8]| bytes[at % bytes.len()] ^= 1 << (at % 8);
            let (mut k, mut n, mut d, mut s, mut t) = (key(), nonce(), DATA, sealed, tag);
            flip(&mut k);
            assert!(refuses(&k, &nonce(), &DATA, &sealed, &tag));
            flip(&mut n);
            assert!(refuses(&key(), &n, &DATA, &sealed, &tag));
            flip(&mut d);
            assert!(refuses(&key(), &nonce(), &d, &sealed, &tag));
            flip(&mut s);
            assert!(refuses(&key(), &nonce(), &DATA, &s, &tag));
            flip(&mut t);
            assert!(refuses(&key(), &nonce(), &DATA, &sealed, &t));
        }
        assert!(refuses(&key(), &nonce(), &DATA[..11], &sealed, &tag));
    }
}
