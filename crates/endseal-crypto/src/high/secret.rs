//! Secret bytes as types.
//!
//! Each role has its own type, so that one key cannot be passed where another is expected. A secret
//! lives in one heap allocation (moving it copies a pointer), is wiped when dropped, compares in
//! constant time, has no `Debug`, and leaves its type only through `expose_secret`.

/// Defines a secret type of a fixed length.
///
/// ```
/// endseal_crypto::secret_bytes! {
///     /// Encrypts one diary.
///     pub struct DiaryKey[32];
/// }
/// let key = DiaryKey::from_bytes(&[7; 32]);
/// assert!(key == DiaryKey::init_with(|bytes| bytes.fill(7)));
/// assert_eq!(key.expose_secret().len(), DiaryKey::LEN);
/// ```
///
/// A secret cannot be printed:
///
/// ```compile_fail
/// endseal_crypto::secret_bytes! {
///     /// Encrypts one diary.
///     pub struct DiaryKey[32];
/// }
/// println!("{:?}", DiaryKey::from_bytes(&[7; 32]));
/// ```
#[macro_export]
macro_rules! secret_bytes {
    ($(#[$meta:meta])* $vis:vis struct $name:ident[$len:expr];) => {
        $(#[$meta])*
        #[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
        $vis struct $name($crate::__private::Box<[u8; $len]>);

        #[allow(dead_code, reason = "not every role needs every way in")]
        impl $name {
            /// Length in bytes.
            $vis const LEN: usize = $len;

            /// Copies the secret from `bytes`, which the caller MUST wipe.
            $vis fn from_bytes(bytes: &[u8; $len]) -> Self {
                Self::init_with(|own| own.copy_from_slice(bytes))
            }

            /// Makes the secret in its final place.
            $vis fn init_with(init: impl FnOnce(&mut [u8; $len])) -> Self {
                let mut own = $crate::__private::Box::new([0; $len]);
                init(&mut own);
                Self(own)
            }

            /// Like [`Self::init_with`], for a source that can fail.
            ///
            /// # Errors
            /// The source's; what it wrote is wiped.
            $vis fn try_init_with<E>(
                init: impl FnOnce(&mut [u8; $len]) -> Result<(), E>,
            ) -> Result<Self, E> {
                let mut own = Self($crate::__private::Box::new([0; $len]));
                init(&mut own.0)?;
                Ok(own)
            }

            /// The bytes. The caller MUST NOT print, log or compare them with `==`.
            $vis fn expose_secret(&self) -> &[u8; $len] {
                &self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                $crate::__private::wipe(&mut self.0[..]);
            }
        }

        impl $crate::__private::zeroize::ZeroizeOnDrop for $name {}

        impl $crate::__private::subtle::ConstantTimeEq for $name {
            fn ct_eq(&self, other: &Self) -> $crate::__private::subtle::Choice {
                $crate::__private::subtle::ConstantTimeEq::ct_eq(&self.0[..], &other.0[..])
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                $crate::__private::subtle::ConstantTimeEq::ct_eq(self, other).into()
            }
        }

        impl Eq for $name {}
    };
}

use crate::mid::backend;
pub use crate::secret_bytes;
pub use zeroize::{Zeroize, Zeroizing};

/// `value`, which depends on secrets and is public all the same: a verdict that is returned, bytes
/// that are sent. It says so to the run under valgrind (`tests/constant-time`) and does nothing
/// else.
#[doc(hidden)]
#[inline(always)]
pub fn declassify<T: Copy>(value: T) -> T {
    crate::low::taint::declassify(value)
}

/// Returns true if two byte strings are equal, in time that depends on their lengths alone.
#[must_use]
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    backend::constant_time_eq(a, b)
}

#[cfg(test)]
mod tests {
    secret_bytes! {
        /// A key of the tests.
        struct TestKey[32];
    }

    #[test]
    fn equality_is_that_of_the_bytes() {
        let key = TestKey::from_bytes(&[1; 32]);
        assert!(key == TestKey::from_bytes(&[1; 32]));
        for i in 0..32 {
            let other = TestKey::init_with(|b| {
                b.fill(1);
                b[i] ^= 0x80;
            });
            assert!(key != other);
        }
    }

    #[test]
    fn a_failed_source_gives_its_error() {
        let failed = TestKey::try_init_with(|_| Err("no"));
        assert_eq!(failed.err(), Some("no"));
    }

    #[test]
    fn constant_time_eq_sees_lengths() {
        assert!(super::constant_time_eq(b"ab", b"ab"));
        assert!(!super::constant_time_eq(b"ab", b"abc"));
        assert!(!super::constant_time_eq(b"ab", b"ac"));
    }
}
