//! Secrets leave no copy on the heap when they are dropped: this process searches its own memory.
//! It is one test in a program of its own, so that nothing else runs at the same time.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "these are tests")]

use core::hint::black_box;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use endseal_crypto::identity::Identity;
use endseal_crypto::segment::{self, InputKey, KeySource};
use endseal_crypto::{
    aes_siv, argon2id, ed25519, hazmat, hkdf, hkdf_sha256, key_wrap, mldsa65, mlkem768, secp256k1,
    sha256, x25519,
};

/// Bytes at the end of a mark that are searched for. An allocator writes to the start of free
/// memory.
const TAIL: usize = 16;

/// Returns the 32 bytes of secret `n`. No two secrets have 8 bytes in common.
fn secret(n: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (i, word) in (0..).zip(bytes.as_chunks_mut::<8>().0) {
        let mut x = (n * 4 + i).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        *word = (x ^ x >> 27).to_le_bytes();
    }
    bytes
}

/// Counts the marks in writable memory that has no name or is the heap, except for this thread's
/// stack. The list of memory and the pages are read in pieces to the stack, so that nothing is
/// allocated.
fn marks(mark: &[u8; TAIL]) -> usize {
    let memory = File::open("/proc/self/mem").unwrap();
    let here = black_box(&raw const memory).addr();
    let mut list = [0; 1 << 16];
    let len = read_list(&mut list);
    let mut count = 0;
    for line in core::str::from_utf8(&list[..len]).unwrap().lines() {
        let mut fields = line.split_ascii_whitespace();
        let (range, mode) = (fields.next().unwrap(), fields.next().unwrap());
        let name = fields.nth(3).unwrap_or_default();
        let (start, end) = range.split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        let is_data = mode.starts_with("rw") && (name.is_empty() || name == "[heap]");
        if is_data && !(start..end).contains(&here) {
            count += marks_in(&memory, start, end, mark);
        }
    }
    count
}

fn read_list(list: &mut [u8]) -> usize {
    use std::io::Read as _;
    let mut file = File::open("/proc/self/maps").unwrap();
    let mut len = 0;
    loop {
        match file.read(&mut list[len..]).unwrap() {
            0 => return len,
            more => len += more,
        }
        assert!(len < list.len(), "the list fits");
    }
}

fn marks_in(memory: &File, start: usize, end: usize, mark: &[u8; TAIL]) -> usize {
    let mut page = [0; 4_096 + TAIL - 1];
    let mut count = 0;
    for at in (start..end).step_by(4_096) {
        let part = page.len().min(end - at);
        // Memory that cannot be read is not mapped yet.
        if memory.read_exact_at(&mut page[..part], at as u64).is_ok() {
            count += page[..part].windows(TAIL).filter(|window| *window == mark).count();
        }
    }
    count
}

/// Checks that the secret is in memory while it lives, and nowhere after it was dropped.
#[track_caller]
fn check<T>(name: &str, mark: [u8; TAIL], value: T) {
    let lives = marks(&mark);
    assert!(lives > 0, "{name}: the look finds it while it is there");
    // The value is moved, as programs do.
    let moved = black_box(Box::new(value));
    drop(*moved);
    assert_eq!(marks(&mark), 0, "{name}");
}

fn tail(bytes: &[u8]) -> [u8; TAIL] {
    *bytes.last_chunk().unwrap()
}

