//! secp256k1 of libsecp256k1, with a context of our own. The twin is `mid/secp256k1/rustcrypto.rs`,
//! with the same names.
//!
//! The safe wrapper, the crate `secp256k1`, blinds its global context again after each use of a
//! secret, which costs as much as a signature. This context is blinded once.

use core::ptr::{self, NonNull};
use std::sync::OnceLock;

use secp256k1_sys as ffi;
use secp256k1_sys::types::{c_int, c_uchar, c_void};

use super::wipe::{WipeOnDrop, wipe};

/// The context of operations that multiply the base point by a secret.
struct Context(NonNull<ffi::Context>);

// SAFETY: a context belongs to no thread, and nothing below changes it after construction.
unsafe impl Send for Context {}
// SAFETY: libsecp256k1 documents that several threads may use a context at once as long as none
// randomises or destroys it; nothing below does after construction.
unsafe impl Sync for Context {}

/// The only context. It is never freed.
///
/// Multiplications of the base point are constant-time without blinding, too: if there is no
/// randomness for it, they do without.
fn context() -> *const ffi::Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    let made = CONTEXT.get_or_init(|| {
        // SAFETY: these flags are for every use. Exhausted memory ends the process.
        let context = unsafe { ffi::secp256k1_context_create(ffi::SECP256K1_START_NONE) };
        let mut seed = [0; 32];
        if aws_lc_rs::rand::fill(&mut seed).is_ok() {
            // SAFETY: nothing else has the context yet; `seed` has 32 readable bytes.
            let done = unsafe { ffi::secp256k1_context_randomize(context, seed.as_ptr()) };
            debug_assert_eq!(done, 1, "blinding does not fail");
        }
        wipe(&mut seed);
        Context(context)
    });
    made.0.as_ptr()
}

/// The context of everything else: a constant of the library.
fn static_context() -> *const ffi::Context {
    // SAFETY: the library never writes to this static.
    unsafe { ffi::secp256k1_context_static }
}

/// Returns true for a secret key: big-endian, in `1..n`.
pub(crate) fn is_secret_key(secret: &[u8; 32]) -> bool {
    // SAFETY: the context is live; `secret` has 32 readable bytes.
    let verdict = unsafe { ffi::secp256k1_ec_seckey_verify(static_context(), secret.as_ptr()) };
    verdict == 1
}

/// A point with an even y, decompressed.
#[derive(Clone, Copy)]
pub(crate) struct Point(ffi::PublicKey);

impl Point {
    /// lift_x of BIP-340: `None` if `x` is not below p, or no point has it.
    pub(crate) fn lift_x(x: &[u8; 32]) -> Option<Self> {
        let mut compressed = [2; 33];
        compressed[1..].copy_from_slice(x);
        // SAFETY: nothing reads the zeros before the next call writes a point.
        let mut point = unsafe { ffi::PublicKey::new() };
        let len = compressed.len();
        // SAFETY: the context is live, `point` is writable, `compressed` has `len` readable bytes.
        let done = unsafe {
            ffi::secp256k1_ec_pubkey_parse(static_context(), &mut point, compressed.as_ptr(), len)
        };
        (done == 1).then_some(Self(point))
    }

    /// The x-coordinate of secret * self. The caller has checked `secret`.
    pub(crate) fn multiply_x(&self, secret: &[u8; 32], x: &mut [u8; 32]) {
        // SAFETY: the context is live, the point valid; `secret` has 32 readable bytes and `x` 32
        // writable ones, which is what `take_x` asks for.
        let done = unsafe {
            ffi::secp256k1_ecdh(
                static_context(),
                x.as_mut_ptr(),
                &self.0,
                secret.as_ptr(),
                Some(take_x),
                ptr::null_mut(),
            )
        };
        assert_eq!(done, 1, "only a secret key out of range fails");
    }

    /// Writes the x-coordinate of secret * P, where P has the x-coordinate `public`. `None` if
    /// [`Point::lift_x`] is. The caller has checked `secret`.
    pub(crate) fn multiply_x_of(
        public: &[u8; 32],
        secret: &[u8; 32],
        x: &mut [u8; 32],
    ) -> Option<()> {
        Self::lift_x(public)?.multiply_x(secret, x);
        Some(())
    }

