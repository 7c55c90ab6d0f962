//! Tags of a copy that the proxy writes as a new object. The backend copies them only if it copies
//! the object itself.

use endseal_s3_protocol::{Query, S3Error, Target, xml};
use http::{HeaderMap, Method};

use crate::context::{Proxy, RequestContext};
use crate::forward::read;
use crate::headers;
use crate::sealed_object::ObjectRef;

const TAGGING: &str = "x-amz-tagging";
const DIRECTIVE: &str = "x-amz-tagging-directive";

/// Maximum size in bytes of a document with tags.
const MAX_ANSWER: usize = 64 * 1024;

/// Sets the tags of a copy in the headers of the request that writes it: those of the request if
/// its directive is `REPLACE`, otherwise those of the source.
///
/// # Errors
/// `InvalidArgument` for another directive, and the backend's error if it does not show the tags.
pub(super) async fn set(
    proxy: &Proxy,
    call: &RequestContext,
    from: &ObjectRef<'_>,
    copy: &mut HeaderMap,
) -> Result<(), S3Error> {
    let directive = headers::text(&call.headers, DIRECTIVE);
    copy.remove(DIRECTIVE);
    match directive {
        Some(word) if word.eq_ignore_ascii_case("REPLACE") => return Ok(()),
        Some(word) if !word.eq_ignore_ascii_case("COPY") => {
            let error = S3Error::invalid_argument("Unknown tagging directive.");
            return Err(error.about_argument(DIRECTIVE, word));
        }
        _ => {}
    }
    copy.remove(TAGGING);
    match tags(proxy, from).await? {
        Some(tags) => headers::insert(copy, TAGGING, &tags),
        None => Ok(()),
    }
}

/// Returns the tags of an object in the form of the header, or `None` if it has none.
async fn tags(proxy: &Proxy, from: &ObjectRef<'_>) -> Result<Option<String>, S3Error> {
    let query = Query::new().with("tagging", "");
    let query = match from.version {
        Some(version) => query.with("versionId", version),
        None => query,
    };
    let target = match from.is_stored {
        true => Target::of_stored(from.bucket, from.key, query),
        false => Target::of(from.bucket, Some(from.key), query),
    };
    let response = match proxy.ask(from.signer, &Method::GET, &target, HeaderMap::new()).await {
        Ok(response) => response,
        // The object has no tags, or the server does not support tags.
        Err(error) if matches!(error.status().as_u16(), 404 | 405 | 501) => return Ok(None),
        Err(error) => return Err(error),
    };
    let document = read(response.into_body(), MAX_ANSWER).await?;
    let tags = xml::read_tags(&document).map_err(|error| S3Error::unreadable(&error))?;
    let query = tags.iter().fold(Query::new(), |query, (key, value)| query.with(key, value));
    Ok(Some(query.encode()).filter(|text| !text.is_empty()))
}
