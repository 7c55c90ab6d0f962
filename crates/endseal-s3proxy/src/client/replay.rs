//! A request's head that may have to be sent once more.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version, request};

/// All of it in one piece of memory: a copy of each field would be an allocation each, for something that
/// hardly ever happens.
pub(super) struct HeadCopy {
    method: Method,
    version: Version,
    /// The URI, then names and values in turn, each with its length before it.
    bytes: Vec<u8>,
    fields: usize,
}

/// Bytes of a length.
const LENGTH: usize = size_of::<usize>();

impl HeadCopy {
    pub(super) fn of(head: &request::Parts) -> Self {
        // A request to a server has a path and perhaps a query, and no fragment.
        let uri = head.uri.path_and_query().map_or("/", |it| it.as_str());
        // What is longer than a kilobyte the allocator takes three times as long for.
        let room = head.headers.iter().fold(LENGTH + uri.len(), |sum, (name, value)| {
            sum + 2 * LENGTH + name.as_str().len() + value.len()
        });
        let mut copy = Self {
            method: head.method.clone(),
            version: head.version,
            bytes: Vec::with_capacity(room),
            fields: head.headers.len(),
        };
        copy.add(uri.as_bytes());
        for (name, value) in &head.headers {
            copy.add(name.as_str().as_bytes());
            copy.add(value.as_bytes());
        }
        copy
    }

    fn add(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(&item.len().to_ne_bytes());
        self.bytes.extend_from_slice(item);
    }

    /// The head once more, without extensions. Never `None` for what [`of`](Self::of) made.
    pub(super) fn restore(&self) -> Option<request::Parts> {
        let mut rest = self.bytes.as_slice();
        let mut head = http::Request::new(()).into_parts().0;
        head.method = self.method.clone();
        head.version = self.version;
        head.uri = Uri::try_from(take(&mut rest)?).ok()?;
        let mut headers = HeaderMap::with_capacity(self.fields);
        while !rest.is_empty() {
            let name = HeaderName::from_bytes(take(&mut rest)?).ok()?;
            headers.append(name, HeaderValue::from_bytes(take(&mut rest)?).ok()?);
        }
        head.headers = headers;
        Some(head)
    }
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, items) = rest.split_first_chunk()?;
    let (item, behind) = items.split_at_checked(usize::from_ne_bytes(*len))?;
    *rest = behind;
    Some(item)
}

#[cfg(test)]
mod tests {
    use http::{Method, Request, Version};

    use super::HeadCopy;

    #[test]
    fn a_copy_is_the_same_head() {
        let long = "v".repeat(5_000);
        let head = Request::builder()
            .method(Method::PUT)
            .version(Version::HTTP_11)
            .uri("/bucket/a%20b?partNumber=1&uploadId=x")
            .header("host", "s3.example.com:9000")
            .header("x-amz-meta-a", "1")
            .header("x-amz-meta-long", long.as_str())
            .header("x-amz-meta-a", "2")
            .header("x-amz-meta-empty", "")
            .header("x-amz-meta-bytes", http::HeaderValue::from_bytes(b"\xe4\xff\t ~").unwrap())
            .body(())
            .unwrap()
            .into_parts()
            .0;
        let copy = HeadCopy::of(&head).restore().unwrap();
        assert_eq!(copy.headers, head.headers);
        assert_eq!((copy.method, copy.version, copy.uri), (head.method, head.version, head.uri));
    }
}
