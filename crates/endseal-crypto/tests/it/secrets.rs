//! Secrets are wiped when dropped, and cannot be printed (the macro's `compile_fail` example).

use endseal_crypto::{argon2id, ed25519, identity, mlkem768, segment, x25519};
use zeroize::ZeroizeOnDrop;

fn wiped<T: ZeroizeOnDrop>() {}

#[test]
fn every_secret_is_wiped_when_dropped() {
    wiped::<argon2id::Stretched>();
    wiped::<ed25519::Seed>();
    wiped::<identity::HedgeSecret>();
    wiped::<identity::StoreKey>();
    wiped::<mlkem768::Seed>();
    wiped::<mlkem768::SharedSecret>();
    wiped::<segment::InputKey>();
    wiped::<segment::KeySource>();
    wiped::<x25519::SecretKey>();
    wiped::<x25519::SharedSecret>();
}

#[test]
fn secrets_compare_and_length_is_theirs() {
    let a = x25519::SecretKey::from_bytes(&[1; 32]);
    let b = x25519::SecretKey::init_with(|bytes| bytes.fill(1));
    assert!(a == b);
    assert_eq!(x25519::SecretKey::LEN, a.expose_secret().len());
}
