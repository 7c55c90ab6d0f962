//! The XML bodies of S3 that the proxy reads or changes.
//!
//! A body that is changed is not modelled. [`rewrite()`] and [`rewrite_result`] find the elements
//! that they know and copy everything else byte for byte: unknown elements, attributes, comments
//! and blanks. Entities but the five of XML 1.0 and document types are refused, and nothing is
//! expanded.
//!
//! | body | use |
//! |---|---|
//! | `ListBucketResult` (v1, v2), `ListVersionsResult`, `ListMultipartUploadsResult`, `ListPartsResult`, `Delete`, `DeleteResult` | [`rewrite()`], [`entries`] |
//! | `ListBucketResult`, `ListVersionsResult`, `ListMultipartUploadsResult` with all outside the entries replaced | [`ListHead`], [`relist`] |
//! | the same lists, assembled from entries of several pages | [`ListPage`], [`assemble()`] |
//! | `InitiateMultipartUploadResult`, `CompleteMultipartUploadResult`, `CopyObjectResult`, `CopyPartResult`, `PostResponse`, `Error` | [`rewrite_result`], [`Fields`] |
//! | `CompleteMultipartUpload` | [`read_complete`], [`write_complete`] |
//! | `Delete` | [`read_delete`] |
//! | `ListPartsResult` | [`read_parts`] |
//! | lists of buckets, objects, versions and uploads, read page by page | [`read_buckets`], [`read_objects`], [`read_versions`], [`read_uploads`] |
//! | `RestoreRequest` | [`selects`] |
//! | `Tagging` | [`read_tags`] |
//! | `GetObjectAttributesResponse` | [`rewrite_attributes`] |
//! | `Error`, `CopyPartResult` and others of our own | [`ErrorDocument`], [`Builder`] |

mod assemble;
mod attributes;
mod builder;
mod complete;
mod delete;
mod edit;
mod entry;
mod error;
mod fault;
mod list;
mod list_root;
mod pages;
mod parts;
mod restore;
mod result;
mod rewrite;
mod tagging;
mod text;
mod tree;

pub use assemble::{ListEntry, ListPage, assemble, common_prefix};
pub use attributes::{AttributesChange, PartAttributes, PartsAttributes, rewrite_attributes};
pub use builder::Builder;
pub use complete::{CompletedPart, read_complete, write_complete};
pub use delete::{DeleteRequest, DeletedObject, read_delete};
pub use entry::{Change, ChecksumChange, Entry, EntryKind, Replacement};
pub use error::XmlError;
pub use fault::ErrorDocument;
pub use list::{Leaf, ListHead, relist};
pub use pages::{
    Listed, Next, Page, read_buckets, read_objects, read_uploads, read_versioning, read_versions,
};
pub use parts::{ListedPart, PartsPage, read_parts};
pub use restore::selects;
pub use result::{Fields, ResultChange, rewrite_result};
pub use rewrite::{AlgorithmChange, Name, Rules, entries, rewrite};
pub use tagging::read_tags;
pub use text::escape;
pub use tree::{MAX_DOCUMENT, root_name};

#[cfg(test)]
mod tests;
