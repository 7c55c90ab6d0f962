//! Opening many messages at once gives the same results as opening them one by one.

use endseal_session::group::{OpenError, Opened};

use super::device::{NOW, device, group_of};

#[test]
fn many_together_are_like_one_by_one() {
    let mut groups = group_of(4);
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for round in 0..40_u8 {
        for sender in [0, 1, 3] {
            messages.push(groups[sender].seal(&[round; 20]).unwrap());
        }
        if round % 13 == 5 {
            let commit = groups[1].update(NOW).unwrap().commit;
            groups[1].accept_pending().unwrap();
            groups[0].open(&commit).unwrap();
            groups[3].open(&commit).unwrap();
            messages.push(commit);
        }
    }
    // Reordered, repeated, damaged and own messages, and junk.
    messages.swap(3, 60);
    messages.swap(20, 25);
    messages.insert(30, messages[10].clone());
    let mut damaged = messages[90].clone();
    let end = damaged.len() - 1;
    damaged[end] ^= 4;
    messages.insert(88, damaged);
    messages.insert(50, groups[2].fork().seal(b"own").unwrap());
    messages.insert(5, b"junk".to_vec());

    let all: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    for size in [1, 3, 7, 50, all.len()] {
        let (mut one_by_one, mut together) = (groups[2].fork(), groups[2].fork());
        for some in all.chunks(size) {
            let expected: Vec<_> = some.iter().map(|body| one_by_one.open(body)).collect();
            assert_eq!(together.open_many(some), expected);
        }
        // Afterwards both are in the same state.
        let again: Vec<_> = all.iter().map(|body| one_by_one.open(body)).collect();
        assert_eq!(together.open_many(&all), again);
        assert_eq!(one_by_one.epoch(), together.epoch());
    }
}

/// A member knows the keys of all others, so only the signature shows who sent a message.
#[test]
fn a_wrong_signature_among_many_is_found() {
    use mls_rs::{CipherSuiteProvider, CryptoProvider};

    let mut groups = group_of(3);
    let mut messages: Vec<_> = (0..30_u8).map(|i| groups[0].seal(&[i; 40]).unwrap()).collect();
    // A device with the same leaf and another key makes signatures that no member can verify.
    let provider = mls_rs_crypto_awslc::AwsLcCryptoProvider::new();
    let suite = provider.cipher_suite_provider(mls_rs::CipherSuite::CURVE25519_AES128).unwrap();
    let (other, _) = suite.signature_key_generate().unwrap();
    let mut stored = super::device::Stored::default();
    let mut impostor = groups[0].fork();
    stored.write(impostor.save().unwrap());
    // The state contains the key of the device as it is: 64 bytes, seed and public key.
    let key = super::device::group_key(1);
    let public = key.public_key().as_bytes();
    let at = stored.state.windows(32).rposition(|window| window == public).unwrap();
    stored.state[at - 32..at + 32].copy_from_slice(&other);
    let forged = stored.load(&device(1)).seal(&[99; 40]).unwrap();
    messages.insert(17, forged.clone());

    let all: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let opened = groups[1].open_many(&all);
    for (i, result) in opened.iter().enumerate() {
        match i {
            17 => assert_eq!(*result, Err(OpenError::Authentication)),
            _ => assert!(matches!(result, Ok(Opened::Message { .. })), "{i}: {result:?}"),
        }
    }
    assert_eq!(groups[2].open(&forged), Err(OpenError::Authentication));
    // Its key, which the next genuine message uses, was not lost.
    let next = groups[0].seal(b"true").unwrap();
    assert!(groups[1].open(&next).is_ok());
}
