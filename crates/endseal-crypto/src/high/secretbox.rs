//! NaCl's `crypto_secretbox` (XSalsa20-Poly1305), for formats of others that are read.
//!
//! Formats of this project use [`segment`](crate::segment).

use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit as _;
use salsa20::XSalsa20;
use salsa20::cipher::{KeyIvInit as _, StreamCipher as _};

use crate::low::wipe::wipe;
use crate::secret::constant_time_eq;
use crate::segment::AuthenticationFailed;

/// Length of a key in bytes.
pub const KEY_LEN: usize = 32;
/// Length of a nonce in bytes.
pub const NONCE_LEN: usize = 24;
/// Length of the tag in bytes, which is before the ciphertext.
pub const TAG_LEN: usize = 16;

/// Decrypts a box where it lies, and returns its content, which is all but the first [`TAG_LEN`]
/// bytes.
///
/// The tag binds no key: a box can be made that opens under two keys.
///
/// # Errors
/// [`AuthenticationFailed`] if the key or the nonce is another one, or the box was changed, cut or
/// extended. Nothing is decrypted then.
pub fn open<'a>(
    key: &[u8; KEY_LEN],
    nonce: &[u8; NONCE_LEN],
    sealed: &'a mut [u8],
) -> Result<&'a mut [u8], AuthenticationFailed> {
    let (tag, text) = sealed.split_first_chunk_mut::<TAG_LEN>().ok_or(AuthenticationFailed)?;
    let mut stream = XSalsa20::new(key.into(), nonce.into());
    let mut tag_key = [0; 32];
    stream.apply_keystream(&mut tag_key);
    let expected = Poly1305::new((&tag_key).into()).compute_unpadded(text);
    wipe(&mut tag_key);
    if !constant_time_eq(&expected[..], &tag[..]) {
        return Err(AuthenticationFailed);
    }
    stream.apply_keystream(text);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::unhex::{unhex, unhex_array};

    /// The example of "Cryptography in NaCl" (Bernstein, 2009), sections 9 and 10.
    fn published() -> ([u8; KEY_LEN], [u8; NONCE_LEN], Vec<u8>) {
        let key = "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389";
        let nonce = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37";
        let sealed = "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d\
                      96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb8\
                      63d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da9983\
                      2b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5";
        (unhex_array(key), unhex_array(nonce), unhex(sealed))
    }

    #[test]
    fn the_published_box_opens() {
        let (key, nonce, mut sealed) = published();
        let text = open(&key, &nonce, &mut sealed).unwrap();
        let expected = "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd\
                        751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7f\
                        a1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a0\
                        89bc76897040e082f937763848645e0705";
        assert_eq!(text, unhex(expected));
    }

    #[test]
    fn every_change_is_refused() {
        let (key, nonce, sealed) = published();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&key, &nonce, &mut changed).is_err(), "byte {at}");
            assert!(open(&key, &nonce, &mut sealed[..at].to_vec()).is_err(), "cut to {at}");
        }
        for at in 0..KEY_LEN {
            let (mut other, mut changed) = (key, sealed.clone());
            other[at] ^= 1;
            assert!(open(&other, &nonce, &mut changed).is_err(), "byte {at} of the key");
        }
    }
}
