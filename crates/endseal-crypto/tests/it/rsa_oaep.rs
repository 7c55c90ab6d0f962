//! RSA-OAEP keys: parsing and their limits.

use endseal_crypto::rsa_oaep::{EncryptError, PrivateKey, PublicKey};
use serde_json::Value;

pub(crate) fn key(bits: u32) -> Vec<u8> {
    let path = format!(
        "{}/../../vectors/third-party/wycheproof/rsa_oaep_{bits}_sha256_mgf1sha256_test.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let set: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let hex = set["testGroups"][0]["privateKeyPkcs8"].as_str().unwrap();
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..][..2], 16).unwrap()).collect()
}

#[test]
fn the_public_key_is_that_of_its_encoding() {
    let key = PrivateKey::from_pkcs8(&key(2048)).ok().unwrap();
    let public = PublicKey::from_spki(key.public().spki()).unwrap();
    assert_eq!(public.spki(), key.public().spki());
    let sealed = public.encrypt(b"label", b"message").unwrap();
    assert_eq!(key.decrypt(b"label", &sealed).unwrap()[..], b"message"[..]);
    assert!(key.decrypt(b"labem", &sealed).is_err());
    assert!(key.decrypt(b"", &sealed).is_err());
    assert!(key.decrypt(b"label", &sealed[1..]).is_err());
    for at in (0..sealed.len()).step_by(37) {
        let mut bad = sealed.clone();
        bad[at] ^= 1;
        assert!(key.decrypt(b"label", &bad).is_err(), "{at}");
    }
}

#[test]
fn a_plaintext_has_a_longest_length() {
    let key = PrivateKey::from_pkcs8(&key(2048)).ok().unwrap();
    let longest = [7; 190];
    let sealed = key.public().encrypt(b"", &longest).unwrap();
    assert_eq!(key.decrypt(b"", &sealed).unwrap()[..], longest);
    assert_eq!(key.public().encrypt(b"", &[7; 191]), Err(EncryptError::TooLong));
}

#[test]
fn what_is_no_key_is_refused() {
    let good = key(2048);
    for len in (0..good.len()).step_by(13) {
        assert!(PrivateKey::from_pkcs8(&good[..len]).is_err(), "{len}");
    }
    assert!(PublicKey::from_spki(&good).is_err());
    let public = PrivateKey::from_pkcs8(&good).ok().unwrap().public().spki().to_vec();
    assert!(PrivateKey::from_pkcs8(&public).is_err());
    assert!(PublicKey::from_spki(&public[..public.len() - 1]).is_err());
}
