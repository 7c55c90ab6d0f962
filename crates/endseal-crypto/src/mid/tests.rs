//! The two back ends give the same bytes.

use alloc::vec::Vec;

use serde_json::Value;

use super::hkdf_sha512::ExpandKey;
use super::mldsa65_sign::MlDsa65Secret;
use super::{aws_lc, constant_time, hash, label, rustcrypto};

mod within;

fn bytes<const N: usize>(name: &str, i: u32) -> [u8; N] {
    let mut out = [0; N];
    hash::derive_into(label::ENVELOPE_HEADER, &[name.as_bytes(), &i.to_le_bytes()], &mut out);
    out
}

#[test]
fn comparison_in_constant_time() {
    for len in 0..70 {
        let a = bytes::<71>("a", 0);
        for eq in [aws_lc::constant_time_eq, constant_time::portable] {
            assert!(eq(&a[..len], &a[..len]));
            assert!(!eq(&a[..len], &a[..len + 1]) && !eq(&a[..len + 1], &a[..len]));
            for bit in 0..len * 8 {
                let mut b = a;
                b[bit / 8] ^= 1 << (bit % 8);
                assert!(!eq(&a[..len], &b[..len]), "{len}, {bit}");
            }
        }
    }
}

/// The two back ends, and what the product takes: the kernel where the CPU runs it.
macro_rules! aes_gcm_agrees {
    ($key:expr, $nonce:expr, $data:expr, $plaintext:expr, $($gcm:path),+) => {{
        let (key, nonce, data, plaintext): (&[u8], &[u8; 12], &[u8], &[u8]) =
            ($key, $nonce, $data, $plaintext);
        let len = plaintext.len();
        let (mut expected, mut expected_tag) = (alloc::vec![0; len], [0; 16]);
        rustcrypto::AesGcm::new(key).unwrap().seal_bound(
            nonce, data, plaintext, &mut expected, &mut expected_tag,
        );
        $({
            let gcm = <$gcm>::new(key).unwrap();
            let (mut sealed, mut tag) = (alloc::vec![0; len], [0; 16]);
            gcm.seal_bound(nonce, data, plaintext, &mut sealed, &mut tag);
            assert_eq!((&sealed, tag), (&expected, expected_tag), "{len}, {}", data.len());
            let mut opened = alloc::vec![0; len];
            gcm.open_bound(nonce, data, &sealed, &tag, &mut opened).unwrap();
            assert_eq!(opened, plaintext);
            let bit = len + data.len();
            tag[bit / 8 % 16] ^= 1 << (bit % 8);
            assert!(gcm.open_bound(nonce, data, &sealed, &tag, &mut opened).is_err());
            assert!(opened.iter().all(|&byte| byte == 0), "nothing unauthenticated leaves");
            if len > 0 {
                sealed[bit % len] ^= 1 << (bit % 8);
                opened.fill(1);
                assert!(gcm.open_bound(nonce, data, &sealed, &expected_tag, &mut opened).is_err());
                assert!(opened.iter().all(|&byte| byte == 0), "nothing unauthenticated leaves");
            }
            let other = [data, b"0"].concat();
            assert!(gcm.open_bound(nonce, &other, &expected, &expected_tag, &mut opened).is_err());
        })+
    }};
}

#[test]
fn aes_gcm() {
    let mut text = alloc::vec![0; 70_000];
    hash::derive_into(label::ENVELOPE_HEADER, &[b"plaintext"], &mut text);
    // Every length up to two groups of the kernel and a bit, and what chunks have.
    let long = [4_095, 4_096, 4_097, 8_191, 16_383, 16_384, 16_385, 16_400, 65_536, 69_999];
    for (i, len) in (0..).zip((0..=1_100).chain(long)) {
        let (key, nonce) = (bytes::<32>("key", i), bytes::<12>("nonce", i));
        for key in [&key[..], &key[..16]] {
            aes_gcm_agrees!(
                key,
                &nonce,
                &[],
                &text[..len],
                aws_lc::AesGcm,
                rustcrypto::AesGcm,
                super::aes_gcm::AesGcm
            );
        }
    }
    // The counter carries into its third byte behind 2^16 blocks: in the middle of a group, and at
    // the end of one.
    let mut long = alloc::vec![0; (1 << 20) + 1_100];
    hash::derive_into(label::ENVELOPE_HEADER, &[b"long"], &mut long);
    for (i, len) in (0..).zip([(1 << 20) - 16, 1 << 20, (1 << 20) + 16, long.len()]) {
        let (key, nonce) = (bytes::<32>("long", i), bytes::<12>("nonce", i));
        let text = &long[..len];
        aes_gcm_agrees!(&key, &nonce, &[], text, aws_lc::AesGcm, super::aes_gcm::AesGcm);
    }
    // Every length of associated data up to two groups, with content of other lengths.
    for (i, len) in (0..).zip((0..=1_100).chain([16_384])) {
        let (key, nonce) = (bytes::<32>("key", i), bytes::<12>("nonce", i));
        let (data, content) = (&text[..len], &text[len..][..len * 7 % 1_200]);
        aes_gcm_agrees!(&key, &nonce, data, content, aws_lc::AesGcm, super::aes_gcm::AesGcm);
    }
    assert!(aws_lc::AesGcm::new(&[0; 24]).is_none());
    assert!(rustcrypto::AesGcm::new(&[0; 24]).is_none());
    assert!(super::aes_gcm::AesGcm::new(&[0; 24]).is_none());
}

