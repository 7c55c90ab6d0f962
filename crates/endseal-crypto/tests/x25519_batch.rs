//! Compares the batch kernel and its portable twin with two libraries and RFC 7748.
#![cfg(all(feature = "std", feature = "aws-lc"))]
#![allow(clippy::expect_used, reason = "in the helpers of tests")]

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use curve25519_dalek::edwards::CompressedEdwardsY;
use curve25519_dalek::montgomery::MontgomeryPoint;
use endseal_crypto::x25519_kernel::{
    Platform, edwards_batch, edwards_on_curve_batch, edwards_to_montgomery_batch, montgomery_batch,
};

type Bytes = [u8; 32];

/// Number of random points on which the kernel is compared by default, and in the nightly run.
const FEW: usize = 4_000;
const MANY: usize = 100_000;

fn montgomery(platform: Platform, scalar: &Bytes, us: &[Bytes]) -> Vec<Bytes> {
    // Not zero, so that bytes which are not written are noticed.
    let mut out = vec![[0xa5; 32]; us.len()];
    montgomery_batch(platform, scalar, us, &mut out);
    out
}

fn edwards(platform: Platform, scalar: &Bytes, ys: &[Bytes]) -> Vec<Bytes> {
    let mut out = vec![[0xa5; 32]; ys.len()];
    edwards_batch(platform, scalar, ys, &mut out);
    out
}

fn converted(platform: Platform, ys: &[Bytes]) -> Vec<Bytes> {
    let mut out = vec![[0xa5; 32]; ys.len()];
    edwards_to_montgomery_batch(platform, ys, &mut out);
    out
}

fn on_curve(platform: Platform, ys: &[Bytes]) -> Vec<bool> {
    let mut out = vec![false; ys.len()];
    edwards_on_curve_batch(platform, ys, &mut out);
    out
}

fn dalek(scalar: &Bytes, u: &Bytes) -> Bytes {
    MontgomeryPoint(*u).mul_clamped(*scalar).to_bytes()
}

/// Agrees by AWS-LC. Returns zeros if it refuses, which it does only for an all-zero result.
fn aws_lc(scalar: &Bytes, u: &Bytes) -> Bytes {
    let key = PrivateKey::from_private_key(&X25519, scalar).expect("32 bytes");
    agree(&key, UnparsedPublicKey::new(&X25519, u), (), |out| Ok(out.try_into().expect("32 bytes")))
        .unwrap_or([0; 32])
}

/// Returns bytes that are deterministic and different for each label.
fn random(label: &str, n: usize) -> Vec<Bytes> {
    let mut out = vec![[0; 32]; n];
    blake3::Hasher::new_derive_key(label).finalize_xof().fill(out.as_flattened_mut());
    out
}

fn hex(text: &str) -> Bytes {
    core::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex"))
}

/// Returns `base` + `add` modulo 2^256, little endian.
fn plus(mut base: Bytes, add: u8) -> Bytes {
    let mut carry = u16::from(add);
    for byte in &mut base {
        carry += u16::from(*byte);
        *byte = carry.to_le_bytes()[0];
        carry >>= 8;
    }
    base
}

