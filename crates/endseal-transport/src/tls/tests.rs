//! Tests of the signed data and its signature scheme. For QUIC, rustls outputs its messages before
//! encryption, so a handshake in memory shows content that a capture does not.

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;

use super::*;

const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;

#[test]
fn both_sides_sign_with_the_policys_scheme_and_show_raw_keys() {
    for (policy, code, signature_len) in [
        (Policy::Hybrid, [0x09, 0x05], 3309),
        (Policy::MlKem768Only, [0x09, 0x05], 3309),
        (Policy::Classical, [0x08, 0x07], 64),
    ] {
        let key = || {
            let identity = Identity::generate(&mut OsRandom).unwrap();
            if policy.is_post_quantum() {
                TransportKey::new(&identity)
            } else {
                TransportKey::classical(&identity)
            }
        };
        let (one, two) = (key(), key());
        let (client, messages) = in_memory::run(policy, &one, &two).unwrap();
        let group = client.negotiated_key_exchange_group().unwrap().name();
        assert_eq!(u16::from(group), policy.group().number);
        for (said, key) in [(&messages.from_client, &one), (&messages.from_server, &two)] {
            let verify = message(said, CERTIFICATE_VERIFY);
            assert_eq!(verify[..2], code);
            assert_eq!(verify.len(), 2 + 2 + signature_len);
            let certificate = message(said, CERTIFICATE);
            let spki = certificate.windows(key.spki().len()).any(|part| part == key.spki());
            assert!(spki, "the key stands there as it is");
            assert!(certificate.len() < key.spki().len() + 16, "and nothing else");
        }
    }
}

/// Returns the body of the message of type `kind` (RFC 8446, 4).
fn message(mut said: &[u8], kind: u8) -> Vec<u8> {
    loop {
        let length = usize::from(said[2]) << 8 | usize::from(said[3]);
        let (one, rest) = said.split_at(4 + length);
        if one[0] == kind {
            return one[4..].to_vec();
        }
        said = rest;
    }
}