/// Wycheproof: both back ends, and the kernel where the CPU runs it.
#[test]
fn aes_gcm_vectors() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../vectors/third-party/wycheproof/aes_gcm_test.json"
    );
    let set: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let (mut opened, mut refused) = (0, 0);
    for group in set["testGroups"].as_array().unwrap() {
        // No format has other lengths of nonces, and there is no AES-192.
        if group["ivSize"] != 96 || group["keySize"] == 192 {
            continue;
        }
        for test in group["tests"].as_array().unwrap() {
            let [key, nonce, data, text, sealed, tag] =
                ["key", "iv", "aad", "msg", "ct", "tag"].map(|name| unhex(&test[name]));
            let (nonce, tag) = (nonce.first_chunk().unwrap(), tag.first_chunk().unwrap());
            macro_rules! check {
                ($gcm:path) => {
                    let gcm = <$gcm>::new(&key).unwrap();
                    let mut out = alloc::vec![1; sealed.len()];
                    let outcome = gcm.open_bound(nonce, &data, &sealed, tag, &mut out);
                    assert_eq!(outcome.is_ok(), test["result"] == "valid", "{test}");
                    if outcome.is_ok() {
                        assert_eq!(out, text, "{test}");
                        let mut own_tag = [0; 16];
                        gcm.seal_bound(nonce, &data, &text, &mut out, &mut own_tag);
                        assert_eq!((&out, &own_tag), (&sealed, tag), "{test}");
                    } else {
                        assert!(out.iter().all(|&byte| byte == 0), "{test}");
                    }
                    for from in [0, 1, 16, 100] {
                        if test["result"] == "valid" {
                            let mut buffer = [&[1; 100][..from], &text].concat();
                            let own_tag = gcm.seal_within(nonce, &data, &mut buffer, from);
                            assert_eq!((&buffer[..text.len()], &own_tag), (&sealed[..], tag), "{test}");
                        }
                        let mut buffer = [&[1; 100][..from], &sealed].concat();
                        let outcome = gcm.open_within(nonce, &data, &mut buffer, from, tag);
                        assert_eq!(outcome.is_ok(), test["result"] == "valid", "{test}");
                        let content = &buffer[..sealed.len()];
                        let expected = if outcome.is_ok() { &text } else { &alloc::vec![0; sealed.len()] };
                        assert_eq!(content, expected, "{test}");
                    }
                };
            }
            check!(aws_lc::AesGcm);
            check!(rustcrypto::AesGcm);
            check!(super::aes_gcm::AesGcm);
            if test["result"] == "valid" { opened += 1 } else { refused += 1 }
        }
    }
    assert_eq!((opened, refused), (79, 54));
}

fn unhex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    (0..text.len() / 2).filter_map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).ok()).collect()
}

#[test]
fn sha512() {
    for i in 0..20 {
        let data = bytes::<300>("data", i);
        let (head, tail) = data.split_at(usize::try_from(i).unwrap() * 10);
        assert_eq!(aws_lc::sha512(&[head, tail]), rustcrypto::sha512(&[head, tail]));
    }
}

/// HKDF of AWS-LC, the twin of [`ExpandKey`].
#[allow(clippy::expect_used, reason = "this is a test")]
mod hkdf_twin {
    use aws_lc_rs::hkdf::{HKDF_SHA512, KeyType, Prk, Salt};

    struct Len(usize);

    impl KeyType for Len {
        fn len(&self) -> usize {
            self.0
        }
    }

    pub(super) fn expand(prk: &[u8], info: &[&[u8]], out: &mut [u8]) {
        let prk = Prk::new_less_safe(HKDF_SHA512, prk);
        prk.expand(info, Len(out.len())).and_then(|okm| okm.fill(out)).expect("it is short");
    }

    pub(super) fn extract_and_expand(salt: &[u8], secret: &[u8], info: &[&[u8]], out: &mut [u8]) {
        let prk = Salt::new(HKDF_SHA512, salt).extract(secret);
        prk.expand(info, Len(out.len())).and_then(|okm| okm.fill(out)).expect("it is short");
    }
}

