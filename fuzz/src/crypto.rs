//! Compares our kernels with other libraries.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA512, KeyType, Prk};
use curve25519_dalek::edwards::CompressedEdwardsY;
use curve25519_dalek::montgomery::MontgomeryPoint;
use endseal_crypto::hazmat;
use endseal_crypto::segment::{
    CHUNK_LEN, ChunkSealer, InputKey, KeySource, SEALED_CHUNK_LEN, SliceOpener,
};
use endseal_crypto::x25519_kernel::{
    Platform, edwards_batch, edwards_on_curve_batch, edwards_to_montgomery_batch, montgomery_batch,
};

/// Fuzzes X25519: a scalar, then keys. Each platform must give the results of dalek.
pub fn kernel_vs_dalek(data: &[u8]) {
    let Some((scalar, rest)) = data.split_first_chunk::<32>() else { return };
    let keys = &rest.as_chunks::<32>().0;
    let keys = &keys[..keys.len().min(19)];
    let mut out = vec![[0; 32]; keys.len()];
    let mut valid = vec![false; keys.len()];
    for platform in Platform::all() {
        montgomery_batch(platform, scalar, keys, &mut out);
        for (key, got) in keys.iter().zip(&out) {
            assert_eq!(*got, MontgomeryPoint(*key).mul_clamped(*scalar).0, "{platform:?}");
        }
        edwards_on_curve_batch(platform, keys, &mut valid);
        let points: Vec<_> = keys.iter().map(|key| CompressedEdwardsY(*key).decompress()).collect();
        for (point, got) in points.iter().zip(&valid) {
            assert_eq!(*got, point.is_some(), "{platform:?}");
        }
        edwards_to_montgomery_batch(platform, keys, &mut out);
        for (point, got) in
            points.iter().zip(&out).filter_map(|(point, got)| Some((point.as_ref()?, got)))
        {
            assert_eq!(*got, point.to_montgomery().0, "{platform:?}");
        }
        edwards_batch(platform, scalar, keys, &mut out);
        for (point, got) in
            points.iter().zip(&out).filter_map(|(point, got)| Some((point.as_ref()?, got)))
        {
            assert_eq!(*got, point.to_montgomery().mul_clamped(*scalar).0, "{platform:?}");
        }
    }
}

struct Len(usize);

impl KeyType for Len {
    fn len(&self) -> usize {
        self.0
    }
}

/// Derives the key and the base nonce of a stream, by aws-lc.
fn derived(key: &[u8; 32], salt: &[u8; 24], context: &[u8]) -> (LessSafeKey, [u8; 12]) {
    let label = b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\0";
    let mut okm = [0; 44];
    let info: [&[u8]; 3] = [label, salt, context];
    let prk = Prk::new_less_safe(HKDF_SHA512, key);
    prk.expand(&info, Len(44)).and_then(|okm_of| okm_of.fill(&mut okm)).expect("44 bytes");
    let (key, nonce) = okm.split_at(32);
    let key = UnboundKey::new(&AES_256_GCM, key).expect("32 bytes");
    (LessSafeKey::new(key), nonce.try_into().expect("12 bytes"))
}

/// Fuzzes AES-GCM: key, salt, then text. A chunk must be sealed in place as into another buffer and
/// as aws-lc seals it, and open to the text.
pub fn gcm_in_place_vs_aws_lc(data: &[u8]) {
    let Some((key, rest)) = data.split_first_chunk::<32>() else { return };
    let Some((salt, rest)) = rest.split_first_chunk::<24>() else { return };
    let text = &rest[..rest.len().min(CHUNK_LEN - 1)];
    let source = KeySource::new(&InputKey::from_bytes(key));
    let keys = || hazmat::seal_keys(&source, salt, b"fuzz").0;

    let mut apart = vec![0; text.len() + 16];
    ChunkSealer::new(keys()).seal_last(text, &mut apart);
    let (aws_lc, nonce) = derived(key, salt, b"fuzz");
    let mut by_aws_lc = text.to_vec();
    let sealed = aws_lc.seal_in_place_append_tag(
        Nonce::assume_unique_for_key(nonce),
        Aad::empty(),
        &mut by_aws_lc,
    );
    sealed.expect("it is short");
    assert_eq!(apart, by_aws_lc, "sealed as aws-lc seals");

    let mut content = vec![0; text.len()];
    let mut opener = SliceOpener::new(hazmat::uncommitted_keys(&source, salt, b"fuzz"), &apart)
        .expect("one chunk");
    opener.pull(&mut content).expect("it was sealed under these keys");
    assert_eq!(content, text);

    // A whole chunk, in place and into another buffer.
    let mut chunk = [0; CHUNK_LEN];
    for (to, from) in chunk.iter_mut().zip(data.iter().cycle()) {
        *to = *from;
    }
    let mut apart = [0; SEALED_CHUNK_LEN];
    ChunkSealer::new(keys()).seal(&chunk, &mut apart).expect("the first chunk");
    let gap = data.len() % 300;
    let mut place = vec![0; SEALED_CHUNK_LEN + gap];
    place[16 + gap..].copy_from_slice(&chunk);
    ChunkSealer::new(keys()).seal_within(&mut place).expect("the first chunk");
    assert_eq!(place[..SEALED_CHUNK_LEN], apart, "in its place as apart");
}
