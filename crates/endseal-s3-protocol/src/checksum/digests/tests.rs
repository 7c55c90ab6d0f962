use http::{HeaderMap, HeaderName, HeaderValue};

use super::*;

/// The content of all tests: the check input of CRC catalogues.
const CONTENT: &[u8] = b"123456789";
const MD5: &str = "JfnnlDI7RTiF9RgfG2JNCw==";
const VALUES: [(ChecksumKind, &str); 5] = [
    (ChecksumKind::Crc32, "y/Q5Jg=="),
    (ChecksumKind::Crc32c, "4waSgw=="),
    (ChecksumKind::Crc64Nvme, "rosUhgp5mIg="),
    (ChecksumKind::Sha1, "98O8HYCOBHMq32eZZczDTKeuNEE="),
    (ChecksumKind::Sha256, "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
];

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.append(name, HeaderValue::from_str(value).unwrap());
    }
    map
}

fn run(
    pairs: &[(&str, &str)],
    content_sha256: Option<[u8; 32]>,
    content: &[u8],
    trailers: Option<&HeaderMap>,
) -> Result<Outcome, ChecksumError> {
    let mut digests = Digests::of_request(&headers(pairs), content_sha256)?;
    for piece in content.chunks(2) {
        digests.update(piece);
    }
    digests.finish(trailers)
}

#[test]
fn nothing_is_computed_that_no_one_asked_for() {
    let digests = Digests::of_request(&headers(&[("content-type", "text/plain")]), None).unwrap();
    assert!(digests.is_empty());
    assert_eq!(digests.finish(None), Ok(Outcome::default()));
    // A digest and a checksum of the same kind are computed once.
    let asked = headers(&[("x-amz-checksum-sha256", VALUES[4].1)]);
    let digests = Digests::of_request(&asked, Some([0; 32])).unwrap();
    assert!(digests.checksum.is_some_and(|it| it.hasher.is_none()));
}

#[test]
fn every_kind_is_checked_in_header_and_trailer() {
    for (kind, value) in VALUES {
        let expected = ChecksumValue::from_base64(kind, value);
        let header = [(kind.header(), value)];
        assert_eq!(run(&header, None, CONTENT, None).unwrap().checksum, expected);
        let wrong = run(&header, None, b"12345678", None);
        assert_eq!(wrong, Err(ChecksumError::Mismatch(kind)));

        let named =
            [("x-amz-trailer", kind.header()), ("x-amz-sdk-checksum-algorithm", kind.name())];
        let trailers = headers(&header);
        assert_eq!(run(&named, None, CONTENT, Some(&trailers)).unwrap().checksum, expected);
        let wrong = run(&named, None, b"12345678", Some(&trailers));
        assert_eq!(wrong, Err(ChecksumError::Mismatch(kind)));
        let missing = run(&named, None, CONTENT, Some(&HeaderMap::new()));
        assert_eq!(missing, Err(ChecksumError::MissingTrailer(kind)));
        let none = run(&named, None, CONTENT, None);
        assert_eq!(none, Err(ChecksumError::MissingTrailer(kind)));
        let malformed = headers(&[(kind.header(), "AA==")]);
        let malformed = run(&named, None, CONTENT, Some(&malformed));
        assert_eq!(malformed, Err(ChecksumError::InvalidValue(kind)));
    }
}

#[test]
fn md5_and_content_digest_are_checked() {
    let digest = sha256::digest(CONTENT);
    let md5 = [("content-md5", MD5)];
    let outcome = run(&md5, Some(digest), CONTENT, None).unwrap();
    assert_eq!(outcome.md5.map(|it| Base64::encode_string(&it)).as_deref(), Some(MD5));
    assert_eq!(run(&md5, None, b"1", None), Err(ChecksumError::Md5Mismatch));
    assert_eq!(run(&[], Some(digest), b"1", None), Err(ChecksumError::ContentSha256Mismatch));
    for wrong in ["", "YWJj", "JfnnlDI7RTiF9RgfG2JNCw", "25f9e794323b453885f5181f1b624d0b"] {
        assert_eq!(run(&[("content-md5", wrong)], None, b"", None), Err(ChecksumError::InvalidMd5));
    }
    let twice = [("content-md5", MD5), ("content-md5", MD5)];
    assert_eq!(run(&twice, None, CONTENT, None), Err(ChecksumError::InvalidMd5));
}

