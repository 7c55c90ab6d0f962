//! Secret bytes as types.
//!
//! Each role has its own type, so that one key cannot be passed where another is expected. A secret
//! lives in one heap allocation (moving it copies a pointer) or, without an allocator, inline. It
//! is wiped when dropped, compares in constant time, has no `Debug`, and leaves its type only
//! through `expose_secret`.

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
/// Without an allocator (or where many secrets lie in one place that is wiped) the bytes are held
/// `inline`. Each move of such a secret leaves a copy behind that is not wiped: it is made where it
/// stays, and passed by reference.
///
/// ```
/// endseal_crypto::secret_bytes! {
///     /// Encrypts one diary, on a microcontroller.
///     pub inline struct InlineDiaryKey[32];
/// }
/// assert_eq!(size_of::<InlineDiaryKey>(), InlineDiaryKey::LEN);
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
        $crate::secret_bytes! {
            @held in ($crate::__private::Box<[u8; $len]>, $crate::__private::Box::new([0; $len]))
            $(#[$meta])* $vis struct $name[$len];
        }
    };
    ($(#[$meta:meta])* $vis:vis inline struct $name:ident[$len:expr];) => {
        $crate::secret_bytes! {
            @held in ([u8; $len], [0; $len])
            $(#[$meta])* $vis struct $name[$len];
        }
    };
    (
        @held in ($held:ty, $zero:expr)
        $(#[$meta:meta])* $vis:vis struct $name:ident[$len:expr];
    ) => {
        $(#[$meta])*
        #[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
        $vis struct $name($held);

        #[allow(dead_code, reason = "not every role needs every way in")]
        impl $name {
            /// Length of the secret in bytes.
            $vis const LEN: usize = $len;

            /// Copies the secret from `bytes`, which the caller MUST wipe.
            $vis fn from_bytes(bytes: &[u8; $len]) -> Self {
                Self::init_with(|own| own.copy_from_slice(bytes))
            }

            /// Makes the secret in the place that it is held in.
            $vis fn init_with(init: impl FnOnce(&mut [u8; $len])) -> Self {
                let mut own = Self($zero);
                init(&mut own.0);
                own
            }

            /// Like [`Self::init_with`], for a source that can fail.
            ///
            /// # Errors
            /// The error of `init`; the bytes that it wrote are wiped.
            $vis fn try_init_with<E>(
                init: impl FnOnce(&mut [u8; $len]) -> Result<(), E>,
            ) -> Result<Self, E> {
                let mut own = Self($zero);
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

pub use crate::low::wipe::wipe;
use crate::mid::constant_time;
pub use crate::secret_bytes;
pub use zeroize::{Zeroize, Zeroizing};

/// Marks `value`, which was computed from secrets, as public: a verdict that is returned, or bytes
/// that are sent. Under valgrind (`tests/constant-time`) its memory counts as public from then on;
/// otherwise this does nothing.
#[doc(hidden)]
#[inline(always)]
pub fn declassify<T: Copy>(value: T) -> T {
    crate::low::taint::declassify(value)
}

/// Returns true if two byte strings are equal, in time that depends on their lengths alone.
#[must_use]
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    constant_time::eq(a, b)
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "alloc")]
    secret_bytes! {
        /// A key of the tests.
        struct BoxedKey[32];
    }
    secret_bytes! {
        /// A key of the tests that is held inline.
        inline struct InlineKey[32];
    }

    /// Both forms do the same.
    macro_rules! for_both {
        ($test:ident) => {
            #[cfg(feature = "alloc")]
            $test!(BoxedKey);
            $test!(InlineKey);
        };
    }

    #[test]
    fn equality_is_that_of_the_bytes() {
        macro_rules! test {
            ($key:ident) => {
                let key = $key::from_bytes(&[1; 32]);
                assert!(key == $key::from_bytes(&[1; 32]));
                for i in 0..32 {
                    let other = $key::init_with(|b| {
                        b.fill(1);
                        b[i] ^= 0x80;
                    });
                    assert!(key != other);
                }
            };
        }
        for_both!(test);
    }

    #[test]
    fn a_failed_source_gives_its_error() {
        macro_rules! test {
            ($key:ident) => {
                let failed = $key::try_init_with(|_| Err("no"));
                assert_eq!(failed.err(), Some("no"));
            };
        }
        for_both!(test);
    }

    #[test]
    fn an_inline_secret_is_nothing_but_its_bytes() {
        assert_eq!(size_of::<InlineKey>(), InlineKey::LEN);
        assert_eq!(*InlineKey::from_bytes(&[9; 32]).expose_secret(), [9; 32]);
    }

    #[test]
    fn constant_time_eq_sees_lengths() {
        assert!(super::constant_time_eq(b"ab", b"ab"));
        assert!(!super::constant_time_eq(b"ab", b"abc"));
        assert!(!super::constant_time_eq(b"ab", b"ac"));
    }
}
