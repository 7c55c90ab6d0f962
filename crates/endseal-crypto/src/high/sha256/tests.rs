use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::unhex::{unhex, unhex_array};

/// Lengths around the ends of blocks and of the padding.
const LENGTHS: [usize; 17] =
    [0, 1, 31, 32, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 200, 1_000];

fn data() -> Vec<u8> {
    (0..1_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()[0]).collect()
}

/// The examples of FIPS 180-4 (NIST's "Examples with Intermediate Values"), and the empty string.
#[test]
fn published_digests_come_out() {
    let long = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklm\
                nopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    let cases: [(&[u8], &str); 4] = [
        (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (long.as_bytes(), "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
    ];
    for (data, expected) in cases {
        assert_eq!(digest(data), unhex_array(expected));
    }
}

#[test]
fn pieces_and_whole_agree() {
    let data = data();
    for len in LENGTHS {
        for size in [1, 7, 63, 64, 65, 150] {
            let mut pieces = Digest::new();
            for piece in data[..len].chunks(size) {
                pieces.update(piece);
                pieces.update(&[]);
            }
            assert_eq!(pieces.clone().finish(), digest(&data[..len]), "{len}, {size}");
            // A copy goes on from where it was made.
            pieces.update(&data[len..]);
            assert_eq!(pieces.finish(), digest(&data), "{len}, {size}");
        }
    }
}

/// RFC 4231, test cases 1 to 7; of case 5 the RFC prints the first half.
#[test]
fn hmac_gives_the_published_macs() {
    let counted: Vec<u8> = (1..=25).collect();
    let cases: [(&[u8], &[u8], &str); 7] = [
        (
            &[0x0b; 20],
            b"Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            &[0xaa; 20],
            &[0xdd; 50],
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        ),
        (
            &counted,
            &[0xcd; 50],
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        ),
        (&[0x0c; 20], b"Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
        (
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
        (
            &[0xaa; 131],
            b"This is a test using a larger than block-size key and a larger than block-size data. \
              The key needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
        ),
    ];
    for (key, data, expected) in cases {
        let expected = unhex(expected);
        assert_eq!(hmac(key, &[data])[..expected.len()], expected);
        let key = HmacKey::new(key);
        let (head, tail) = data.split_at(data.len() / 3);
        for _ in 0..2 {
            assert_eq!(key.mac(&[head, &[], tail])[..expected.len()], expected);
        }
        let mut pieces = key.clone().start();
        data.chunks(5).for_each(|piece| pieces.update(piece));
        assert_eq!(pieces.finish()[..expected.len()], expected);
    }
}

#[test]
fn a_mac_with_any_other_bit_is_refused() {
    let key = HmacKey::new(&[7; 32]);
    let mac = key.mac(&[b"one", b"two"]);
    assert!(key.verify(&[b"onetwo"], &mac));
    for bit in 0..LEN * 8 {
        let mut other = mac;
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(!key.verify(&[b"one", b"two"], &other), "{bit}");
    }
    assert!(!key.verify(&[b"one"], &mac));
    assert!(!key.verify(&[b"two", b"one"], &mac));
    assert!(!HmacKey::new(&[8; 32]).verify(&[b"onetwo"], &mac));
}

/// Zeros behind a key of less than a block are part of no key (RFC 2104, 2).
#[test]
fn a_key_is_padded_with_zeros() {
    let keys = [HmacKey::new(b""), HmacKey::new(&[0; 1]), HmacKey::new(&[0; 64])];
    for key in keys {
        assert_eq!(key.mac(&[b"a"]), hmac(b"", &[b"a"]));
    }
    assert_ne!(hmac(&[0; 65], &[b"a"]), hmac(b"", &[b"a"]));
}

#[cfg(feature = "aws-lc")]
#[test]
fn digests_and_macs_are_those_of_aws_lc() {
    use aws_lc_rs::{digest as twin, hmac as twin_hmac};

    let data = data();
    for len in LENGTHS {
        let expected = twin::digest(&twin::SHA256, &data[..len]);
        assert_eq!(digest(&data[..len])[..], *expected.as_ref(), "{len}");
        let key = twin_hmac::Key::new(twin_hmac::HMAC_SHA256, &data[..len]);
        for message in LENGTHS {
            let expected = twin_hmac::sign(&key, &data[..message]);
            let own = hmac(&data[..len], &[&data[..message]]);
            assert_eq!(own[..], *expected.as_ref(), "{len}, {message}");
        }
    }
}

/// The hash of the crate `sha2` itself, of which only the compression function is used.
#[test]
fn digests_are_those_of_the_library() {
    use sha2::Digest as _;
    let data = vec![0x5a; 300];
    for len in 0..data.len() {
        let expected: [u8; LEN] = sha2::Sha256::digest(&data[..len]).into();
        assert_eq!(digest(&data[..len]), expected, "{len}");
    }
}
