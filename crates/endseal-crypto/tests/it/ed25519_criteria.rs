//! Signatures on which implementations of Ed25519 disagree: the verdicts of docs/spec/envelope.md,
//! "Ed25519 verification", one by one and in a batch.

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::scalar::Scalar;
use endseal_crypto::ed25519::{
    PublicKey, Seed, Signature, Signed, SigningKey, VerifyingKey, verify_many,
};
use serde_json::Value;
use sha2::{Digest as _, Sha512};

fn verdict(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = &Signature::from_bytes(signature);
    let one = PublicKey::from_signed(key, message, signature).is_ok();
    let many = VerifyingKey::from_bytes(key).is_ok_and(|key| {
        let signed = Signed { key: &key, message, signature };
        let outcomes = [1, 2, 9].map(|n| verify_many(&vec![signed; n]).is_ok());
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
        outcomes[0]
    });
    assert_eq!(one, many);
    one
}

/// ed25519-speccheck ("Taming the many EdDSAs", 2020). Accepted are 2 to 5: points of mixed order,
/// a low-order R, and a signature that only the equation with the cofactor accepts. Refused are
/// keys of low order (0, 1, 10, 11), S >= L (6, 7) and an R that is not canonical (8, 9).
#[test]
fn speccheck() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../vectors/third-party/ed25519-speccheck/cases.json"
    );
    let cases: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 12);
    for (i, case) in cases.iter().enumerate() {
        let bytes = |name: &str| unhex(case[name].as_str().unwrap());
        let (key, signature) = (bytes("pub_key"), bytes("signature"));
        let verdict =
            verdict(key.as_array().unwrap(), &bytes("message"), signature.as_array().unwrap());
        assert_eq!(verdict, (2..=5).contains(&i), "case {i}");
    }
}

/// Returns the fourteen encodings of points of low order, of which eight are canonical (ZIP 215).
fn encodings() -> [([u8; 32], bool); 14] {
    let zero = "0000000000000000000000000000000000000000000000000000000000000000";
    let zero_negative = "0000000000000000000000000000000000000000000000000000000000000080";
    let one = "0100000000000000000000000000000000000000000000000000000000000000";
    let one_negative = "0100000000000000000000000000000000000000000000000000000000000080";
    let minus_one = "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
    let minus_one_negative = "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    let p = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
    let p_negative = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    let p_and_one = "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
    let p_and_one_negative = "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    let order_8 = [
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ];
    [
        (zero, true),
        (zero_negative, true),
        (one, true),
        (one_negative, false),
        (minus_one, true),
        (minus_one_negative, false),
        (p, false),
        (p_negative, false),
        (p_and_one, false),
        (p_and_one_negative, false),
        (order_8[0], true),
        (order_8[1], true),
        (order_8[2], true),
        (order_8[3], true),
    ]
    .map(|(text, canonical)| (unhex(text).try_into().unwrap(), canonical))
}

/// The 196 cases of ZIP 215, which it accepts: S = 0, and key and R of low order in every encoding.
#[test]
fn zip_215_keys_of_low_order_are_refused() {
    let mut refused = 0;
    for (key, _) in encodings() {
        assert!(PublicKey::from_bytes(&key).is_err());
        assert!(PublicKey::from_bytes_many(&[key]).is_err());
        for (r, _) in encodings() {
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(&r);
            assert!(!verdict(&key, b"Zcash", &signature));
            refused += 1;
        }
    }
    assert_eq!(refused, 196);
}

/// R of low order under an honest key: S = k a satisfies the equation with the cofactor, so only
/// the encoding of R decides.
#[test]
fn an_r_of_low_order_is_accepted_in_its_canonical_encoding() {
    let signing = SigningKey::from_seed(Seed::from_bytes(&[3; 32]));
    let key = signing.public_key().as_bytes();
    let mut a = [0; 32];
    a.copy_from_slice(&Sha512::digest([3; 32])[..32]);
    a[0] &= 248;
    a[31] = a[31] & 127 | 64;
    let a = Scalar::from_bytes_mod_order(a);
    assert_eq!((a * ED25519_BASEPOINT_POINT).compress().as_bytes(), key);
    let mut accepted = 0;
    for (r, canonical) in encodings() {
        let k = Sha512::new().chain_update(r).chain_update(key).chain_update(b"m").finalize();
        let mut wide = [0; 64];
        wide.copy_from_slice(&k);
        let s = Scalar::from_bytes_mod_order_wide(&wide) * a;
        let signature = [r, s.to_bytes()].concat();
        assert_eq!(verdict(key, b"m", signature.as_array().unwrap()), canonical);
        accepted += u32::from(canonical);
    }
    assert_eq!(accepted, 8);
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}