/// Returns edge cases: 0..=20 and p-20..2^255 with all non-canonical values, the points of low
/// order of curve and twist, limbs full or empty in radix 2^51 and 2^52; each with bit 255 clear
/// and set.
fn edges() -> Vec<Bytes> {
    let mut edges: Vec<_> = (0..=20).map(|i| plus([0; 32], i)).collect();
    let p_minus_20 = hex("d9ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
    edges.extend((0..=38).map(|i| plus(p_minus_20, i)));
    edges.push(hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"));
    edges.push(hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"));
    for limb in [51, 52] {
        for pattern in 1..31_u32 {
            let mut number = [0; 32];
            for bit in 0..255 {
                if pattern >> (bit / limb) & 1 != 0 {
                    number[bit / 8] |= 1 << (bit % 8);
                }
            }
            edges.push(number);
        }
    }
    let mut with_top_bit = edges.clone();
    with_top_bit.iter_mut().for_each(|edge| edge[31] |= 0x80);
    edges.extend(with_top_bit);
    edges
}

#[test]
fn vectors_of_rfc_7748() {
    let vectors = [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
        // RFC 7748, section 6.1: Diffie-Hellman.
        (
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
            "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
        ),
    ];
    for platform in Platform::all() {
        for (scalar, u, expected) in vectors {
            assert_eq!(montgomery(platform, &hex(scalar), &[hex(u)]), [hex(expected)]);
        }
    }
}

fn iterate(platform: Platform, times: usize) -> Bytes {
    let (mut k, mut u) = (plus([0; 32], 9), plus([0; 32], 9));
    for _ in 0..times {
        let next = montgomery(platform, &k, &[u])[0];
        (k, u) = (next, k);
    }
    k
}

#[test]
fn iterations_of_rfc_7748() {
    for platform in Platform::all() {
        assert_eq!(
            iterate(platform, 1),
            hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")
        );
        assert_eq!(
            iterate(platform, 1000),
            hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
        );
    }
}

#[test]
#[ignore = "nightly: minutes, even in release"]
fn million_iterations_of_rfc_7748() {
    for platform in Platform::all() {
        assert_eq!(
            iterate(platform, 1_000_000),
            hex("7c3911e0ab2586fd864497297e575e6f3bc601c0883c30df5f4dd2d24f665424")
        );
    }
}

#[test]
fn random_points_like_two_libraries() {
    compare_points(FEW);
}

#[test]
#[ignore = "nightly: many points with checks of all bounds"]
fn many_random_points_like_two_libraries() {
    compare_points(MANY);
}

fn compare_points(count: usize) {
    for platform in Platform::all() {
        // The twin is slow, and the kernel is compared with the libraries on all points.
        let share = if platform == Platform::Portable { 10 } else { 1 };
        let scalars = random("endseal test: random points, scalars", 100);
        let us = random("endseal test: random points, points", count);
        for (scalar, us) in scalars.iter().zip(us.chunks(count / 100)) {
            let us = &us[..us.len() / share];
            for (u, out) in us.iter().zip(montgomery(platform, scalar, us)) {
                assert_eq!(out, aws_lc(scalar, u), "scalar {scalar:x?} u {u:x?}");
                assert_eq!(out, dalek(scalar, u), "scalar {scalar:x?} u {u:x?}");
            }
        }
    }
}

#[test]
fn edges_like_two_libraries() {
    let edges = edges();
    let mut scalars = random("endseal test: edges, scalars", 6);
    scalars.extend([[0; 32], [0xff; 32], [0x55; 32], [0xaa; 32]]);
    for platform in Platform::all() {
        for scalar in &scalars {
            let out = montgomery(platform, scalar, &edges);
            for (u, out) in edges.iter().zip(out) {
                assert_eq!(out, dalek(scalar, u), "scalar {scalar:x?} u {u:x?}");
                assert_eq!(out, aws_lc(scalar, u), "scalar {scalar:x?} u {u:x?}");
            }
        }
    }
}

#[test]
fn low_order_gives_zero_and_changes_no_other() {
    let scalar = random("endseal test: isolation, scalar", 1)[0];
    let us = random("endseal test: isolation, points", 24);
    let low_order: Vec<_> = edges().into_iter().filter(|u| dalek(&scalar, u) == [0; 32]).collect();
    // 0, 1, p-1, p, p+1 and the two of order 8, each with bit 255 clear and set.
    assert_eq!(low_order.len(), 14);
    for platform in Platform::all() {
        let expected = montgomery(platform, &scalar, &us);
        for (i, low) in (0..24).zip(low_order.iter().cycle()) {
            let (mut us, mut expected) = (us.clone(), expected.clone());
            us[i] = *low;
            expected[i] = [0; 32];
            assert_eq!(montgomery(platform, &scalar, &us), expected, "lane {i}");
        }
        assert_eq!(montgomery(platform, &scalar, &low_order), [[0; 32]; 14]);
    }
}

#[test]
fn every_batch_size() {
    compare_sizes(1_000);
}

#[test]
#[ignore = "nightly: many points with checks of all bounds"]
fn every_batch_size_up_to_ten_thousand() {
    compare_sizes(10_000);
}

/// Compares batches of up to `largest` points.
fn compare_sizes(largest: usize) {
    let scalar = random("endseal test: sizes, scalar", 1)[0];
    let points = random("endseal test: sizes, points", 10_000);
    for platform in Platform::all() {
        // The twin has no vector lanes to fill, so a few sizes are enough.
        let most = if platform == Platform::Portable { 257 } else { largest };
        let sizes = (0..=17).chain([31, 33, 100, 255, 256, 257, 1000, 10_000]);
        for n in sizes.filter(|n| *n <= most) {
            // Each batch starts at another point, so that a point is computed in different lanes.
            let points = &points[(7 * n) % (10_001 - n)..][..n];
            let us = montgomery(platform, &scalar, points);
            let ys = edwards(platform, &scalar, points);
            let conversions = converted(platform, points);
            assert_eq!(conversions, converted(Platform::Portable, points), "{n}");
            // For large batches only some results are compared.
            for i in (0..n).step_by(n.div_ceil(300).max(1)) {
                assert_eq!(us[i], aws_lc(&scalar, &points[i]), "{i} of {n}");
                assert_eq!(ys[i], aws_lc(&scalar, &conversions[i]), "{i} of {n}");
            }
        }
    }
}

#[test]
fn platforms_give_the_same_bytes() {
    let scalar = random("endseal test: platforms, scalar", 1)[0];
    let mut points = random("endseal test: platforms, points", 2000);
    points.extend(edges());
    let all = Platform::all().map(|platform| {
        (
            montgomery(platform, &scalar, &points),
            edwards(platform, &scalar, &points),
            converted(platform, &points),
            on_curve(platform, &points),
        )
    });
    let all: Vec<_> = all.collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn edwards_points_like_dalek() {
    compare_edwards(2_000);
}

#[test]
#[ignore = "nightly: many points with checks of all bounds"]
fn many_edwards_points_like_dalek() {
    compare_edwards(20_000);
}

fn compare_edwards(count: usize) {
    let scalar = random("endseal test: edwards, scalar", 1)[0];
    let mut keys = random("endseal test: edwards, points", count);
    keys.extend(edges());
    let points: Vec<_> = keys.iter().map(|key| CompressedEdwardsY(*key).decompress()).collect();
    assert!(points.iter().filter(|point| point.is_some()).count() > count * 9 / 20);
    for platform in Platform::all() {
        let valid = on_curve(platform, &keys);
        let us = converted(platform, &keys);
        let shared = edwards(platform, &scalar, &keys);
        for (i, point) in points.iter().enumerate() {
            assert_eq!(valid[i], point.is_some(), "{:x?}", keys[i]);
            let Some(point) = point else { continue };
            assert_eq!(us[i], point.to_montgomery().to_bytes(), "{:x?}", keys[i]);
            if i % 10 == 0 || i >= count {
                assert_eq!(shared[i], aws_lc(&scalar, &us[i]), "{:x?}", keys[i]);
                assert_eq!(shared[i], dalek(&scalar, &us[i]), "{:x?}", keys[i]);
            }
        }
    }
}
