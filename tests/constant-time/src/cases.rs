//! The cases: two controls, then functions that compute with secrets.

use core::hint::black_box;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::segment::{ChunkKeys, ChunkSealer, InputKey, KeySource, SealKeys, SliceOpener};
use endseal_crypto::sha256::HmacKey;
use endseal_crypto::x25519_kernel::{HaveFma, Platform, edwards_batch, montgomery_batch};
use endseal_crypto::{
    aes_cbc, chacha20, ed25519, hash, hazmat, hkdf_sha256, label, mlkem768, secp256k1, x25519,
};
use endseal_envelope::{Opener, Policy, Recipients, Sealer, Suite};
use endseal_keyring::SecretText;

use crate::Case;
use crate::memcheck::{declassify, mark_secret, unreported};

const fn silent(name: &'static str, run: fn()) -> Case {
    Case { name, run, must_be_reported: false }
}

pub(crate) const ALL: &[Case] = &[
    Case { name: "control: a branch on a secret", run: branch, must_be_reported: true },
    Case { name: "control: an index by a secret", run: index, must_be_reported: true },
    silent("control: a mask from a secret", mask),
    silent("X25519 ladder and divsteps", || ladder(Platform::Portable)),
    silent("X25519 ladder of Edwards keys", || edwards_ladder(Platform::Portable)),
    silent("X25519 ladder in AVX2 and FMA", || with_fma(ladder)),
    silent("X25519 ladder in AVX2 and FMA, of Edwards keys", || with_fma(edwards_ladder)),
    silent("X25519 agreement and zero check", agreement),
    silent("comparison of secrets", comparison),
    silent("key derivation", derivation),
    silent("HMAC-SHA-256 verified and refused", mac_verified),
    silent("HKDF-SHA-256", derivation_sha256),
    silent("AES-256-CBC", cbc),
    silent("segment sealed and opened", segment),
    silent("segment with a wrong tag", wrong_tag),
    silent("ChaCha20", chacha20),
    silent("Ed25519 signature", signature),
    silent("secp256k1 agreement", secp256k1_agreement),
    silent("secp256k1 signature", secp256k1_signature),
    silent("envelope sealed, suite 1", || envelope_sealed(Suite::X25519)),
    silent("envelope opened, suite 1", || envelope_opened(Suite::X25519)),
    silent("envelope refused, suite 1", || envelope_refused(Suite::X25519)),
    silent("envelope sealed, suite 2", || envelope_sealed(Suite::X25519Compact)),
    silent("envelope opened, suite 2", || envelope_opened(Suite::X25519Compact)),
    silent("envelope refused, suite 2", || envelope_refused(Suite::X25519Compact)),
    silent("envelope sealed, suite 3", || envelope_sealed(Suite::X25519MlKem768)),
    silent("envelope opened, suite 3", || envelope_opened(Suite::X25519MlKem768)),
    silent("envelope refused, suite 3", || envelope_refused(Suite::X25519MlKem768)),
    silent("secret text encoded", secret_text_encoded),
    silent("secret text decoded", secret_text_decoded),
];

/// Returns bytes that depend on `seed`, marked as secret.
fn secret<const N: usize>(seed: u8) -> [u8; N] {
    let mut bytes = [0; N];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (i as u8).wrapping_mul(151).wrapping_add(seed);
    }
    mark_secret(&bytes);
    black_box(bytes)
}

fn public<const N: usize>(seed: u8) -> [u8; N] {
    let bytes = secret(seed);
    declassify(&bytes);
    bytes
}

/// A random generator whose marked bytes are the same in each run.
struct Marked(u8);

impl Random for Marked {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        for byte in &mut *buffer {
            *byte = self.0;
            self.0 = self.0.wrapping_mul(5).wrapping_add(113);
        }
        mark_secret(buffer);
        Ok(())
    }
}

#[inline(never)]
fn branch() {
    let [byte] = secret::<1>(1);
    if byte & 1 == 1 {
        black_box("odd");
        eprint!("");
    }
}