#[test]
fn one_checksum_at_most() {
    let crc = ("x-amz-checksum-crc32", "y/Q5Jg==");
    for second in [
        ("x-amz-checksum-crc32c", "4waSgw=="),
        ("x-amz-checksum-crc32", "y/Q5Jg=="),
        ("x-amz-trailer", "x-amz-checksum-crc32"),
        ("x-amz-trailer", "x-amz-checksum-sha1"),
    ] {
        assert_eq!(run(&[crc, second], None, CONTENT, None), Err(ChecksumError::Several));
    }
    let two = [("x-amz-trailer", "x-amz-checksum-crc32, x-amz-checksum-sha1")];
    assert_eq!(run(&two, None, CONTENT, None), Err(ChecksumError::Several));
}

#[test]
fn what_is_not_known_is_refused_and_not_ignored() {
    for (pair, error) in [
        (("x-amz-checksum-sha512", "AAAA"), ChecksumError::InvalidValue(ChecksumKind::Sha512)),
        (("x-amz-checksum-xxhash3", "AAAA"), ChecksumError::UnknownAlgorithm),
        (("x-amz-checksum-sha1", "AAAA"), ChecksumError::InvalidValue(ChecksumKind::Sha1)),
        (("x-amz-trailer", "x-amz-meta-a"), ChecksumError::UnknownTrailer),
        (("x-amz-sdk-checksum-algorithm", "CRC32"), ChecksumError::MissingValue),
        (("x-amz-sdk-checksum-algorithm", "MD4"), ChecksumError::UnknownAlgorithm),
    ] {
        assert_eq!(run(&[pair], None, CONTENT, None), Err(error));
    }
    let other = [("x-amz-checksum-crc32", "y/Q5Jg=="), ("x-amz-sdk-checksum-algorithm", "SHA1")];
    assert_eq!(run(&other, None, CONTENT, None), Err(ChecksumError::MissingValue));
    // These are no values.
    let rest = [("x-amz-checksum-mode", "ENABLED"), ("x-amz-checksum-type", "FULL_OBJECT")];
    assert_eq!(run(&rest, None, CONTENT, None), Ok(Outcome::default()));
}

#[test]
fn a_wanted_checksum_is_computed_and_compared_with_nothing() {
    for (kind, value) in VALUES {
        let mut digests = Digests::new();
        digests.want(kind);
        digests.update(CONTENT);
        let outcome = digests.finish(None).unwrap();
        assert_eq!(outcome.checksum.map(|it| it.to_base64()).as_deref(), Some(value));
    }
    // The client's checksum has priority.
    let mut digests = Digests::new();
    digests.expect(ChecksumKind::Crc32, VALUES[0].1).unwrap();
    digests.want(ChecksumKind::Sha1);
    assert_eq!(digests.kind(), Some(ChecksumKind::Crc32));
}

#[test]
fn errors_have_codes() {
    assert_eq!(ChecksumError::Mismatch(ChecksumKind::Sha1).code(), "BadDigest");
    assert_eq!(ChecksumError::InvalidMd5.code(), "InvalidDigest");
    assert_eq!(ChecksumError::ContentSha256Mismatch.code(), "XAmzContentSHA256Mismatch");
    assert_eq!(ChecksumError::Several.status(), 400);
    assert!(ChecksumError::Mismatch(ChecksumKind::Sha1).to_string().contains("SHA1"));
}
