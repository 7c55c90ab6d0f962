//! Maintenance of the backend's buckets, independent of a running proxy.
//!
//! | to do this | use |
//! |---|---|
//! | remove leftovers of uploads that will not be completed | [`clean()`] |
//! | wrap the content keys of all objects under the newest key | [`rewrap()`] |
//! | seal the plaintext objects of a bucket | [`import()`] |
//! | seal what another system sealed | [`import_foreign()`] |
//! | read and authenticate all objects completely | [`scrub()`] |
//! | open the objects of a copy that has no metadata | [`recover()`] |
//!
//! The functions use the proxy's own credentials and process the lists page by page, in bounded
//! memory. They can be interrupted at any time and repeated: completed work is not done again. They
//! do not need a running proxy and do not disturb one.

mod ask;
mod backend;
mod clean;
mod conditional;
mod copy;
mod fault;
mod foreign;
mod import;
mod objects;
mod pages;
mod recover;
mod rewrap;
mod scrub;
mod unfinished;
mod upload;

pub use backend::check_backend;
pub use clean::{Clean, CleanEvent, CleanReport, clean};
pub use fault::Fault;
pub use foreign::{
    ForeignFormat, ForeignKeyError, ForeignSource, RcloneCrypt, RcloneRemote, S3epKeys,
};
pub use import::{
    HAS_SEALED, Import, ImportReport, Imported, WRITES_UNCONDITIONAL, import, import_foreign,
};
pub use recover::{Recover, RecoverReport, Recovered, recover};
pub use rewrap::{NO_CONDITIONS, Outcome, Rewrap, RewrapEvent, RewrapReport, Skip, rewrap};
pub use scrub::{Checkpoint, Scrub, ScrubEvent, ScrubReport, Scrubbed, scrub};
