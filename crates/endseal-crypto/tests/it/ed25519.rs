//! Verification with the cofactor has the same verdict for single signatures and in a batch.

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use curve25519_dalek::edwards::CompressedEdwardsY;
use curve25519_dalek::scalar::Scalar;
use endseal_crypto::ed25519::{
    InvalidPublicKey, PublicKey, Seed, Signature, Signed, SigningKey, VerifyingKey, verify_many,
};
use sha2::{Digest, Sha512};

fn key(i: u8) -> SigningKey {
    SigningKey::from_seed(Seed::from_bytes(&[i; 32]))
}

#[test]
fn rfc8032_test_1() {
    let seed = unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let key = SigningKey::from_seed(Seed::from_bytes(&seed));
    assert_eq!(
        key.public_key().as_bytes(),
        &unhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    );
    let signature = key.sign(b"");
    assert_eq!(
        signature.as_bytes()[..32],
        unhex("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
    );
    key.public_key().verify(b"", &signature).unwrap();
}

#[test]
fn a_batch_finds_one_wrong_signature_in_many() {
    let keys: Vec<_> = (0..7).map(key).collect();
    let verifying: Vec<_> = keys
        .iter()
        .map(|key| VerifyingKey::from_bytes(key.public_key().as_bytes()).unwrap())
        .collect();
    let messages: Vec<_> = (0..200_u32).map(u32::to_le_bytes).collect();
    let mut signatures: Vec<_> =
        messages.iter().zip((0..7).cycle()).map(|(m, k): (_, usize)| keys[k].sign(m)).collect();
    let batch = |signatures: &[Signature]| {
        let signed: Vec<_> = messages
            .iter()
            .zip(signatures)
            .zip((0..7).cycle())
            .map(|((message, signature), k): (_, usize)| Signed {
                key: &verifying[k],
                message,
                signature,
            })
            .collect();
        verify_many(&signed).map_err(drop)
    };
    assert_eq!(batch(&signatures), Ok(()));
    for byte in [0, 31, 32, 62] {
        for position in [0, 99, 199] {
            let right = signatures[position];
            let mut wrong = *right.as_bytes();
            wrong[byte] ^= 1;
            signatures[position] = Signature::from_bytes(&wrong);
            assert_eq!(batch(&signatures), Err(()), "{byte} {position}");
            signatures[position] = right;
        }
    }
    signatures.swap(3, 10);
    assert_eq!(batch(&signatures), Err(()), "same key, other message");
    assert_eq!(verify_many(&[]), Ok(()));
}

/// Signatures that only their signer can make, with R or A outside the prime-order subgroup.
#[test]
fn torsion_has_one_verdict_in_single_and_batch() {
    let secret = Scalar::from(0x1234_5678_u64);
    for (t, torsion) in EIGHT_TORSION.iter().enumerate() {
        for torsion_in_key in [false, true] {
            let a = ED25519_BASEPOINT_POINT * secret;
            let a = if torsion_in_key { a + torsion } else { a };
            let nonce = Scalar::from(0x9abc_def0_u64);
            let r = ED25519_BASEPOINT_POINT * nonce;
            let r = if torsion_in_key { r } else { r + torsion };
            let (a, r) = (a.compress().to_bytes(), r.compress().to_bytes());
            let k: [u8; 64] =
                Sha512::new().chain_update(r).chain_update(a).chain_update(b"m").finalize().into();
            let s = nonce + Scalar::from_bytes_mod_order_wide(&k) * secret;
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&r);
            bytes[32..].copy_from_slice(s.as_bytes());
            let (public, signature) =
                (VerifyingKey::from_bytes(&a).unwrap(), Signature::from_bytes(&bytes));
            assert_eq!(public.verify(b"m", &signature), Ok(()), "torsion {t}");
            assert_eq!(public.public_key().verify(b"m", &signature), Ok(()), "torsion {t}");
            assert!(PublicKey::from_signed(&a, b"m", &signature).is_ok(), "torsion {t}");
            assert!(PublicKey::from_signed(&a, b"n", &signature).is_err());
            let signed = Signed { key: &public, message: b"m", signature: &signature };
            // A batch of one, and larger ones, in which weights could cancel by chance.
            for n in [1, 2, 3, 50] {
                assert_eq!(verify_many(&vec![signed; n]), Ok(()), "torsion {t}, batch {n}");
            }
        }
    }
}

