//! Certificates, prekey bundles, addresses and safety numbers of devices.

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::x25519;
use endseal_keyring::device::{
    Address, Certificate, CertificateError, DeviceId, DeviceKeys, PrekeyBundle, PrekeyKind,
    SafetyNumber, Succession,
};
use endseal_testing::SplitMix64;

fn identity(n: u8) -> SigningKey {
    SigningKey::from_seed(Seed::from_bytes(&[n; 32]))
}

fn keys(n: u8) -> DeviceKeys {
    DeviceKeys {
        device: DeviceId::new(1).unwrap(),
        peer_id: PeerId::from_bytes(&[n; 32]),
        agreement: x25519::SecretKey::from_bytes(&[n; 32]).public_key(),
        signing: *identity(n ^ 0x40).public_key(),
        group: *identity(n ^ 0x80).public_key(),
    }
}

#[test]
fn a_certificate_is_what_was_issued() {
    let keys = keys(7);
    let issued = Certificate::issue(&identity(7), &keys, 5);
    let certificate = Certificate::from_bytes(issued.as_bytes()).unwrap();
    assert_eq!(certificate, issued);
    assert_eq!((certificate.keys(), certificate.made_at()), (&keys, 5));
    assert_eq!(Certificate::agreement_in(issued.as_bytes()), Some(keys.agreement));
    let address =
        Address { identity: *identity(7).public_key(), device: DeviceId::new(1).unwrap() };
    assert_eq!(certificate.address(), address);
}

#[test]
fn a_certificate_by_another_identity_is_forged() {
    let certificate = Certificate::issue(&identity(7), &keys(7), 5);
    let mut bytes = *certificate.as_bytes();
    bytes[1..33].copy_from_slice(identity(8).public_key().as_bytes());
    assert_eq!(Certificate::from_bytes(&bytes), Err(CertificateError::Authentication));
}

#[test]
fn the_later_certificate_holds() {
    let of = |keys: &DeviceKeys, time| Certificate::issue(&identity(1), keys, time);
    let seen = of(&keys(1), 5);
    let other = DeviceKeys { device: seen.keys().device, ..keys(2) };
    assert_eq!(of(seen.keys(), 5).succession(&seen), Succession::Same);
    assert_eq!(of(seen.keys(), 6).succession(&seen), Succession::Later);
    assert_eq!(of(&other, 6).succession(&seen), Succession::Later);
    assert_eq!(of(&other, 4).succession(&seen), Succession::Earlier);
    assert_eq!(of(&other, 5).succession(&seen), Succession::Conflict);
}

#[test]
fn addresses_have_names_and_an_order() {
    let address = |n, device| Address {
        identity: *identity(n).public_key(),
        device: DeviceId::new(device).unwrap(),
    };
    assert_eq!(DeviceId::new(0), None);
    let prefix: String =
        identity(1).public_key().as_bytes()[..8].iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(address(1, 4_294_967_295).to_string(), format!("{prefix}/4294967295"));
    assert!(address(1, 2) < address(1, 10));
    let by_identity = identity(1).public_key() < identity(2).public_key();
    assert_eq!(address(1, 9) < address(2, 1), by_identity);
}

#[test]
fn safety_numbers_are_of_two_and_in_no_order() {
    let key = |n| *identity(n).public_key();
    let number = SafetyNumber::of(&key(1), &key(2));
    assert_eq!(number, SafetyNumber::of(&key(2), &key(1)));
    assert_ne!(number, SafetyNumber::of(&key(1), &key(3)));
    let text = number.to_string();
    let groups: Vec<_> = text.split(' ').collect();
    assert_eq!(groups.len(), SafetyNumber::GROUPS);
    for (group, number) in groups.iter().zip(number.groups()) {
        assert_eq!((group.len(), group.parse()), (5, Ok(*number)));
    }
}

/// 20,000 mutants of each format. A mutant that is accepted must be written as it was read.
#[test]
fn mutants_are_refused_or_are_what_they_say() {
    let certificate = Certificate::issue(&identity(1), &keys(1), 5);
    let prekey = keys(2).agreement;
    let bundle = PrekeyBundle::issue(&certificate, PrekeyKind::OneTime, prekey, 7, |message| {
        identity(1 ^ 0x40).sign(message)
    });
    let (certificate, bundle) = (certificate.as_bytes(), bundle.as_bytes());
    assert!(PrekeyBundle::from_bytes(bundle).is_ok());
    let mut random = SplitMix64::new(1);
    let mut seen = [0; 2];
    for _ in 0..20_000 {
        let mutant = random.mutant(certificate);
        match Certificate::from_bytes(&mutant) {
            Ok(parsed) => assert!(parsed.as_bytes()[..] == mutant && mutant == certificate),
            Err(CertificateError::Authentication) => seen[0] += 1,
            Err(_) => seen[1] += 1,
        }
        let mutant = random.mutant(bundle);
        if let Ok(parsed) = PrekeyBundle::from_bytes(&mutant) {
            assert!(parsed.as_bytes()[..] == mutant && mutant == bundle);
        }
    }
    assert!(seen.iter().all(|count| *count > 1_000), "{seen:?}");
}
