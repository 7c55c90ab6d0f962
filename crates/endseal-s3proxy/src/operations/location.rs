//! URL of a new object, as the element `Location` has it.

use endseal_s3_protocol::Target;
use http::HeaderMap;
use http::header::HOST;

use crate::context::Proxy;
use crate::headers;

/// Header in which a balancer that ends TLS names the scheme of the client's request.
const FORWARDED_SCHEME: &str = "x-forwarded-proto";

/// Returns the URL of an object at the address under which the client knows the proxy. It is the
/// path alone if the request names no host.
pub(super) fn of(proxy: &Proxy, headers: &HeaderMap, target: &Target) -> String {
    let Some(host) = headers::text(headers, HOST) else { return target.without_query().path() };
    let is_tls = proxy.has_tls || headers::text(headers, FORWARDED_SCHEME) == Some("https");
    url(if is_tls { "https" } else { "http" }, host, &proxy.domains, target)
}

fn url(scheme: &str, host: &str, domains: &[String], target: &Target) -> String {
    let path = target.without_query().path();
    // The bucket is in the host, or in the path.
    let behind_bucket = target.bucket().and_then(|bucket| {
        let domain = host.strip_prefix(bucket)?.strip_prefix('.')?;
        let domain = domain.split_once(':').map_or(domain, |(domain, _)| domain);
        let is_known = domains.iter().any(|known| known.eq_ignore_ascii_case(domain));
        path.strip_prefix('/')?.strip_prefix(bucket).filter(|_| is_known)
    });
    format!("{scheme}://{host}{}", behind_bucket.unwrap_or(&path))
}

#[cfg(test)]
mod tests {
    use endseal_s3_protocol::{Query, Target};

    use super::url;

    #[test]
    fn the_bucket_is_in_the_host_or_in_the_path() {
        let target = Target::of("b", Some("a b/c"), Query::new().with("uploadId", "u"));
        let domains = ["s3.example.com".to_owned()];
        for (host, expected) in [
            ("s3.example.com", "https://s3.example.com/b/a%20b/c"),
            ("b.s3.example.com", "https://b.s3.example.com/a%20b/c"),
            ("b.s3.example.com:9000", "https://b.s3.example.com:9000/a%20b/c"),
            ("b.example.com", "https://b.example.com/b/a%20b/c"),
        ] {
            assert_eq!(url("https", host, &domains, &target), expected);
        }
    }
}
