//! ML-DSA-65 signing is the same in both builds.

use endseal_crypto::hazmat;
#[cfg(feature = "aws-lc")]
use endseal_crypto::mldsa65::SystemSigningKey;
use endseal_crypto::mldsa65::{Seed, SignError, SigningKey};
use endseal_crypto::random::{Random, RandomError};

/// A random source with fixed bytes, or one that fails.
struct Fixed(Option<u8>);

impl Random for Fixed {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill(self.0.ok_or_else(RandomError::default)?);
        Ok(())
    }
}

#[test]
fn a_signature_is_hedged_by_the_given_source() {
    let key = SigningKey::from_seed(Seed::from_bytes(&[1; 32]));
    let sign = |byte| key.sign(b"message", b"context", &mut Fixed(byte));
    let (one, other) = (sign(Some(5)).unwrap(), sign(Some(6)).unwrap());
    assert_ne!(one, other);
    assert_eq!(one, sign(Some(5)).unwrap());
    assert_eq!(Ok(one.clone()), hazmat::mldsa65_sign(&key, b"message", b"context", &[5; 32]));
    for signature in [one, other] {
        assert_eq!(key.public_key().verify(b"message", b"context", &signature), Ok(()));
    }
}

#[test]
fn what_cannot_be_signed_is_an_error() {
    let key = SigningKey::from_seed(Seed::from_bytes(&[1; 32]));
    assert_eq!(key.sign(b"m", b"", &mut Fixed(None)), Err(SignError::Random));
    let long = key.sign(b"m", &[7; 256], &mut Fixed(Some(5)));
    assert_eq!(long, Err(SignError::ContextTooLong));
    assert!(key.sign(b"m", &[7; 255], &mut Fixed(Some(5))).is_ok());
}

#[cfg(feature = "aws-lc")]
#[test]
fn the_systems_signatures_are_hedged_and_of_the_same_key() {
    let seed = Seed::from_bytes(&[1; 32]);
    let system = SystemSigningKey::from_seed(&seed).unwrap();
    let public = SigningKey::from_seed(seed).public_key().clone();
    let sign = || system.sign(b"message", b"context").unwrap();
    let (one, other) = (sign(), sign());
    assert_ne!(one, other);
    for signature in [one, other] {
        assert_eq!(public.verify(b"message", b"context", &signature), Ok(()));
        assert!(public.verify(b"message", b"", &signature).is_err());
    }
    assert_eq!(system.sign(b"m", &[7; 256]), Err(SignError::ContextTooLong));
}
