//! AES-GCM (NIST SP 800-38D) with nonces of 12 bytes: the kernel where key and CPU suit it,
//! elsewhere a library.

#[cfg(target_arch = "x86_64")]
use alloc::boxed::Box;

#[cfg(target_arch = "x86_64")]
use zeroize::Zeroize;

use super::backend;
#[cfg(target_arch = "x86_64")]
use super::constant_time;
#[cfg(target_arch = "x86_64")]
use crate::low::{cpu::HaveVaes, vaes::Aes256Gcm};

/// An expanded AES-256-GCM key, in the kernel of this CPU or in the library.
#[cfg_attr(
    target_arch = "x86_64",
    allow(clippy::large_enum_variant, reason = "as large as it was")
)]
pub(crate) enum AesGcm {
    #[cfg(target_arch = "x86_64")]
    Kernel(Box<Aes256Gcm>),
    Library(backend::AesGcm),
}

impl AesGcm {
    /// AES-128-GCM or AES-256-GCM by the length of the key; `None` for any other length.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if let (Ok(key), Some(token)) = (key.try_into(), HaveVaes::detect()) {
            return Some(Self::Kernel(Aes256Gcm::new(token, key)));
        }
        backend::AesGcm::new(key).map(Self::Library)
    }

    /// `out` is as long as `plaintext`, and the caller keeps both below the limit of the mode.
    pub(crate) fn seal(
        &self,
        nonce: &[u8; 12],
        plaintext: &[u8],
        out: &mut [u8],
        tag: &mut [u8; 16],
    ) {
        self.seal_bound(nonce, &[], plaintext, out, tag);
    }

    /// Encrypts as [`Self::seal`] does, and authenticates the associated data `data` as well.
    pub(crate) fn seal_bound(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        plaintext: &[u8],
        out: &mut [u8],
        tag: &mut [u8; 16],
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Kernel(gcm) => *tag = gcm.seal(nonce, data, plaintext, out),
            Self::Library(gcm) => gcm.seal_bound(nonce, data, plaintext, out, tag),
        }
    }

    /// [`Self::seal_bound`] of `buffer[from..]` into the beginning of `buffer`: the tag. Nothing
    /// behind the ciphertext is written. `from` is not beyond the end.
    pub(crate) fn seal_within(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        buffer: &mut [u8],
        from: usize,
    ) -> [u8; 16] {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Kernel(gcm) => gcm.seal_within(nonce, data, buffer, from),
            Self::Library(gcm) => gcm.seal_within(nonce, data, buffer, from),
        }
    }

    /// Opens `ciphertext` into `out` of the same length, which is all zero if the tag is wrong.
    pub(crate) fn open(
        &self,
        nonce: &[u8; 12],
        ciphertext: &[u8],
        tag: &[u8; 16],
        out: &mut [u8],
    ) -> Result<(), ()> {
        self.open_bound(nonce, &[], ciphertext, tag, out)
    }

    /// Decrypts as [`Self::open`] does, and checks the associated data `data` as well.
    pub(crate) fn open_bound(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        ciphertext: &[u8],
        tag: &[u8; 16],
        out: &mut [u8],
    ) -> Result<(), ()> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Kernel(gcm) => {
                let expected = gcm.open_unverified(nonce, data, ciphertext, out);
                if constant_time::eq(&expected, tag) {
                    return Ok(());
                }
                out.zeroize();
                Err(())
            }
            Self::Library(gcm) => gcm.open_bound(nonce, data, ciphertext, tag, out),
        }
    }

    /// Opens `buffer[from..]` into the beginning of `buffer`, as [`Self::open_bound`] does. If the
    /// tag is wrong, the place of the content is zeroed. Nothing behind it is written. `from` is
    /// not beyond the end.
    pub(crate) fn open_within(
        &self,
        nonce: &[u8; 12],
        data: &[u8],
        buffer: &mut [u8],
        from: usize,
        tag: &[u8; 16],
    ) -> Result<(), ()> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Kernel(gcm) => {
                let expected = gcm.open_unverified_within(nonce, data, buffer, from);
                if constant_time::eq(&expected, tag) {
                    return Ok(());
                }
                let len = buffer.len() - from;
                buffer[..len].zeroize();
                Err(())
            }
            Self::Library(gcm) => gcm.open_within(nonce, data, buffer, from, tag),
        }
    }
}
