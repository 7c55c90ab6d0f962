//! Checks of the keys that clients may use.

use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_format::names::NameError;
use endseal_s3_protocol::{S3Error, Target, check_key_len};
use http::Uri;

/// Parses the target of a client's request like [`Target::parse`], and checks its key.
///
/// # Errors
/// The errors of [`Target::parse`] and [`check_key`].
pub(crate) fn parse_target(
    uri: &Uri,
    host: Option<&str>,
    domains: &[String],
) -> Result<Target, S3Error> {
    let target = Target::parse(uri, host, domains)?;
    if let Some(key) = target.key() {
        check_key(key)?;
    }
    Ok(target)
}

/// Converts the error for a key that is too long when encrypted.
pub(crate) fn name_error(_: NameError) -> S3Error {
    S3Error::key_too_long()
}

/// Refuses keys that are too long, keys that lead out of the bucket as in S3, and keys of the
/// proxy. Servers that store objects in folders drop empty components and resolve dots, so the
/// resolved key is checked, too.
///
/// # Errors
/// `KeyTooLongError` for a key that is too long, `InvalidURI` for one that leads out,
/// `AccessDenied` for a key of the proxy.
pub(crate) fn check_key(key: &str) -> Result<(), S3Error> {
    check_key_len(key)?;
    if leads_out(key) {
        return Err(S3Error::invalid_uri());
    }
    if is_reserved(key) { Err(S3Error::reserved_key()) } else { Ok(()) }
}

/// Returns true for a key under the prefix that is reserved for the proxy.
#[must_use]
pub(crate) fn is_reserved(key: &str) -> bool {
    let folder = RESERVED_PREFIX.trim_end_matches('/');
    if !key.contains(folder) {
        return false;
    }
    if key.starts_with(RESERVED_PREFIX) {
        return true;
    }
    let mut resolved: Vec<&str> = Vec::new();
    for component in key.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(resolved.pop()),
            name => resolved.push(name),
        }
    }
    // The name of the folder itself is reserved, too: a file of this name would prevent the folder.
    resolved.first() == Some(&folder)
}

/// Returns true for a key that leaves its bucket when it is resolved as a path, because it has more
/// `../` than folders before. A server that stores objects in folders would access another bucket,
/// for which the client's permissions were not checked.
fn leads_out(key: &str) -> bool {
    let mut depth = 0_usize;
    key.split('/').any(|component| {
        match component {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_lead_out_or_are_the_proxys_are_refused() {
        for (uri, code) in [
            ("/b/.endseal/parked/x", "AccessDenied"),
            ("/b/%2Eendseal/parked/x", "AccessDenied"),
            ("/b/.endseal", "AccessDenied"),
            ("/b/../other/k", "InvalidURI"),
            ("/b/a/../../other/k", "InvalidURI"),
            ("/b/./%2E./other/k", "InvalidURI"),
        ] {
            let refused = parse_target(&uri.parse().unwrap(), Some("h"), &[]);
            assert_eq!(refused.unwrap_err().code(), code, "{uri}");
        }
    }

    #[test]
    fn the_proxys_own_keys_are_known_in_disguise() {
        for key in [
            ".endseal/x",
            "/.endseal/x",
            "a/../.endseal/x",
            "./.endseal//x",
            ".endseal",
            "/.endseal/",
        ] {
            assert!(is_reserved(key), "{key}");
        }
        // The resolved key is not reserved, but the key as it is written is.
        assert!(is_reserved(".endseal/../x"));
        for key in ["a/.endseal/x", ".endsealed/x", ".endsea", "a/.endseal"] {
            assert!(!is_reserved(key), "{key}");
        }
    }

    #[test]
    fn keys_that_stay_in_their_bucket_are_keys() {
        for key in ["a/../b", "a/b/../../c", "a/..", "..a/b", "a/...", "/./a"] {
            assert!(!leads_out(key), "{key}");
        }
    }
}
