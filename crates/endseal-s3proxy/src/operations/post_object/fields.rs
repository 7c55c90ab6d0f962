//! Fields of a form and their meaning for the object.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::Digests;
use endseal_s3_protocol::sigv4::uri;
use endseal_s3_protocol::xml;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::headers::{self, USER_METADATA};

/// Fields that become headers of the object.
const HEADERS: [&str; 8] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-storage-class",
    "x-amz-website-redirect-location",
];

/// Fields of the form that precede the file.
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Creates the fields and replaces `${filename}` in the key.
    ///
    /// # Errors
    /// Never, at present; names and values are checked when they are used.
    pub(super) fn new(mut fields: Vec<(String, String)>, filename: &str) -> Result<Self, S3Error> {
        for (name, value) in &mut fields {
            if name.eq_ignore_ascii_case("key") {
                *value = value.replace("${filename}", filename);
            }
        }
        Ok(Self(fields))
    }

    pub(super) fn all(&self) -> &[(String, String)] {
        &self.0
    }

    /// Returns the value of a field. Names are not case-sensitive.
    pub(super) fn get(&self, wanted: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        Some(&found.1)
    }

    /// Returns the key of the object.
    ///
    /// # Errors
    /// If the field is missing, empty, or contains a zero byte.
    pub(super) fn key(&self) -> Result<&str, S3Error> {
        let key = self.get("key").ok_or_else(|| {
            S3Error::invalid_argument("Bucket POST must contain a field named 'key'.")
        })?;
        if key.is_empty() {
            return Err(S3Error::invalid_argument("User key must have a length greater than 0."));
        }
        if key.contains('\0') { Err(S3Error::invalid_uri()) } else { Ok(key) }
    }

    /// Returns the digests of the content that the form states.
    ///
    /// # Errors
    /// If a checksum is malformed, or there is more than one.
    pub(super) fn digests(&self) -> Result<Digests, S3Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in self.lower() {
            let is_checksum = name.starts_with("x-amz-checksum-")
                && !matches!(name.as_str(), "x-amz-checksum-algorithm" | "x-amz-checksum-type");
            if is_checksum || name == "content-md5" {
                append(&mut headers, &name, value)?;
            }
        }
        Ok(Digests::of_request(&headers, None)?)
    }

    /// Returns the headers of the object.
    ///
    /// # Errors
    /// If a field cannot be a header, or contains an encryption key (SSE-C).
    pub(super) fn headers(&self) -> Result<HeaderMap, S3Error> {
        headers::check_no_customer_key(self.0.iter().map(|(name, _)| name.as_str()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in self.lower() {
            let is_encryption = name.starts_with("x-amz-server-side-encryption");
            match name.as_str() {
                "acl" | "x-amz-acl" => append(&mut headers, "x-amz-acl", value)?,
                "tagging" => append(&mut headers, "x-amz-tagging", &tags(value)?)?,
                known if HEADERS.contains(&known) => append(&mut headers, known, value)?,
                own if own.starts_with(USER_METADATA) || is_encryption => {
                    append(&mut headers, own, value)?;
                }
                _ => {}
            }
        }
        Ok(headers)
    }

    fn lower(&self) -> impl Iterator<Item = (String, &str)> {
        self.0.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
    }
}

fn append(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), S3Error> {
    let wrong = || S3Error::invalid_argument("A field of the form cannot be a header.");
    let name: HeaderName = name.parse().map_err(|_| wrong())?;
    headers.append(name, HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong())?);
    Ok(())
}

/// Converts tags from the XML of a form into the form of a header.
fn tags(xml: &str) -> Result<String, S3Error> {
    let encode = |text: &str| uri::encode_component(text.as_bytes());
    let tags = xml::read_tags(xml.as_bytes())?;
    let tags: Vec<String> =
        tags.iter().map(|(key, value)| format!("{}={}", encode(key), encode(value))).collect();
    Ok(tags.join("&"))
}

#[cfg(test)]
mod tests {
    use super::Fields;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let pairs = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Fields::new(pairs, "a.txt").unwrap()
    }

    #[test]
    fn fields_become_headers_of_the_object() {
        let fields = fields(&[
            ("Key", "x/${filename}"),
            ("Content-Type", "text/plain"),
            ("ACL", "private"),
            ("X-Amz-Meta-A", "b"),
            (
                "tagging",
                "<Tagging><TagSet><Tag><Key>k 1</Key><Value>v&amp;</Value></Tag></TagSet></Tagging>",
            ),
            ("policy", "p"),
            ("x-amz-signature", "s"),
            ("x-amz-checksum-crc32c", "4waSgw=="),
        ]);
        assert_eq!(fields.key().unwrap(), "x/a.txt");
        let headers = fields.headers().unwrap();
        let mut found: Vec<_> =
            headers.iter().map(|(n, v)| (n.as_str(), v.to_str().unwrap())).collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                ("content-type", "text/plain"),
                ("x-amz-acl", "private"),
                ("x-amz-meta-a", "b"),
                ("x-amz-tagging", "k%201=v%26"),
            ]
        );
        assert!(fields.digests().unwrap().kind().is_some());
    }

    #[test]
    fn fields_that_cannot_be_are_refused() {
        assert_eq!(fields(&[]).key().unwrap_err().code(), "InvalidArgument");
        assert_eq!(fields(&[("key", "")]).key().unwrap_err().code(), "InvalidArgument");
        let split = fields(&[("content-type", "a\r\nx-amz-acl: public")]);
        assert_eq!(split.headers().unwrap_err().code(), "InvalidArgument");
        let tags = fields(&[("tagging", "<Tagging/>")]);
        assert_eq!(tags.headers().unwrap_err().code(), "MalformedXML");
    }
}