/// A prepared key gives the outputs of AWS-LC wherever key, `info` and output end in a block.
#[test]
fn hkdf() {
    let data = bytes::<600>("data", 0);
    for len in [0, 1, 16, 31, 32, 63, 64] {
        let (key, info) = data.split_at(len);
        let source = ExpandKey::new(key);
        for end in (0..280).chain([384, 471]) {
            let (mut a, mut b) = ([0; 200], [1; 200]);
            let (head, tail) = info[..end].split_at(end * 3 / 7);
            hkdf_twin::expand(key, &[head, &[], tail], &mut a);
            source.expand(&[head, &[], tail], &mut b);
            assert_eq!(a, b, "{len}, {end}");
            hkdf_twin::extract_and_expand(head, tail, &[key], &mut a);
            ExpandKey::extract(head, tail).expand(&[key], &mut b);
            assert_eq!(a, b, "{len}, {end}");
        }
    }
    for len in [0, 1, 7, 8, 63, 64, 65, 76, 88, 127, 128, 129, 255 * 64] {
        let (mut a, mut b) = (alloc::vec![0; len], alloc::vec![1; len]);
        hkdf_twin::expand(&data[..32], &[b"info"], &mut a);
        ExpandKey::new(&data[..32]).expand(&[b"info"], &mut b);
        assert_eq!(a, b, "{len}");
    }
}

#[test]
fn x25519() {
    for i in 0..100 {
        let (secret, u) = (bytes("secret", i), bytes("u", i));
        let (a, b) = (aws_lc::X25519Secret::new(&secret), rustcrypto::X25519Secret::new(&secret));
        assert_eq!(a.public(), b.public());
        assert_eq!(a.agree(&u), b.agree(&u));
        assert_eq!(a.agree(&[0; 32]), [0; 32]);
        assert_eq!(b.agree(&[0; 32]), [0; 32]);
    }
}

#[test]
fn ed25519() {
    for i in 0..50 {
        let (seed, message) = (bytes("seed", i), bytes::<77>("message", i));
        let (a, b) = (aws_lc::Ed25519Secret::new(&seed), rustcrypto::Ed25519Secret::new(&seed));
        assert_eq!(a.public(), b.public());
        assert_eq!(a.sign(&message), b.sign(&message));
    }
}

#[test]
fn mlkem768() {
    for i in 0..20 {
        let (seed, m) = (bytes("seed", i), bytes("m", i));
        let (a, b) = (
            aws_lc::MlKem768Secret::from_seed(&seed),
            rustcrypto::MlKem768Secret::from_seed(&seed),
        );
        let public = a.public();
        assert_eq!(public, b.public());
        let (mut ct_a, mut ct_b) = ([0; 1088], [0; 1088]);
        let (mut ss_a, mut ss_b) = ([0; 32], [0; 32]);
        aws_lc::MlKem768Public::new(&public).unwrap().encapsulate(&m, &mut ct_a, &mut ss_a);
        rustcrypto::MlKem768Public::new(&public).unwrap().encapsulate(&m, &mut ct_b, &mut ss_b);
        assert_eq!((ct_a, ss_a), (ct_b, ss_b));
        let (mut out_a, mut out_b) = ([0; 32], [0; 32]);
        b.decapsulate(&ct_a, &mut out_b);
        assert_eq!(out_b, ss_a);
        // Implicit rejection, too, gives the same secret.
        ct_a[7] ^= 1;
        a.decapsulate(&ct_a, &mut out_a);
        b.decapsulate(&ct_a, &mut out_b);
        assert_eq!(out_a, out_b);
        assert_ne!(out_a, ss_a);
    }
}

/// Both verify what one signs. Equal randomness gives equal bytes, other randomness other bytes.
#[test]
fn mldsa65() {
    for i in 0..10 {
        let (seed, message) = (bytes("seed", i), bytes::<300>("message", i));
        let secret = MlDsa65Secret::from_seed(&seed);
        let mut public = [0; 1952];
        secret.public(&mut public);
        let verify_a = aws_lc::MlDsa65Public::new(&public);
        let verify_b = rustcrypto::MlDsa65Public::new(&public);
        for context in [&[][..], b"context", &[7; 255]] {
            let sign = |rnd: &[u8; 32]| {
                let mut signature = [0; 3309];
                secret.sign(&message, context, rnd, &mut signature);
                signature
            };
            let (mut one, mut other) = (sign(&[0; 32]), sign(&bytes("rnd", i)));
            assert_eq!(one, sign(&[0; 32]));
            assert_ne!(one, other);
            for signature in [&mut one, &mut other] {
                assert!(verify_a.verify(&message, context, signature));
                assert!(verify_b.verify(&message, context, signature));
                assert!(!verify_a.verify(&message, b"another", signature));
                assert!(!verify_b.verify(&message, b"another", signature));
                signature[usize::try_from(i).unwrap() * 300] ^= 1;
                assert!(!verify_a.verify(&message, context, signature));
                assert!(!verify_b.verify(&message, context, signature));
            }
        }
    }
}