#[inline(never)]
fn index() {
    static TABLE: [u8; 256] = [7; 256];
    let [byte] = secret::<1>(1);
    black_box(black_box(&TABLE)[usize::from(byte)]);
}

#[inline(never)]
fn mask() {
    let [byte] = secret::<1>(1);
    black_box((byte & 1).wrapping_neg() & 0x55);
}

fn ladder(platform: Platform) {
    let us = [public(3), public(4)];
    let mut out = [[0; 32]; 2];
    montgomery_batch(platform, &secret(1), &us, &mut out);
    black_box(out);
}

fn edwards_ladder(platform: Platform) {
    let ys = [public(3), public(4)];
    let mut out = [[0; 32]; 2];
    edwards_batch(platform, &secret(1), &ys, &mut out);
    black_box(out);
}

/// Runs a case in the kernel for AVX2 and FMA. `ENDSEAL_REQUIRE`, which `cargo xtask ci` sets, says
/// if this CPU must have it.
fn with_fma(run: fn(Platform)) {
    match HaveFma::detect() {
        Some(token) => run(Platform::Fma(token)),
        None => {
            let required = std::env::var("ENDSEAL_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name == "fma"), "no FMA was found");
        }
    }
}

fn agreement() {
    let key = x25519::SecretKey::from_bytes(&secret(1));
    let mut own = key.public_key();
    declassify(&own);
    let other = x25519::SecretKey::from_bytes(&public(2)).public_key();
    let _ = black_box(key.agree(&other));
    own = black_box(own);
    let _ = own;
}

fn comparison() {
    let (a, b) = (InputKey::from_bytes(&secret(1)), InputKey::from_bytes(&secret(2)));
    let mut equal = [u8::from(a == b), u8::from(a == a)];
    declassify(&equal);
    equal = black_box(equal);
    assert_eq!(equal, [0, 1]);
}

fn derivation() {
    let mut out = [0; 32];
    hash::derive_into(label::IDENTITY_STORE, &[&secret::<96>(1)], &mut out);
    black_box(out);
}

fn mac_verified() {
    let key = HmacKey::new(&secret::<32>(1));
    let (message, mut mac) = (secret::<80>(2), key.mac(&[&secret::<80>(2)]));
    assert!(key.verify(&[&message], &mac));
    mac[31] ^= 1;
    assert!(!key.verify(&[&message], &mac));
}

fn derivation_sha256() {
    let mut out = [0; 76];
    let prk = hkdf_sha256::extract(b"salt", &secret::<32>(1)).prepare();
    hkdf_sha256::expand(&prk, &[&public::<32>(2)], &mut out).expect("three hash lengths at most");
    black_box(out);
}

fn cbc() {
    let (key, iv, mut buffer) = (secret(1), public(2), secret::<48>(3));
    let len = aes_cbc::encrypt(&key, &iv, &mut buffer, 37).expect("padding fits");
    assert_eq!(aes_cbc::decrypt(&key, &iv, &mut buffer[..len]), Ok(37));
    black_box(buffer);
}

fn source(seed: u8) -> KeySource {
    KeySource::new(&InputKey::from_bytes(&secret(seed)))
}

fn seal_keys(seed: u8) -> SealKeys {
    hazmat::seal_keys(&source(seed), &public(9), b"constant time").0
}

fn keys(seed: u8) -> ChunkKeys {
    hazmat::uncommitted_keys(&source(seed), &public(9), b"constant time")
}

fn identity(seed: u8) -> Identity {
    // The matrix of ML-KEM comes from a public seed, which is derived from the secret one.
    // Rejection sampling branches on it.
    let identity = unreported(|| {
        Identity::from_seeds(
            ed25519::Seed::from_bytes(&secret(seed)),
            mlkem768::Seed::from_bytes(&secret(seed)),
        )
    });
    declassify(identity.public());
    if let Some(kem) = identity.public().mlkem768() {
        declassify(kem.as_bytes());
    }
    declassify(identity.agreement().public_key());
    declassify(identity.signing().public_key());
    identity
}

const CONTEXT: &[u8] = b"endseal/constant-time@v1";
const CONTENT: &[u8] = b"at noon";

fn sealed_segment() -> Vec<u8> {
    let mut out = vec![0; CONTENT.len() + 16];
    ChunkSealer::new(seal_keys(1)).seal_last(CONTENT, &mut out);
    declassify(&out[..]);
    out
}

fn segment() {
    let sealed = sealed_segment();
    let mut opener = SliceOpener::new(keys(1), &sealed).expect("its length is right");
    let mut content = [0; CONTENT.len()];
    opener.pull(&mut content).expect("it was sealed under these keys");
    declassify(&content);
    assert_eq!(content, CONTENT);
}

fn wrong_tag() {
    for at in [CONTENT.len(), CONTENT.len() + 15] {
        let mut sealed = sealed_segment();
        sealed[at] ^= 1;
        let mut opener = SliceOpener::new(keys(1), &sealed).expect("its length is right");
        assert!(opener.pull(&mut [0; CONTENT.len()]).is_err());
    }
}

fn chacha20() {
    let mut text = secret::<150>(3);
    chacha20::apply_keystream(&secret(1), &public(2), 0, &mut text).expect("it is short");
    black_box(text);
}

fn signature() {
    let seed = ed25519::Seed::from_bytes(&secret(1));
    let key = ed25519::SigningKey::from_seed(seed);
    black_box(key.sign(b"message"));
}

fn secp256k1_key(seed: u8) -> secp256k1::SecretKey {
    secp256k1::SecretKey::from_bytes(&secret(seed)).ok().expect("it is in range")
}

fn secp256k1_agreement() {
    let other = unreported(|| secp256k1_key(2).public_key());
    declassify(&other);
    black_box(secp256k1_key(1).ecdh_x(&other));
}

fn secp256k1_signature() {
    let key = secp256k1::SigningKey::new(secp256k1_key(1));
    black_box(key.sign(b"message", &secret(2)));
}

/// Seals an envelope to two recipients with marked secrets. The envelope itself is public.
fn sealed_envelope(suite: Suite, sender: &Identity, reader: &Identity) -> Vec<u8> {
    let other = unreported(|| identity(7));
    let recipients = Recipients::from_identities([reader.public(), other.public()])
        .expect("two recipients with valid keys");
    let sealer = Sealer::new(sender, &recipients, CONTEXT).suite(suite);
    let sealed = sealer.seal(CONTENT, &mut Marked(3)).expect("the source does not fail");
    declassify(&sealed[..]);
    sealed
}

fn envelope_sealed(suite: Suite) {
    black_box(sealed_envelope(suite, &identity(1), &identity(2)));
}

/// Opens an envelope with a changed body, and as a reader without a slot. Both must be refused.
fn envelope_refused(suite: Suite) {
    let (sender, reader) = (identity(1), identity(2));
    let mut sealed = unreported(|| sealed_envelope(suite, &sender, &reader));
    let bodies = 100 + 2 * 4..100 + 2 * suite.slot_len();
    sealed[bodies].iter_mut().for_each(|byte| *byte ^= 1);
    for reader in [reader, identity(3)] {
        let opened = Opener::new(&reader, CONTEXT).open(&sealed, &mut Policy::new());
        declassify(&opened);
        assert!(opened.is_err());
    }
}

fn envelope_opened(suite: Suite) {
    let (sender, reader) = (identity(1), identity(2));
    let sealed = unreported(|| sealed_envelope(suite, &sender, &reader));
    let opener = Opener::new(&reader, CONTEXT);
    let opened = opener.open(&sealed, &mut Policy::new());
    declassify(&opened);
    let Ok(opened) = opened else { panic!("it was sealed to this reader") };
    declassify(&opened.content[..]);
    assert_eq!(opened.content, CONTENT);
}

fn secret_text_encoded() {
    let identity = identity(1);
    black_box(SecretText::encode(&identity));
}

fn secret_text_decoded() {
    let identity = identity(1);
    let text = unreported(|| SecretText::encode(&identity));
    let text = text.expose_secret();
    // The mark of the form is public, and so is that all characters are ASCII.
    declassify(&text.as_bytes()[..16]);
    let _ = black_box(SecretText::decode(text));
}
