//! Errors: one for everything that does not open, one for each kind of writing.

use core::fmt;

use endseal_crypto::random::RandomError;
use endseal_crypto::segment;

/// The object, its header or its upload id was changed, cut, extended or put in another place, or
/// the key is another one. Nothing that was not authenticated has been released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "it never says more than this")]
pub struct AuthenticationFailed;

impl fmt::Display for AuthenticationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the object is not authentic")
    }
}

impl core::error::Error for AuthenticationFailed {}

impl From<segment::AuthenticationFailed> for AuthenticationFailed {
    fn from(_: segment::AuthenticationFailed) -> Self {
        Self
    }
}

/// An enum whose variants each have one text.
macro_rules! error {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)* })
            }
        }

        impl core::error::Error for $name {}
    };
    (random $($name:ident),*) => {
        $(impl From<RandomError> for $name {
            fn from(_: RandomError) -> Self {
                Self::Random
            }
        })*
    };
}
pub(super) use error;

error! {
    /// A header that cannot be.
    HeaderError {
        /// The content is longer than 5 TiB.
        ContentTooLong = "the content is longer than 5 TiB",
        /// The key id is empty, longer than 64 bytes, or has other characters than `a-z 0-9 . _ -`.
        KeyId = "a key id is 1 to 64 characters out of a-z 0-9 . _ -",
        /// The provider's wrapped key is empty or longer than 1,024 bytes.
        WrappedKey = "a wrapped key has 1 to 1,024 bytes",
        /// The source of randomness failed.
        Random = "the source of randomness failed",
    }
}

error! {
    /// Content that could not be sealed.
    SealError {
        /// More or less content came than was announced: the client's request was cut, or lied.
        Length = "the content has another length than was announced",
        /// The content is longer than 5 TiB.
        ContentTooLong = "the content is longer than 5 TiB",
        /// The source of randomness failed.
        Random = "the source of randomness failed",
    }
}

error! {
    /// Parts that make no object.
    RecordError {
        /// No part, or more than 10,000.
        Count = "an object has 1 to 10,000 parts",
        /// The part numbers do not rise.
        Order = "the part numbers are not in ascending order",
        /// A part that is not the last has less than 5 MiB.
        PartTooSmall = "a part that is not the last has less than 5 MiB",
        /// The content is longer than 5 TiB.
        ContentTooLong = "the content is longer than 5 TiB",
        /// A composite checksum without a checksum.
        Composite = "a checksum is marked as composite, but there is no checksum",
    }
}

error! {
    /// An upload id that cannot be.
    UploadIdError {
        /// The header is that of a whole object.
        Form = "the header is that of a whole object",
        /// The type of the announced checksum is not one of its algorithm.
        Checksum = "the checksum type is not one of the algorithm",
        /// The backend's upload id is empty or longer than 1,024 bytes.
        BackendId = "the upload id of the backend is empty or longer than 1,024 bytes",
        /// The source of randomness failed.
        Random = "the source of randomness failed",
    }
}

error! {
    /// A receipt that cannot be.
    ReceiptError {
        /// The salt consists of zeros, which a part may not have.
        Salt = "a part has no salt of zeros",
        /// The content is longer than 5 TiB.
        ContentTooLong = "the content is longer than 5 TiB",
        /// The backend's entity tag is empty or longer than 1,024 bytes.
        EntityTag = "the entity tag of the backend is empty or longer than 1,024 bytes",
        /// The source of randomness failed.
        Random = "the source of randomness failed",
    }
}

error!(random HeaderError, SealError, UploadIdError, ReceiptError);