    /// Verifies a signature of `message` (BIP-340). Returns true if it is valid.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let (x_only, _) = x_only(&self.0);
        // SAFETY: the context is live, the key valid; `signature` has 64 readable bytes, and
        // `message` as many as its length says.
        let verdict = unsafe {
            ffi::secp256k1_schnorrsig_verify(
                static_context(),
                signature.as_ptr(),
                message.as_ptr(),
                message.len(),
                &x_only,
            )
        };
        verdict == 1
    }
}

/// The hash of ECDH that hashes nothing.
///
/// # Safety
/// `x` has 32 readable bytes, `output` 32 writable ones, and they do not overlap.
unsafe extern "C" fn take_x(
    output: *mut c_uchar,
    x: *const c_uchar,
    _y: *const c_uchar,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: the caller's duty, which libsecp256k1 fulfils.
    unsafe { output.copy_from_nonoverlapping(x, 32) };
    1
}

/// The x-only key of a valid point, and true if its y is odd. Nothing is decompressed.
fn x_only(point: &ffi::PublicKey) -> (ffi::XOnlyPublicKey, bool) {
    // SAFETY: nothing reads the zeros before the next call writes a key.
    let mut x_only = unsafe { ffi::XOnlyPublicKey::new() };
    let mut is_odd = 0;
    // SAFETY: the context is live, `point` valid, the other two are writable.
    let done = unsafe {
        ffi::secp256k1_xonly_pubkey_from_pubkey(static_context(), &mut x_only, &mut is_odd, point)
    };
    assert_eq!(done, 1, "a valid point has an x-only key");
    (x_only, is_odd == 1)
}

/// A secret key and its point.
pub(crate) struct KeyPair(WipeOnDrop<ffi::Keypair>);

impl KeyPair {
    /// The pair of `secret`, which the caller has checked.
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        // SAFETY: nothing reads the zeros before the next call writes a pair.
        let mut pair = Self(WipeOnDrop::new(unsafe { ffi::Keypair::new() }));
        // SAFETY: the context is live, the pair writable; `secret` has 32 readable bytes.
        let done =
            unsafe { ffi::secp256k1_keypair_create(context(), &mut *pair.0, secret.as_ptr()) };
        assert_eq!(done, 1, "only a secret key out of range fails");
        pair
    }

    /// The public key, and its x-coordinate.
    pub(crate) fn public(&self) -> (Point, [u8; 32]) {
        // SAFETY: nothing reads the zeros before the next call writes a point.
        let mut point = unsafe { ffi::PublicKey::new() };
        // SAFETY: the context is live, the pair valid, `point` writable.
        let done = unsafe { ffi::secp256k1_keypair_pub(static_context(), &mut point, &*self.0) };
        assert_eq!(done, 1, "a pair has a public key");
        let (x_only, is_odd) = x_only(&point);
        if is_odd {
            // SAFETY: the context is live, `point` valid and writable.
            let done = unsafe { ffi::secp256k1_ec_pubkey_negate(static_context(), &mut point) };
            assert_eq!(done, 1, "every point has a negative");
        }
        let mut x = [0; 32];
        // SAFETY: the context is live, the key valid; `x` has 32 writable bytes.
        let done = unsafe {
            ffi::secp256k1_xonly_pubkey_serialize(static_context(), x.as_mut_ptr(), &x_only)
        };
        assert_eq!(done, 1, "a valid key has an encoding");
        (Point(point), x)
    }

    /// Signing of BIP-340, with `aux` as the auxiliary random data.
    pub(crate) fn sign(&self, message: &[u8], aux: &[u8; 32]) -> [u8; 64] {
        let extra = ffi::SchnorrSigExtraParams::new(None, aux.as_ptr().cast());
        let mut signature = [0; 64];
        // SAFETY: the context is live, the pair valid; `signature` has 64 writable bytes, `message`
        // as many readable ones as its length says, and `aux`, which `extra` points to, 32.
        let done = unsafe {
            ffi::secp256k1_schnorrsig_sign_custom(
                context(),
                signature.as_mut_ptr(),
                message.as_ptr(),
                message.len(),
                &*self.0,
                &extra,
            )
        };
        assert_eq!(done, 1, "a nonce is zero with a probability of 2^-256");
        signature
    }
}
