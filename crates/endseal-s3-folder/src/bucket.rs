//! Buckets: made, deleted, listed, asked after.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::Timestamp;
use endseal_s3_protocol::xml::Builder;
use http::{Response, StatusCode};

use crate::reading::Reply;
use crate::receive::blocking;
use crate::request::Asked;
use crate::response::{document, empty, set};

/// A document with a location that is ignored: there is one place.
const MAX_REQUEST: u64 = 16 * 1024;

/// Owner that lists name for all objects and buckets.
pub(crate) const OWNER: &str = "folder";

/// Handles `CreateBucket`: makes an empty bucket.
pub(crate) async fn create(mut asked: Asked) -> Result<Response<Reply>, S3Error> {
    asked.collect(MAX_REQUEST).await?;
    let bucket = asked.bucket()?;
    check_name(&bucket)?;
    let location = format!("/{bucket}");
    blocking(&asked.store, move |store| store.create_bucket(&bucket)).await?;
    let mut response = empty(StatusCode::OK);
    set(&mut response, "location", &location);
    Ok(response)
}

/// Names as S3 has them. Without upper case, so that no file system takes two for one.
fn check_name(bucket: &str) -> Result<(), S3Error> {
    let inner =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_');
    match (3..=63).contains(&bucket.len()) && bucket.bytes().all(inner) {
        true => Ok(()),
        false => Err(S3Error::invalid_bucket()),
    }
}

/// Handles `HeadBucket`: answers with success if the bucket exists.
pub(crate) async fn head(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    exists(asked).await?;
    let mut response = empty(StatusCode::OK);
    set(&mut response, "x-amz-bucket-region", "us-east-1");
    Ok(response)
}

async fn exists(asked: &Asked) -> Result<(), S3Error> {
    let bucket = asked.bucket()?;
    blocking(&asked.store, move |store| store.in_bucket(&bucket).map(drop)).await
}

/// Handles `DeleteBucket`: deletes a bucket that has no objects.
pub(crate) async fn delete(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let bucket = asked.bucket()?;
    blocking(&asked.store, move |store| store.delete_bucket(&bucket)).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Handles `ListBuckets`: lists all buckets of the folder.
pub(crate) async fn list(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let buckets = blocking(&asked.store, |store| store.buckets()).await?;
    let mut xml = Builder::new("ListAllMyBucketsResult");
    xml.open("Owner").leaf("ID", OWNER).leaf("DisplayName", OWNER).close();
    xml.open("Buckets");
    for (name, made) in buckets {
        xml.open("Bucket").leaf("Name", &name);
        xml.leaf("CreationDate", &Timestamp::of(made).to_iso()).close();
    }
    Ok(document(xml))
}

/// Handles `GetBucketLocation`. An empty location means `us-east-1`.
pub(crate) async fn location(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    exists(asked).await?;
    Ok(document(Builder::new("LocationConstraint")))
}

/// Handles `GetBucketVersioning`. An empty answer means that it was never switched on.
pub(crate) async fn versioning(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    exists(asked).await?;
    Ok(document(Builder::new("VersioningConfiguration")))
}
