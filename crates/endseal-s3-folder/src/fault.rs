//! Errors that only a server of objects has.

use std::io;

use endseal_s3_protocol::S3Error;
use http::StatusCode;

pub(crate) const fn no_such_bucket() -> S3Error {
    S3Error::new(StatusCode::NOT_FOUND, "NoSuchBucket", "The specified bucket does not exist")
}

pub(crate) const fn bucket_exists() -> S3Error {
    S3Error::new(
        StatusCode::CONFLICT,
        "BucketAlreadyOwnedByYou",
        "Your previous request to create the named bucket succeeded and you already own it.",
    )
}

pub(crate) const fn bucket_not_empty() -> S3Error {
    S3Error::new(
        StatusCode::CONFLICT,
        "BucketNotEmpty",
        "The bucket you tried to delete is not empty",
    )
}

pub(crate) fn not_here() -> S3Error {
    S3Error::not_implemented().with_message("A folder as the backend does not do this.")
}

/// Returns the error of the disk, without its place.
pub(crate) fn disk(error: &io::Error) -> S3Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => S3Error::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "InsufficientStorage",
            "The disk is full. Free space on it and try again.",
        ),
        kind => S3Error::internal().with_message(format!("The folder: {kind}.")),
    }
}
