//! RSA signatures, compared with those of OpenSSL.

use endseal_crypto::rsa_oaep::PrivateKey;
use endseal_crypto::rsa_signature::SigningKey;
use endseal_crypto::sha256;

use crate::rsa_oaep::key;

/// SHA-256 of what `openssl dgst -sha256 -sign` (3.0) makes of `message` with the same keys.
const OF_OPENSSL: [(u32, &str); 2] = [
    (2048, "d32ac4852bc9f5e4c8488c43a4d9501104299ebed40d5c72789b1b51ada9d3ed"),
    (4096, "6ce641058046aea802533601bb909e5fbe572254bc8095ac3cac21aaafc6f046"),
];

#[test]
fn signatures_are_those_of_openssl() {
    for (bits, expected) in OF_OPENSSL {
        let key = SigningKey::from_pkcs8(&key(bits)).ok().unwrap();
        let signature = key.sign(b"message").unwrap();
        assert_eq!(signature.len(), bits as usize / 8);
        let digest: String =
            sha256::digest(&signature).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, expected);
        assert_ne!(key.sign(b"messagf").unwrap(), signature);
    }
}

#[test]
fn a_damaged_key_signs_nothing() {
    let good = key(2048);
    for len in (0..good.len()).step_by(13) {
        assert!(SigningKey::from_pkcs8(&good[..len]).is_err(), "{len}");
    }
    let public = PrivateKey::from_pkcs8(&good).ok().unwrap().public().spki().to_vec();
    assert!(SigningKey::from_pkcs8(&public).is_err());
}
