//! The backend's responses to the start and to the completion of an upload.

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, XmlError};
use http::Response;
use http::response::Parts;

use super::{expect_etag, late_error, read};
use crate::upstream::ResponseBody;

/// Maximum size of a document in bytes.
const MAX_DOCUMENT: usize = 64 * 1024;

/// Reads the response to the start of an upload. Returns its document and the backend's id of the
/// upload.
pub(crate) async fn started(body: ResponseBody) -> Result<(Bytes, String), S3Error> {
    let document = read(body, MAX_DOCUMENT).await?;
    let fields = xml::Fields::read(&document).map_err(|error| S3Error::unreadable(&error))?;
    if fields.root == "Error" {
        return Err(late_error(fields));
    }
    let id = fields.upload_id;
    Ok((document, id.ok_or_else(|| S3Error::unreadable(&XmlError::Missing("UploadId")))?))
}

/// Reads the response to a completion.
///
/// # Errors
/// The backend's error, including one that it reports in the document after status 200.
pub(crate) async fn completed_by(
    sent: Result<Response<ResponseBody>, S3Error>,
) -> Result<(Parts, Bytes, xml::Fields), S3Error> {
    let (head, body) = sent?.into_parts();
    let document = read(body, MAX_DOCUMENT).await?;
    let fields = xml::Fields::read(&document).map_err(|error| S3Error::unreadable(&error))?;
    if fields.root == "Error" {
        return Err(late_error(fields));
    }
    expect_etag(&fields)?;
    Ok((head, document, fields))
}
