//! Archives: what a person has on a device, sealed into one file (docs/spec/archive.md).
//!
//! | to do this | use |
//! |---|---|
//! | write an archive | [`write_archive`] |
//! | check an archive before anything is made of it | [`Archive::check`] |
//! | put its content into a new state directory | [`Archive::restore`] |
//! | get the keys of a link | [`Archive::open_link`], [`Archive::linked`] |

mod entry;
mod error;
mod read;
mod write;

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::label;
use endseal_keyring::device::Certificate;
use endseal_keyring::{LinkSecret, PersonRecord};

use crate::messages::Membership;

pub use error::{ReadArchiveError, WriteArchiveError};
pub use read::{Archive, LinkTarget};
pub use write::write_archive;

/// Context of the envelope.
const CONTEXT: &[u8] = label::ARCHIVE.as_str().as_bytes();
/// Version of the format.
const VERSION: u8 = 1;

/// Purpose of an archive, which decides what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveKind {
    /// A backup. The device that is made of it takes the place of the one that wrote it: it sends
    /// what waits.
    Backup,
    /// The answer to a link text. The device that is made of it stands beside the one that wrote
    /// it.
    Link,
}

/// Summary of an archive whose every byte was verified.
#[allow(missing_debug_implementations, reason = "refers to secrets")]
#[non_exhaustive]
pub struct ArchiveContent {
    /// Purpose of the archive.
    pub kind: ArchiveKind,
    /// Time at which it was written, in milliseconds since 1970.
    pub time: u64,
    /// The person record, signed by the root.
    pub person: PersonRecord,
    /// Registration at a hub; `None` if the device had none.
    pub hub: Option<Membership>,
    /// Number of contacts.
    pub contacts: usize,
    /// Number of texts, read and unread.
    pub texts: u64,
    /// Number of rosters, of all groups and epochs.
    pub rosters: u64,
}

/// Parties of an archive.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "refers to a secret")]
#[allow(clippy::exhaustive_structs, reason = "an archive has no others")]
pub struct ArchiveKeys<'a> {
    /// Device that writes the archive and signs it.
    pub device: &'a Identity,
    /// Newest record of the person.
    pub person: &'a PersonRecord,
    /// Receiver of a link; `None` for a backup, which is sealed to the root of the person.
    pub link: Option<LinkGrant<'a>>,
}

/// Keys that a new device gets with its link.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "refers to secrets")]
#[allow(clippy::exhaustive_structs, reason = "a link has no others")]
pub struct LinkGrant<'a> {
    /// Identity of the new device, to which the archive is sealed.
    pub to: &'a PublicIdentity,
    /// Secret of the link text.
    pub secret: &'a LinkSecret,
    /// Certificate of the new device, signed by the root.
    pub certificate: &'a Certificate,
    /// Root identity of the person.
    pub root: &'a Identity,
}

/// Keys of a link that a new device has received.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
#[non_exhaustive]
pub struct Linked {
    /// Root identity of the person.
    pub root: Identity,
    /// Certificate of this device.
    pub certificate: Certificate,
}
