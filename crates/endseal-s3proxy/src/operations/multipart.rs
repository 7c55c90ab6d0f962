//! Multipart uploads (docs/spec/s3-object.md, "Writing a multipart object"). The upload id contains
//! everything that the proxy needs, so every proxy with the same key provider can accept any part.
//! In addition, the proxy records ids and receipts for lists of uploads and parts, and for parts
//! that are sent twice.

mod abort;
mod announced;
mod choice;
mod complete;
mod completed;
mod create;
mod list_parts;
mod part;
mod recorded;
mod resent;
mod upload;

pub(super) use self::abort::abort;
pub(super) use self::complete::complete;
pub(super) use self::create::create;
pub(super) use self::list_parts::list_parts;
pub(super) use self::part::{upload_part, upload_part_copy};
pub(super) use self::recorded::{backends_marker, given_id};
