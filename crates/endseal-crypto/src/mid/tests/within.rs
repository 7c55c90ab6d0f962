//! Ciphertext that is opened within its buffer, by every back end: only the place of the content is
//! written.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{aws_lc, bytes, hash, label, rustcrypto};
use crate::mid::aes_gcm;

type OpenWithin = Box<dyn Fn(&[u8; 12], &mut [u8], usize, &[u8; 16]) -> Result<(), ()>>;

fn back_ends(key: &[u8]) -> [OpenWithin; 3] {
    macro_rules! open {
        ($gcm:path) => {{
            let gcm = <$gcm>::new(key).unwrap();
            Box::new(move |nonce, buffer, from, tag| {
                gcm.open_within(nonce, b"data", buffer, from, tag)
            })
        }};
    }
    [open!(aws_lc::AesGcm), open!(rustcrypto::AesGcm), open!(aes_gcm::AesGcm)]
}

/// In the middle of a larger buffer, `from` bytes behind the place of the content.
fn check(
    open: &OpenWithin,
    nonce: &[u8; 12],
    sealed: &[u8],
    from: usize,
    tag: &[u8; 16],
) -> (Result<(), ()>, Vec<u8>) {
    const AROUND: [u8; 65] = [0xa5; 65];
    let before = [&AROUND[..], &alloc::vec![0x5a; from], sealed, &AROUND].concat();
    let mut buffer = before.clone();
    let end = AROUND.len() + from + sealed.len();
    let outcome = open(nonce, &mut buffer[AROUND.len()..end], from, tag);
    let content = AROUND.len()..AROUND.len() + sealed.len();
    assert_eq!(buffer[..content.start], before[..content.start], "before, {from}");
    assert_eq!(buffer[content.end..], before[content.end..], "behind, {from}");
    (outcome, buffer[content].to_vec())
}

#[test]
fn only_the_place_of_the_content_is_written() {
    let mut text = alloc::vec![0; 70_000];
    hash::derive_into(label::ENVELOPE_HEADER, &[b"plaintext"], &mut text);
    let long = [4_095, 4_096, 4_097, 8_191, 16_383, 16_384, 16_385, 16_400, 69_999];
    for (i, len) in (0..).zip((0..=1_100).chain(long)) {
        let (key, nonce, text) = (bytes::<32>("key", i), bytes("nonce", i), &text[..len]);
        let (mut sealed, mut tag) = (alloc::vec![0; len], [0; 16]);
        rustcrypto::AesGcm::new(&key).unwrap().seal_bound(
            &nonce,
            b"data",
            text,
            &mut sealed,
            &mut tag,
        );
        for open in back_ends(&key) {
            for from in [0, 1, 15, 16, 17, 64, 512, 47 * 16, 16_384] {
                let opened = check(&open, &nonce, &sealed, from, &tag);
                assert!(opened.0.is_ok() && opened.1 == text, "{len}, {from}");

                let refused = |sealed: &[u8], tag: &[u8; 16]| {
                    let (outcome, content) = check(&open, &nonce, sealed, from, tag);
                    assert!(outcome.is_err(), "{len}, {from}");
                    assert!(content.iter().all(|byte| *byte == 0), "nothing leaves: {len}, {from}");
                };
                let bit = len + from;
                let mut other_tag = tag;
                other_tag[bit / 8 % 16] ^= 1 << (bit % 8);
                refused(&sealed, &other_tag);
                if len > 0 {
                    let mut other = sealed.clone();
                    other[bit % len] ^= 1 << (bit % 8);
                    refused(&other, &tag);
                }
            }
        }
    }
}

type SealWithin = Box<dyn Fn(&[u8; 12], &mut [u8], usize) -> [u8; 16]>;

fn sealers(key: &[u8]) -> [SealWithin; 3] {
    macro_rules! seal {
        ($gcm:path) => {{
            let gcm = <$gcm>::new(key).unwrap();
            Box::new(move |nonce, buffer, from| gcm.seal_within(nonce, b"data", buffer, from))
        }};
    }
    [seal!(aws_lc::AesGcm), seal!(rustcrypto::AesGcm), seal!(aes_gcm::AesGcm)]
}

#[test]
fn what_is_sealed_within_its_buffer_is_what_is_sealed_to_another() {
    const AROUND: [u8; 65] = [0xa5; 65];
    let mut text = alloc::vec![0; 70_000];
    hash::derive_into(label::ENVELOPE_HEADER, &[b"plaintext"], &mut text);
    let long = [4_095, 4_096, 4_097, 8_191, 16_383, 16_384, 16_385, 16_400, 69_999];
    for (i, len) in (0..).zip((0..=1_100).chain(long)) {
        let (key, nonce, text) = (bytes::<32>("key", i), bytes("nonce", i), &text[..len]);
        let (mut expected, mut tag) = (alloc::vec![0; len], [0; 16]);
        let gcm = rustcrypto::AesGcm::new(&key).unwrap();
        gcm.seal_bound(&nonce, b"data", text, &mut expected, &mut tag);
        for seal in sealers(&key) {
            for from in [0, 1, 15, 16, 17, 64, 512, 47 * 16, 16_384] {
                let mut buffer = [&AROUND[..], &alloc::vec![0x5a; from], text, &AROUND].concat();
                let end = AROUND.len() + from + len;
                let own_tag = seal(&nonce, &mut buffer[AROUND.len()..end], from);
                assert!(buffer[AROUND.len()..][..len] == expected, "{len}, {from}");
                assert_eq!(own_tag, tag, "{len}, {from}");
                assert_eq!(
                    (&buffer[..65], &buffer[end..]),
                    (&AROUND[..], &AROUND[..]),
                    "{len}, {from}"
                );
            }
        }
    }
}
