//! Uploads in parts (docs/spec/s3-object.md, "Writing a multipart object"). The upload id holds all
//! that an upload needs: every proxy with the key provider can take any part. The proxy records
//! beside it what lists of uploads and of parts need, and parts that come twice.

mod abort;
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
