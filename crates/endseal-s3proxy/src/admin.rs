//! Upkeep of a backend's buckets, beside serving them.
//!
//! | to do this | use |
//! |---|---|
//! | remove what uploads left that nobody will complete | [`clean()`] |
//! | wrap the content keys of all objects under the newest key | [`rewrap()`] |
//! | read all objects to their ends | [`scrub()`] |
//!
//! They ask the backend with the proxy's own credentials and go through the lists page by page, in
//! bounded memory. They can be interrupted at any point and run again: what is done is not done
//! twice. They need no proxy that serves, and disturb none that does.

mod ask;
mod backend;
mod clean;
mod conditional;
mod copy;
mod fault;
mod pages;
mod rewrap;
mod scrub;
mod upload;

pub use backend::check_backend;
pub use clean::{Clean, CleanEvent, CleanReport, clean};
pub use fault::Fault;
pub use rewrap::{NO_CONDITIONS, Outcome, Rewrap, RewrapEvent, RewrapReport, Skip, rewrap};
pub use scrub::{Checkpoint, Scrub, ScrubEvent, ScrubReport, Scrubbed, scrub};
