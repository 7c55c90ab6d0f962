//! Secrets are wiped when dropped, and cannot be printed (the macro's `compile_fail` example).

use endseal_crypto::{
    aes_siv, argon2id, ed25519, hkdf_sha256, identity, key_wrap, mldsa65, mlkem768, secp256k1,
    segment, sha256, x25519,
};
use zeroize::ZeroizeOnDrop;

fn wiped<T: ZeroizeOnDrop>() {}

#[test]
fn every_secret_is_wiped_when_dropped() {
    wiped::<aes_siv::SivKey>();
    wiped::<argon2id::Stretched>();
    wiped::<ed25519::Seed>();
    wiped::<ed25519::SigningKey>();
    wiped::<hkdf_sha256::PseudorandomKey>();
    wiped::<identity::HedgeSecret>();
    wiped::<identity::StoreKey>();
    wiped::<key_wrap::Wrapper>();
    wiped::<key_wrap::WrappingKey>();
    wiped::<mldsa65::Seed>();
    wiped::<mldsa65::SigningKey>();
    wiped::<mlkem768::SecretKey>();
    wiped::<mlkem768::Seed>();
    wiped::<mlkem768::SharedSecret>();
    wiped::<secp256k1::SecretKey>();
    wiped::<secp256k1::SharedX>();
    wiped::<secp256k1::SigningKey>();
    wiped::<segment::ChunkKeys>();
    wiped::<segment::InputKey>();
    wiped::<segment::KeySource>();
    wiped::<segment::RawKeys>();
    wiped::<segment::SealKeys>();
    wiped::<sha256::HmacKey>();
    wiped::<sha256::Mac>();
    wiped::<x25519::PreparedKey>();
    wiped::<x25519::SecretKey>();
    wiped::<x25519::SharedSecret>();
    wiped::<x25519::SharedSecrets>();
}

#[test]
fn secrets_compare_and_length_is_theirs() {
    let a = x25519::SecretKey::from_bytes(&[1; 32]);
    let b = x25519::SecretKey::init_with(|bytes| bytes.fill(1));
    assert!(a == b);
    assert_eq!(x25519::SecretKey::LEN, a.expose_secret().len());
}
