#![doc = include_str!("../README.md")]
//!
//! # Format
//!
//! The format is specified in `docs/spec/envelope.md` of the project.
//!
//! # Streams
//! [`SealStream`] and [`OpenStream`] take content in pieces and do no I/O; they hold a chunk and a
//! block in memory. [`Sealer::writer`] and [`Opener::reader`] (feature `std`) are the same over
//! `Write` and `Read`. A reader releases verified blocks; the content is complete when `read` has
//! returned 0. [`Sealer::stream_detached`] and [`DetachedOpenStream`] leave AES-GCM to a caller who
//! has a faster one, such as Web Cryptography beside WebAssembly.
//!
//! ```
//! # use endseal_crypto::{identity::Identity, random::OsRandom};
//! # use endseal_envelope::{Opener, Policy, Recipients, Sealer};
//! # #[cfg(feature = "std")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (alice, bob) = (Identity::generate(&mut OsRandom)?, Identity::generate(&mut OsRandom)?);
//! # let recipients = Recipients::from_identities([bob.public()])?;
//! # let context = b"example.org/files@v1";
//! let mut writer = Sealer::new(&alice, &recipients, context).writer(Vec::new(), &mut OsRandom)?;
//! std::io::copy(&mut &b"a long text"[..], &mut writer)?;
//! let envelope = writer.finish()?;
//!
//! let mut reader = Opener::new(&bob, context).reader(&envelope[..], Policy::new())?;
//! assert_eq!(reader.sender(), alice.public().ed25519());
//! let mut content = Vec::new();
//! std::io::copy(&mut reader, &mut content)?;
//! assert_eq!(content, b"a long text");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "std"))]
//! # fn main() {}
//! ```
//!
//! # Policy and backlog
//! A [`Policy`] refuses authentic envelopes by suite, sender, age or as replays.
//! [`Opener::open_many`] opens many envelopes for one reader at a fraction of the cost of one by
//! one.
//!
//! ```
//! # use std::collections::HashSet;
//! # use endseal_crypto::{ed25519, identity::Identity, random::OsRandom};
//! # use endseal_envelope::{OpenError, Opener, Policy, Recipients, ReplayCache, Sealer, Suite};
//! #[derive(Default)]
//! struct Seen(HashSet<(ed25519::PublicKey, [u8; 16])>);
//!
//! impl ReplayCache for Seen {
//!     fn is_new(&self, sender: &ed25519::PublicKey, message_id: &[u8; 16], _time: u64) -> bool {
//!         !self.0.contains(&(*sender, *message_id))
//!     }
//!
//!     fn remember(
//!         &mut self,
//!         sender: &ed25519::PublicKey,
//!         message_id: &[u8; 16],
//!         _time: u64,
//!     ) -> bool {
//!         self.0.insert((*sender, *message_id))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (alice, bob) = (Identity::generate(&mut OsRandom)?, Identity::generate(&mut OsRandom)?);
//! # let recipients = Recipients::from_identities([bob.public()])?;
//! # let context = b"example.org/chat@v1";
//! let sealer = Sealer::new(&alice, &recipients, context);
//! let (one, other) = (sealer.seal(b"one", &mut OsRandom)?, sealer.seal(b"other", &mut OsRandom)?);
//! let classical = sealer.suite(Suite::X25519).seal(b"classical", &mut OsRandom)?;
//!
//! let mut seen = Seen::default();
//! let mut policy = Policy::new()
//!     .suites([Suite::X25519MlKem768])
//!     .senders([*alice.public().ed25519()])
//!     .replay(&mut seen);
//! let backlog = [&one[..], &other, &one, &classical];
//! let outcomes = Opener::new(&bob, context).open_many(&backlog, &mut policy);
//! let errors: Vec<_> = outcomes.into_iter().map(Result::err).collect();
//! let refused = OpenError::SuiteNotAccepted(Suite::X25519);
//! assert_eq!(errors, [None, None, Some(OpenError::Replayed), Some(refused)]);
//! # Ok(())
//! # }
//! ```
//!
//! # Views
//! A delivery service can send each recipient its own slot, if the sealer names it.
//!
//! ```
//! # use endseal_crypto::{identity::Identity, random::OsRandom};
//! # use endseal_envelope::{Envelope, Opener, Policy, Recipients, Sealer};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (alice, bob) = (Identity::generate(&mut OsRandom)?, Identity::generate(&mut OsRandom)?);
//! # let carol = Identity::generate(&mut OsRandom)?;
//! # let recipients = Recipients::from_identities([bob.public(), carol.public()])?;
//! # let context = b"example.org/chat@v1";
//! let sealer = Sealer::new(&alice, &recipients, context);
//! let mut envelope = vec![0; usize::try_from(sealer.sealed_len(7)?)?];
//! let positions = sealer.seal_into(b"at noon", &mut envelope, &mut OsRandom)?;
//!
//! let key = bob.public().ed25519();
//! let bobs = recipients.keys().position(|it| it == key).ok_or("a recipient")?;
//! let view = Envelope::parse(&envelope)?.view(positions[bobs] as usize).ok_or("a slot")?;
//! assert!(view.len() < envelope.len());
//! let opened = Opener::new(&bob, context).open(&view, &mut Policy::new())?;
//! assert_eq!(opened.content, b"at noon");
//! # Ok(())
//! # }
//! ```
//!
//! # Not promised
//! * Forward secrecy against the theft of a recipient's key.
//! * A hidden length of the content, or a hidden number of recipients without [`Decoys`].
//! * One delivery: an envelope can be sent again ([`Policy::replay`]).
//! * One form: a relay can add and remove slots. Do not find duplicates by a hash of the envelope.
//!
//! # Crate features
//! Unless one implies another, each can be chosen by itself; `std` and `aws-lc` are the default.
//!
//! * `std`: [`Sealer::writer`] and [`Opener::reader`].
//! * `aws-lc` (implies `std`): the back end of hosts, which needs a C compiler, and its `OsRandom`.
//! * `getrandom`: `OsRandom` without `aws-lc`.
//! * `pure`: BLAKE3 without a C compiler.
//! * `wasm-simd`: BLAKE3 with the vectors of WebAssembly.
//! * `parallel` (implies `std`): `Sealer::threads`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod blocks;
mod detached_open_stream;
mod envelope;
mod error;
pub mod hazmat;
mod header;
mod kem;
mod limits;
mod message_info;
mod open;
mod open_stream;
mod policy;
mod prelude;
#[cfg(feature = "std")]
mod reader;
mod recipients;
mod records;
mod seal;
mod seal_stream;
mod secrets;
mod slot;
mod start;
#[doc(hidden)]
pub mod steps;
mod suite;
#[cfg(feature = "std")]
mod writer;

pub use blocks::LastBlock;
pub use detached_open_stream::DetachedOpenStream;
pub use envelope::Envelope;
pub use error::{Malformed, OpenError, RecipientsError, SealError};
pub use limits::{MAX_CONTEXT_LEN, MAX_SLOTS};
pub use message_info::MessageInfo;
pub use open::{Opened, Opener};
pub use open_stream::OpenStream;
pub use policy::{Policy, ReplayCache};
#[cfg(feature = "std")]
pub use reader::OpenReader;
pub use recipients::Recipients;
pub use seal::{Decoys, Sealer};
pub use seal_stream::SealStream;
pub use suite::Suite;
#[cfg(feature = "std")]
pub use writer::SealWriter;