#[test]
fn keys_that_are_refused() {
    for point in &EIGHT_TORSION {
        let bytes = point.compress().to_bytes();
        assert_eq!(PublicKey::from_bytes(&bytes), Err(InvalidPublicKey::LowOrder));
        assert_eq!(
            PublicKey::from_bytes_many(&[*key(1).public_key().as_bytes(), bytes]),
            Err((1, InvalidPublicKey::LowOrder))
        );
    }
    let mut p = [0xff; 32];
    (p[0], p[31]) = (0xed, 0x7f);
    let mut one_negative = [0; 32];
    (one_negative[0], one_negative[31]) = (1, 0x80);
    let mut minus_one_negative = [0xff; 32];
    minus_one_negative[0] = 0xec;
    for bytes in [p, [0xff; 32], one_negative, minus_one_negative] {
        assert_eq!(PublicKey::from_bytes(&bytes), Err(InvalidPublicKey::NotCanonical));
        assert_eq!(PublicKey::from_bytes_many(&[bytes]), Err((0, InvalidPublicKey::NotCanonical)));
    }
    for bytes in [p, [0xff; 32], one_negative, minus_one_negative, [0; 32]] {
        // A key of low order and R = identity, S = 0 satisfy the equation for any message.
        let mut forged = [0; 64];
        forged[0] = 1;
        let forged = Signature::from_bytes(&forged);
        assert!(PublicKey::from_signed(&bytes, b"m", &forged).is_err());
    }
    let mut two = [0; 32];
    two[0] = 2;
    assert_eq!(PublicKey::from_bytes(&two), Err(InvalidPublicKey::NotOnCurve));
    assert_eq!(PublicKey::from_bytes_many(&[two]), Err((0, InvalidPublicKey::NotOnCurve)));
}

#[test]
fn single_and_batch_check_of_keys_agree() {
    let mut keys = Vec::new();
    for i in 0..2000_u32 {
        let digest = endseal_crypto::hash::digest(&i.to_le_bytes());
        keys.push(digest);
    }
    let mut valid = 0;
    for bytes in &keys {
        let one = PublicKey::from_bytes(bytes);
        let many = PublicKey::from_bytes_many(&[*key(1).public_key().as_bytes(), *bytes]);
        assert_eq!(one.err(), many.err().map(|(_, reason)| reason));
        valid += u32::from(one.is_ok());
    }
    assert!((800..1200).contains(&valid), "half of all encodings are points: {valid}");
}

fn unhex(text: &str) -> [u8; 32] {
    core::array::from_fn(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap())
}

/// Returns true if the key is accepted alone and among others, which other code computes.
fn is_of_prime_order(bytes: &[u8; 32]) -> bool {
    let (good, key) = (*key(1).public_key(), PublicKey::from_bytes(bytes).unwrap());
    let alone = PublicKey::check_prime_order(&[key]);
    let many = [&[good; 8][..], &[key, good]].concat();
    assert_eq!(PublicKey::check_prime_order(&many), alone.map_err(|(_, reason)| (8, reason)));
    alone.is_ok()
}

#[test]
fn the_check_of_the_order_is_that_of_a_library() {
    let mut of_prime_order = 0;
    for i in 0..500_u32 {
        let bytes = endseal_crypto::hash::digest(&i.to_le_bytes());
        if PublicKey::from_bytes(&bytes).is_ok() {
            let point = CompressedEdwardsY(bytes).decompress().unwrap();
            assert_eq!(is_of_prime_order(&bytes), point.is_torsion_free());
            of_prime_order += u32::from(point.is_torsion_free());
        }
    }
    assert!((15..50).contains(&of_prime_order), "one point in eight: {of_prime_order}");
    assert_eq!(PublicKey::check_prime_order(&[]), Ok(()));
}

#[test]
fn a_key_and_a_torsion_point_are_of_mixed_order() {
    for i in 1..20 {
        let point = CompressedEdwardsY(*key(i).public_key().as_bytes()).decompress().unwrap();
        for (t, torsion) in EIGHT_TORSION.iter().enumerate() {
            let bytes = (point + torsion).compress().to_bytes();
            assert_eq!(is_of_prime_order(&bytes), t == 0, "key {i}, torsion {t}");
        }
    }
    // The keys agree on the same secrets: their u differs, but X25519 does not.
    let bytes = unhex("ab83cb3149fdea5c838f2e5716ff9010a295d08d9c442da356b53bafea350975");
    let (one, other) = (*key(2).public_key(), PublicKey::from_bytes(&bytes).unwrap());
    let agree =
        |with: PublicKey| *key(3).to_x25519().agree(&with.to_x25519()).unwrap().expose_secret();
    assert_ne!(one.to_x25519(), other.to_x25519());
    assert_eq!(agree(one), agree(other));
    assert!(!is_of_prime_order(&bytes));
}
