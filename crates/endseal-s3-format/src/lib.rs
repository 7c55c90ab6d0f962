#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! The format is specified in `docs/spec/s3-object.md` of the project.
//!
//! | to do this | use |
//! |---|---|
//! | the length of the sealed object, and back | [`size`] |
//! | the metadata entry that every object has | [`Header`], [`Binding`], [`Place`] |
//! | an object that lost that entry | [`Header::has_copy`], [`Header::parse_copy`] |
//! | seal an object in one request | [`Header::whole`], then its [`WholeSealer`] |
//! | seal one in parts | [`Header::multipart`], [`UploadId`], [`PartSealer`], [`parked_key`], [`Record`] |
//! | tell later what an upload is, and what was sent | [`recorded_id_key`], [`Receipt`] |
//! | read all of a whole object | [`WholeOpener`] |
//! | store and read a folder marker, which has no body | [`marker`] |
//! | read a range, or all of a multipart object | [`Record::open_tail`], [`RangePlan`], [`RangeOpener`] |
//! | tags, metadata and names | [`entity_tag`], [`user_metadata`], [`names`] |
//!
//! Everything that opens takes the header and the content key, and compares the commitment before
//! it uses the key. Everything that is not authentic is one error: [`AuthenticationFailed`].
//! Nothing here reads or writes: what to send and what came are slices.
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

mod base64url;
mod body;
mod checksum;
mod chunks;
pub mod entity_tag;
mod error;
mod form;
mod header;
mod key_id;
pub mod marker;
pub mod names;
mod parked;
mod part;
mod place;
mod range;
mod receipt;
mod record;
mod recorded;
pub mod size;
mod tail;
mod upload_id;
pub mod user_metadata;

pub use endseal_crypto::segment::{InputKey as ContentKey, SALT_LEN};

pub use body::{WholeOpener, WholeSealer};
pub use checksum::{ChecksumAlgorithm, ContentChecksum};
pub use chunks::Taken;
pub use error::{
    AuthenticationFailed, HeaderError, ReceiptError, RecordError, SealError, UploadIdError,
};
pub use form::Form;
pub use header::{Bound, Header};
pub use key_id::{InvalidKeyId, KeyId};
pub use parked::{
    PARKED_METADATA, ParkedUpload, RESERVED_PREFIX, parked_folder, parked_folder_of, parked_key,
};
pub use part::{PartNumber, PartSealer};
pub use place::{Binding, Place};
pub use range::{RangeOpener, RangePlan};
pub use receipt::Receipt;
pub use record::{Entry, Record};
pub use recorded::{receipt_key, recorded_folder, recorded_folder_of, recorded_id_key};
pub use upload_id::{AnnouncedAlgorithm, AnnouncedChecksum, UploadId};

/// Name of the metadata entry with the header: `x-amz-meta-endseal`.
pub const HEADER_METADATA: &str = "endseal";
/// Name of the metadata entry with encrypted user metadata: `x-amz-meta-endseal-m`.
pub const USER_METADATA: &str = "endseal-m";

/// Returns true if a metadata entry with that name belongs to the format, and not to clients.
#[must_use]
pub fn is_own_metadata(name: &str) -> bool {
    matches!(name, HEADER_METADATA | USER_METADATA)
}
