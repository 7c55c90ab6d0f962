//! The two back ends give the same bytes.

use super::{aws_lc, hash, label, rustcrypto};

fn bytes<const N: usize>(name: &str, i: u32) -> [u8; N] {
    let mut out = [0; N];
    hash::derive_into(label::ENVELOPE_HEADER, &[name.as_bytes(), &i.to_le_bytes()], &mut out);
    out
}

#[test]
fn aes_gcm() {
    for (i, len) in (0..).zip([0, 1, 15, 16, 17, 255, 4096, 16_384, 16_400]) {
        let (key, nonce) = (bytes::<32>("key", i), bytes::<12>("nonce", i));
        let mut plaintext = alloc::vec![0; len];
        hash::derive_into(label::ENVELOPE_HEADER, &[b"plaintext"], &mut plaintext);
        for key in [&key[..], &key[..16]] {
            let (a, b) = (aws_lc::AesGcm::new(key).unwrap(), rustcrypto::AesGcm::new(key).unwrap());
            let (mut sealed_a, mut sealed_b) = (alloc::vec![0; len], alloc::vec![0; len]);
            let (mut tag_a, mut tag_b) = ([0; 16], [0; 16]);
            a.seal(&nonce, &plaintext, &mut sealed_a, &mut tag_a);
            b.seal(&nonce, &plaintext, &mut sealed_b, &mut tag_b);
            assert_eq!((&sealed_a, tag_a), (&sealed_b, tag_b), "{len}");
            let mut opened = alloc::vec![0; len];
            b.open(&nonce, &sealed_a, &tag_a, &mut opened).unwrap();
            assert_eq!(opened, plaintext);
            a.open(&nonce, &sealed_b, &tag_b, &mut opened).unwrap();
            assert_eq!(opened, plaintext);
            let (mut bound_a, mut bound_b) = ([0; 16], [0; 16]);
            a.seal_bound(&nonce, &plaintext, &plaintext, &mut sealed_a, &mut bound_a);
            b.seal_bound(&nonce, &plaintext, &plaintext, &mut sealed_b, &mut bound_b);
            assert_eq!((&sealed_a, bound_a), (&sealed_b, bound_b), "{len}");
            assert_eq!(len == 0, bound_a == tag_a);
            a.open_bound(&nonce, &plaintext, &sealed_b, &bound_b, &mut opened).unwrap();
            assert_eq!(opened, plaintext);
            b.open_bound(&nonce, &plaintext, &sealed_a, &bound_a, &mut opened).unwrap();
            assert_eq!(opened, plaintext);
            assert!(a.open_bound(&nonce, b"other", &sealed_a, &bound_a, &mut opened).is_err());
            assert!(b.open_bound(&nonce, b"other", &sealed_a, &bound_a, &mut opened).is_err());
            tag_a[3] ^= 4;
            assert!(a.open(&nonce, &sealed_a, &tag_a, &mut opened).is_err());
            assert!(opened.iter().all(|&byte| byte == 0), "nothing unauthenticated leaves");
            opened.fill(1);
            assert!(b.open(&nonce, &sealed_a, &tag_a, &mut opened).is_err());
            assert!(opened.iter().all(|&byte| byte == 0), "nothing unauthenticated leaves");
        }
    }
    assert!(aws_lc::AesGcm::new(&[0; 24]).is_none());
    assert!(rustcrypto::AesGcm::new(&[0; 24]).is_none());
}

#[test]
fn hashes_and_derivation() {
    for i in 0..20 {
        let data = bytes::<300>("data", i);
        let (head, tail) = data.split_at(usize::try_from(i).unwrap() * 10);
        assert_eq!(aws_lc::sha512(&[head, tail]), rustcrypto::sha512(&[head, tail]));
        for len in [1, 63, 64, 65, 255 * 64] {
            let (mut a, mut b) = (alloc::vec![0; len], alloc::vec![0; len]);
            aws_lc::hkdf_sha512_expand(&data[..32], &[head, tail], &mut a);
            rustcrypto::hkdf_sha512_expand(&data[..32], &[head, tail], &mut b);
            assert_eq!(a, b);
            aws_lc::hkdf_sha512(head, tail, &[head], &mut a);
            rustcrypto::hkdf_sha512(head, tail, &[head], &mut b);
            assert_eq!(a, b);
        }
        for len in [0, 1, 16, 31, 63, 64] {
            let (mut a, mut b) = ([0; 80], [0; 80]);
            aws_lc::hkdf_sha512_expand(&data[..len], &[head], &mut a);
            rustcrypto::hkdf_sha512_expand(&data[..len], &[head], &mut b);
            assert_eq!(a, b, "{len}");
        }
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

#[test]
fn mldsa65() {
    for i in 0..10 {
        let (seed, message) = (bytes("seed", i), bytes::<300>("message", i));
        let (a, b) =
            (aws_lc::MlDsa65Secret::from_seed(&seed), rustcrypto::MlDsa65Secret::from_seed(&seed));
        let (mut public_a, mut public_b) = ([0; 1952], [0; 1952]);
        a.public(&mut public_a);
        b.public(&mut public_b);
        assert_eq!(public_a, public_b);
        let verify_a = aws_lc::MlDsa65Public::new(&public_a);
        let verify_b = rustcrypto::MlDsa65Public::new(&public_a);
        for context in [&[][..], b"context", &[7; 255]] {
            // One is hedged and the other deterministic, so each verifies what the other signed.
            let (mut signed_a, mut signed_b) = ([0; 3309], [0; 3309]);
            a.sign(&message, context, &mut signed_a);
            b.sign(&message, context, &mut signed_b);
            for signature in [&mut signed_a, &mut signed_b] {
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
