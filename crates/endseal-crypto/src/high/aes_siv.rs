//! AES-256-SIV (RFC 5297): deterministic authenticated encryption, for short strings that must be
//! found again by their ciphertext.
//!
//! The same plaintext with the same associated data gives the same ciphertext, so a reader of
//! ciphertexts sees which are equal. Nothing else is revealed. Content belongs into
//! [`segment`](crate::segment).

use alloc::vec::Vec;

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;

use super::segment::AuthenticationFailed;

/// Number of bytes by which a ciphertext is longer than its plaintext.
pub const OVERHEAD: usize = aes_siv::siv::IV_SIZE;

crate::secret_bytes! {
    /// Seals names: 32 bytes for the synthetic IV and 32 for the encryption. Uniformly random.
    pub struct SivKey[64];
}

/// `AES-SIV(key, associated data, plaintext)`: the synthetic IV (16), then as many bytes as
/// `plaintext`. `associated_data` is one string of S2V, also if it is empty.
#[must_use]
#[allow(clippy::missing_panics_doc, clippy::expect_used)]
pub fn seal(key: &SivKey, associated_data: &[u8], plaintext: &[u8]) -> Vec<u8> {
    Aes256Siv::new(key.expose_secret().into())
        .encrypt([associated_data], plaintext)
        .expect("fails only with more than 126 strings of associated data")
}

/// Opens a ciphertext that [`seal`] made, and returns its plaintext.
///
/// # Errors
/// [`AuthenticationFailed`] if the key or the associated data is another one, or the ciphertext was
/// changed.
pub fn open(
    key: &SivKey,
    associated_data: &[u8],
    sealed: &[u8],
) -> Result<Vec<u8>, AuthenticationFailed> {
    Aes256Siv::new(key.expose_secret().into())
        .decrypt([associated_data], sealed)
        .map_err(|_| AuthenticationFailed)
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;

    fn key() -> SivKey {
        SivKey::init_with(|key| {
            for (byte, i) in key.iter_mut().zip(0..) {
                *byte = i;
            }
        })
    }

    /// Computed with OpenSSL (Python's cryptography 48.0.0).
    #[test]
    fn known_answers() {
        let cases: [(&[u8], &[u8], &str); 4] = [
            (b"", b"name", "ea66fbdb33249b03240cd91158ba52a1df3922c4"),
            (b"a/", b"name", "b1dfb77ec40685655cb36363587061db3f78dc33"),
            (
                &b"a/".repeat(20),
                b"sixteen bytes in",
                "799fb8855a9e0ef92d8a00d3f88a616c1bb1b761c9a5b0f5c7dc9465fe7fa89e",
            ),
            (
                b"x",
                b"a name that is longer than a block",
                "8230213fecf399886117365d2d90a0f895aaea1ca02af5e0c6feb11367fe29df98609a6549afcd4c\
                 695c076f255749547083",
            ),
        ];
        for (associated_data, plaintext, expected) in cases {
            let sealed = seal(&key(), associated_data, plaintext);
            let hex: String = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected);
            let opened = open(&key(), associated_data, &sealed);
            assert_eq!(opened.as_deref(), Ok(plaintext));
        }
    }

    #[test]
    fn what_differs_is_refused() {
        let sealed = seal(&key(), b"a/", b"name");
        assert_eq!(open(&key(), b"a/", &sealed).as_deref(), Ok(&b"name"[..]));
        assert_eq!(open(&key(), b"b/", &sealed), Err(AuthenticationFailed));
        assert_eq!(open(&SivKey::from_bytes(&[1; 64]), b"a/", &sealed), Err(AuthenticationFailed));
        for i in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[i] ^= 1;
            assert_eq!(open(&key(), b"a/", &changed), Err(AuthenticationFailed), "byte {i}");
            assert_eq!(open(&key(), b"a/", &sealed[..i]), Err(AuthenticationFailed), "cut to {i}");
        }
    }
}
