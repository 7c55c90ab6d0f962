//! Keys that clients may name.

use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_format::names::NameError;
use endseal_s3_protocol::{MAX_KEY, S3Error, Target};
use http::Uri;

/// Reads the target of a client's request, as [`Target::parse`] does.
///
/// # Errors
/// Those of [`Target::parse`] and [`check_key`].
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

/// The error for a key that has no room once it is encrypted.
pub(crate) fn name_error(_: NameError) -> S3Error {
    S3Error::key_too_long()
}

/// Refuses keys that are too long, those that lead out of the bucket, as S3 does, and those of the
/// proxy. Servers that keep objects in folders
/// drop empty components and resolve dots, so what they would make of the key counts too.
///
/// # Errors
/// `InvalidURI` or `AccessDenied`.
pub(crate) fn check_key(key: &str) -> Result<(), S3Error> {
    if key.len() > MAX_KEY {
        return Err(S3Error::invalid_uri().with_message("A key has at most 1,024 bytes."));
    }
    if leads_out(key) {
        return Err(S3Error::invalid_uri());
    }
    if is_reserved(key) { Err(S3Error::reserved_key()) } else { Ok(()) }
}

/// Returns true for a key where the proxy keeps what is its own.
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
    // The folder's own name, too: where it is a file, nothing can lie in the folder.
    resolved.first() == Some(&folder)
}

/// Returns true for a key that, taken for a path, leaves its bucket on the way: with `../`, more
/// than there are folders before it. A server that keeps objects in folders would find another
/// bucket there, of which the client's permissions were not asked.
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
        // Resolved it is none of the proxy's, as it stands it is.
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
