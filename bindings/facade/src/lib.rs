//! Owned types of endseal, from which libraries of other languages are made: no lifetimes and no
//! generics, all of them `Send` and `Sync`. Secrets stay behind [`Identity`], which has no getter.

mod detached_open_stream;
mod error;
mod identity;
mod inspect;
#[cfg(feature = "nostr")]
pub mod nostr;
mod open;
mod open_stream;
mod passphrase;
mod recipients;
mod roster;
#[cfg(feature = "s3")]
mod s3;
mod seal;
mod seal_stream;

pub use detached_open_stream::DetachedOpenStream;
#[cfg(feature = "aws-lc")]
pub use endseal_crypto::random::OsRandom;
pub use endseal_crypto::random::{Random, RandomError};
pub use error::Error;
pub use identity::{Identity, PublicIdentity};
pub use inspect::{Inspected, inspect};
pub use open::{AgeLimit, Info, OpenOptions, Opened, open, open_many};
pub use open_stream::OpenStream;
pub use passphrase::Passphrase;
pub use recipients::Recipients;
pub use roster::{Member, Roster};
#[cfg(feature = "s3")]
pub use s3::{S3Object, S3Opener, S3Place, S3Ring};
pub use seal::{SealOptions, SuiteChoice, seal, seal_into, sealed_len};
pub use seal_stream::SealStream;
