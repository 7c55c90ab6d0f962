//! Deletes objects, one or many in a request.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, Builder};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::conditions::check_write;
use crate::reading::Reply;
use crate::receive::blocking;
use crate::request::Asked;
use crate::response::{document, empty};

/// 1,000 keys of 1,024 bytes, escaped.
const MAX_REQUEST: u64 = 8 << 20;

/// Handles `DeleteObject`: deletes one object, if it exists.
pub(crate) async fn object(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let headers = asked.headers.clone();
    blocking(&asked.store, move |store| {
        store.delete(&bucket, &key, |old| check_write(&headers, old))
    })
    .await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Handles `DeleteObjects`: deletes the objects that the body of the request lists.
pub(crate) async fn objects(mut asked: Asked) -> Result<Response<Reply>, S3Error> {
    let bucket = asked.bucket()?;
    let request = xml::read_delete(&asked.collect(MAX_REQUEST).await?)?;
    let document_of_results = blocking(&asked.store, move |store| {
        drop(store.in_bucket(&bucket)?);
        let mut xml = Builder::new("DeleteResult");
        for object in request.objects {
            let mut conditions = HeaderMap::new();
            if let Some(etag) = object.etag.as_deref().and_then(|it| HeaderValue::from_str(it).ok())
            {
                conditions.insert("if-match", etag);
            }
            let is_version = object.version_id.as_deref().is_some_and(|version| version != "null");
            let done = match is_version {
                true => Err(S3Error::invalid_argument("Invalid version id specified")),
                false => store.delete(&bucket, &object.key, |old| check_write(&conditions, old)),
            };
            match done {
                Ok(()) if request.quiet => {}
                Ok(()) => {
                    xml.open("Deleted").leaf("Key", &object.key).close();
                }
                Err(error) => {
                    xml.open("Error").leaf("Key", &object.key).leaf("Code", error.code());
                    xml.leaf("Message", error.message()).close();
                }
            }
        }
        Ok(xml)
    })
    .await?;
    Ok(document(document_of_results))
}
