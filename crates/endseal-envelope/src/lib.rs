//! One message or file to many recipients: hidden, signed, stateless.
//!
//! The format is docs/spec/envelope.md. A recipient is an Ed25519 public key; it costs 36 bytes and,
//! on a CPU with AVX-512 IFMA, a few microseconds. The sender is known to the recipients only, and
//! each 4 MiB of content are signed, so that no recipient can alter what another one reads.
//!
//! ```
//! use endseal_crypto::identity::Identity;
//! use endseal_crypto::random::OsRandom;
//! use endseal_envelope::{Opener, Policy, Recipients, Sealer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (alice, bob, carol) = (
//!     Identity::generate(&mut OsRandom)?,
//!     Identity::generate(&mut OsRandom)?,
//!     Identity::generate(&mut OsRandom)?,
//! );
//! let recipients = Recipients::from_identities([bob.public(), carol.public()])?;
//! let envelope = Sealer::new(&alice, &recipients).seal(b"at noon", &mut OsRandom)?;
//!
//! let opened = Opener::new(&bob).open(&envelope, &mut Policy::new())?;
//! assert_eq!(opened.content, b"at noon");
//! assert_eq!(&opened.sender, alice.public().ed25519());
//! # Ok(())
//! # }
//! ```
//!
//! * many envelopes for one reader: [`Opener::open_many`]
//! * streams: [`Sealer::writer`], [`Opener::reader`] (feature `std`)
//! * one recipient's part of an envelope: [`Envelope::view`]
//! * which suite: [`Suite::X25519`] unless contents must stay secret when quantum computers exist
//!
//! # What is not promised
//! No forward secrecy against the theft of a recipient's key. The number of recipients shows unless
//! [`Decoys`] hide it; the length of the content shows. An envelope can be delivered twice:
//! [`Policy::replay`].
//!
//! # Crate features
//! * `std` (default): [`Sealer::writer`] and [`Opener::reader`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod envelope;
mod error;
pub mod hazmat;
mod header;
mod kem;
mod open;
mod policy;
mod prelude;
#[cfg(feature = "std")]
mod reader;
mod recipients;
mod seal;
mod secrets;
mod slot;
mod suite;
#[cfg(feature = "std")]
mod writer;

pub use envelope::Envelope;
pub use error::{Malformed, OpenError, RecipientsError, SealError};
pub use header::{MAX_CONTEXT_LEN, MAX_SLOTS};
pub use open::{Opened, Opener};
pub use policy::{Policy, ReplayCache};
#[cfg(feature = "std")]
pub use reader::OpenReader;
pub use recipients::Recipients;
pub use seal::{Decoys, Sealer};
pub use suite::Suite;
#[cfg(feature = "std")]
pub use writer::SealWriter;