#[test]
fn secrets_leave_no_copy_on_the_heap() {
    macro_rules! fixed {
        ($($n:literal $type:ty;)*) => {$(
            let make = |out: &mut [u8; 32]| *out = secret($n);
            check(stringify!($type), tail(&secret($n)), <$type>::init_with(make));
        )*};
    }
    fixed! {
        1 InputKey;
        2 key_wrap::WrappingKey;
        3 x25519::SecretKey;
        4 ed25519::Seed;
        5 mldsa65::Seed;
        6 argon2id::Stretched;
    }
    let wide = |n| aes_siv::SivKey::init_with(|out| out[32..].copy_from_slice(&secret(n)));
    check("SivKey", tail(&secret(7)), wide(7));
    let kem = |n| mlkem768::Seed::init_with(|out| out[32..].copy_from_slice(&secret(n)));
    check("mlkem768::Seed", tail(&secret(8)), kem(8));

    let x25519 = |n| x25519::SecretKey::init_with(|out| *out = secret(n));
    check("PreparedKey", tail(&secret(9)), x25519::PreparedKey::new(x25519(9)));
    let ed25519 = |n| ed25519::Seed::init_with(|out| *out = secret(n));
    check("ed25519::SigningKey", tail(&secret(10)), ed25519::SigningKey::from_seed(ed25519(10)));
    let mldsa65 = |n| mldsa65::Seed::init_with(|out| *out = secret(n));
    check("mldsa65::SigningKey", tail(&secret(11)), mldsa65::SigningKey::from_seed(mldsa65(11)));
    #[cfg(feature = "aws-lc")]
    {
        let system = mldsa65::SystemSigningKey::from_seed(&mldsa65(21)).unwrap();
        check("mldsa65::SystemSigningKey", tail(&secret(21)), system);
    }
    check("mlkem768::SecretKey", tail(&secret(12)), mlkem768::SecretKey::from_seed(kem(12)));
    check("Identity", tail(&secret(13)), Identity::from_seeds(ed25519(13), kem(14)));
    assert_eq!(marks(&tail(&secret(14))), 0, "the other seed of the identity");

    // These are stored inline, so they are moved to the heap, where they stay.
    let secp256k1 = |n| secp256k1::SecretKey::from_bytes(&secret(n)).unwrap();
    check("secp256k1::SecretKey", tail(&secret(22)), Box::new(secp256k1(22)));
    let signing = Box::new(secp256k1::SigningKey::new(secp256k1(23)));
    check("secp256k1::SigningKey", tail(&secret(23)), signing);
    let other = secp256k1(24).public_key();
    let shared = Box::new(secp256k1(25).ecdh_x(&other));
    check("secp256k1::SharedX", tail(shared.expose_secret()), shared);

    // Results of agreements, whose mark is computed on the stack.
    let key = x25519::PreparedKey::new(x25519(15));
    let other = x25519(16).public_key();
    let expected = tail(key.agree(&other).unwrap().expose_secret());
    assert_eq!(marks(&expected), 0, "SharedSecret");
    check("SharedSecrets", expected, key.agree_many(&[other; 9]));
    drop(key);

    // The AES-GCM key is expanded from the input key, and is at the start of the AES state.
    let salt = [5; segment::SALT_LEN];
    let mut okm = [0; 44];
    let info = b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\0";
    hkdf::expand(&secret(17), &[info, &salt, b"context"], &mut okm).unwrap();
    let aes = tail(&okm[..32]);
    assert_eq!(marks(&aes), 0, "hkdf");
    let input = || InputKey::init_with(|out| *out = secret(17));
    check("SealKeys", aes, hazmat::seal_keys(&KeySource::new(&input()), &salt, b"context").0);
    let keys = hazmat::uncommitted_keys(&KeySource::new(&input()), &salt, b"context");
    check("ChunkKeys", aes, keys);
    let raw = hazmat::raw_keys(&KeySource::new(&input()), &salt, b"context");
    assert_eq!(raw.expose_key()[..], okm[..32]);
    check("RawKeys", aes, raw);
    assert_eq!(marks(&tail(&secret(17))), 0, "the input key");
    let wrapping = key_wrap::WrappingKey::init_with(|out| *out = secret(18));
    let wrapper = key_wrap::Wrapper::new(&wrapping);
    drop(wrapping);
    check("Wrapper", tail(&secret(18)), wrapper);

    // States of HMAC after the block with the key.
    check("KeySource", state512(&secret(19)), KeySource::new(&InputKey::from_bytes(&secret(19))));
    // It is stored inline and wiped in place. The caller boxes it before a move.
    let key = Box::new(sha256::HmacKey::new(&secret(20)));
    check("HmacKey", state256(&secret(20)), key);
    let mut mac = Box::new(sha256::HmacKey::new(b"").start());
    mac.update(&secret(26));
    check("Mac", tail(&secret(26)), mac);
    let prk = Box::new(hkdf_sha256::PseudorandomKey::init_with(|out| *out = secret(27)));
    check("PseudorandomKey", tail(&secret(27)), prk);
}

/// Returns the end of the outer state of HMAC-SHA-512, as it is in memory.
fn state512(key: &[u8; 32]) -> [u8; TAIL] {
    let mut state: [u64; 8] = [
        0x6a09_e667_f3bc_c908,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
        0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1,
        0x9b05_688c_2b3e_6c1f,
        0x1f83_d9ab_fb41_bd6b,
        0x5be0_cd19_137e_2179,
    ];
    let mut block = [0x5c; 128];
    block.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
    sha2::block_api::compress512(&mut state, &[block]);
    let mut end = [0; TAIL];
    end[..8].copy_from_slice(&state[6].to_ne_bytes());
    end[8..].copy_from_slice(&state[7].to_ne_bytes());
    end
}

/// Returns the end of the outer state of HMAC-SHA-256, as it is in memory.
fn state256(key: &[u8; 32]) -> [u8; TAIL] {
    let mut state: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut block = [0x5c; 64];
    block.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
    sha2::block_api::compress256(&mut state, &[block]);
    let mut end = [0; TAIL];
    for (bytes, word) in end.as_chunks_mut::<4>().0.iter_mut().zip(&state[4..]) {
        *bytes = word.to_ne_bytes();
    }
    end
}
