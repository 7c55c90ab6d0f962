//! Response to a form whose file was stored.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::uri;
use endseal_s3_protocol::xml::Builder;
use http::header::{CONTENT_TYPE, ETAG, HeaderValue, LOCATION};
use http::{Response, StatusCode, Uri};

use super::Fields;
use crate::transfer::Outgoing;

/// Builds the response that the form requests: a redirect with 303, the status that it names, or
/// 204. `url` is that of the object.
pub(super) fn of(
    fields: &Fields,
    (bucket, key): (&str, &str),
    url: String,
    stored: &Response<Outgoing>,
) -> Result<Response<Outgoing>, S3Error> {
    let etag = stored.headers().get(ETAG);
    let tag = etag.and_then(|etag| etag.to_str().ok()).unwrap_or_default();
    let mut response = Response::new(Outgoing::empty());
    let redirect = fields.get("success_action_redirect").or_else(|| fields.get("redirect"));
    let location = if let Some(page) = redirect.filter(|url| is_url(url)) {
        *response.status_mut() = StatusCode::SEE_OTHER;
        let mark = if page.contains('?') { '&' } else { '?' };
        let encode = |text: &str| uri::encode_component(text.as_bytes());
        format!("{page}{mark}bucket={bucket}&key={}&etag={}", encode(key), encode(tag))
    } else {
        match fields.get("success_action_status") {
            Some("200") => {}
            Some("201") => {
                let mut xml = Builder::plain("PostResponse");
                xml.leaf("Location", &url).leaf("Bucket", bucket).leaf("Key", key);
                xml.leaf("ETag", tag);
                *response.status_mut() = StatusCode::CREATED;
                *response.body_mut() = Outgoing::full(xml.finish());
                let xml = HeaderValue::from_static("application/xml");
                response.headers_mut().insert(CONTENT_TYPE, xml);
            }
            _ => *response.status_mut() = StatusCode::NO_CONTENT,
        }
        url
    };
    let location = HeaderValue::from_str(&location).map_err(|_| S3Error::internal())?;
    response.headers_mut().insert(LOCATION, location);
    for (name, value) in stored.headers() {
        let tells = *name == ETAG
            || name == "x-amz-version-id"
            || name.as_str().starts_with("x-amz-checksum-")
            || name.as_str().starts_with("x-amz-server-side-encryption");
        if tells {
            response.headers_mut().insert(name, value.clone());
        }
    }
    Ok(response)
}

/// Returns true if browsers may be redirected to this URL.
fn is_url(url: &str) -> bool {
    let parsed = url.parse::<Uri>().ok();
    let scheme = parsed.as_ref().and_then(Uri::scheme_str);
    matches!(scheme, Some("http" | "https")) && !url.contains('#')
}
