//! A single agreement and a batch have the same result.

use endseal_crypto::ed25519::{PublicKey, Seed, SigningKey};
use endseal_crypto::x25519;

#[test]
fn both_sides_agree_through_ed25519_keys() {
    let (alice, bob) = (
        SigningKey::from_seed(Seed::from_bytes(&[1; 32])),
        SigningKey::from_seed(Seed::from_bytes(&[2; 32])),
    );
    let (a, b) = (alice.to_x25519(), bob.to_x25519());
    assert_eq!(a.public_key(), alice.public_key().to_x25519());
    let one = a.agree(&bob.public_key().to_x25519()).unwrap();
    let other = b.agree(&alice.public_key().to_x25519()).unwrap();
    assert!(one == other);
}

#[test]
fn many_keys_convert_as_one() {
    let keys: Vec<PublicKey> =
        (0..40).map(|i| *SigningKey::from_seed(Seed::from_bytes(&[i; 32])).public_key()).collect();
    let many = PublicKey::to_x25519_many(&keys);
    for (key, u) in keys.iter().zip(&many) {
        assert_eq!(key.to_x25519(), *u);
    }
    let secret = x25519::PreparedKey::new(x25519::SecretKey::from_bytes(&[9; 32]));
    let shared = secret.agree_many(&many);
    assert_eq!(shared.len(), many.len());
    for (outcome, u) in shared.expose_secrets().zip(&many) {
        assert_eq!(outcome.unwrap(), secret.agree(u).unwrap().expose_secret());
    }
}

#[test]
fn low_order_keys_are_refused_in_their_own_place() {
    let good = SigningKey::from_seed(Seed::from_bytes(&[1; 32])).public_key().to_x25519();
    let zero = x25519::PublicKey::from_bytes(&[0; 32]).unwrap();
    let mut one = [0; 32];
    one[0] = 1;
    let one = x25519::PublicKey::from_bytes(&one).unwrap();
    let secret = x25519::PreparedKey::new(x25519::SecretKey::from_bytes(&[9; 32]));
    assert!(secret.agree(&zero).is_err() && secret.agree(&one).is_err());
    let shared = secret.agree_many(&[good, zero, good, one, good]);
    let outcomes: Vec<_> = shared.expose_secrets().map(|outcome| outcome.is_ok()).collect();
    assert_eq!(outcomes, [true, false, true, false, true]);
}

#[test]
fn a_key_used_once_has_the_same_public_key_and_outcomes() {
    let keys: Vec<_> = (0..17)
        .map(|i| SigningKey::from_seed(Seed::from_bytes(&[i; 32])).public_key().to_x25519())
        .collect();
    for byte in [0, 9, 0xff] {
        let prepared = x25519::PreparedKey::new(x25519::SecretKey::from_bytes(&[byte; 32]));
        let once = x25519::SecretKey::from_bytes(&[byte; 32]);
        for platform in x25519::Platform::all() {
            for n in 0..=keys.len() {
                let (public, shared) = once.agree_once_on(platform, &keys[..n]);
                assert_eq!(public, *prepared.public_key(), "{n} keys");
                assert_eq!(shared.len(), n);
                for (outcome, key) in shared.expose_secrets().zip(&keys) {
                    assert_eq!(outcome.unwrap(), prepared.agree(key).unwrap().expose_secret());
                }
            }
        }
    }
}
