//! Requests that must be refused, each with its error.

use endseal_s3_protocol::sigv4::{Payload, PayloadHash, Signer};

use super::published::{NOTHING, get_object, now, presigned};
use super::*;

fn refused(request: &Request) -> SignatureError {
    request.verify().err().unwrap()
}

fn with(request: &Request, name: &'static str, value: &str) -> Request {
    let mut request = request.clone();
    request.headers.insert(name, HeaderValue::from_str(value).unwrap());
    request
}

fn without(request: &Request, name: &str) -> Request {
    let mut request = request.clone();
    request.headers.remove(name);
    request
}

/// Returns the request with a piece of its authorization replaced.
fn altered(request: &Request, from: &str, to: &str) -> Request {
    let header = request.headers["authorization"].to_str().unwrap();
    assert!(header.contains(from), "{from}");
    with(request, "authorization", &header.replacen(from, to, 1))
}

fn queried(request: &Request, from: &str, to: &str) -> Request {
    assert!(request.target.contains(from), "{from}");
    Request { target: request.target.replacen(from, to, 1), ..request.clone() }
}

#[test]
fn every_digit_of_a_signature_counts() {
    let request = get_object();
    let header = request.headers["authorization"].to_str().unwrap().to_owned();
    for place in header.len() - 64..header.len() {
        let mut bytes = header.clone().into_bytes();
        bytes[place] = if bytes[place] == b'0' { b'1' } else { b'0' };
        let request = with(&request, "authorization", core::str::from_utf8(&bytes).unwrap());
        assert_eq!(refused(&request), SignatureError::Mismatch);
    }
}

#[test]
fn a_session_token_is_sent_and_signed() {
    let secret = || SecretKey::new(SECRET_KEY.to_owned());
    let signer = || Signer::new(ACCESS_KEY.into(), secret(), "us-east-1".into());
    let with = |token: &str| signer().with_session_token(token);
    let presigned = |signer: &Signer| {
        let headers = headers(&[("host", "h")]);
        signer.presign("GET", "/key", Some("acl"), &headers, 60, at(now())).unwrap()
    };
    let signature = |query: &str| query.split_once("X-Amz-Signature=").unwrap().1.to_owned();
    let (one, other) = (with("to+ken/1=").unwrap(), with("to+ken/2=").unwrap());
    assert!(presigned(&one).contains("&X-Amz-Security-Token=to%2Bken%2F1%3D&"));
    assert_ne!(signature(&presigned(&one)), signature(&presigned(&other)));
    assert!(!presigned(&signer()).contains("Token"));
    let signed = |signer: &Signer| {
        let mut headers = headers(&[("host", "h"), ("x-amz-security-token", "another's")]);
        signer.sign("GET", "/key", None, &mut headers, PayloadHash::Unsigned, at(now())).unwrap();
        headers
    };
    assert_eq!(signed(&one)["x-amz-security-token"], "to+ken/1=");
    assert_ne!(signed(&one)["authorization"], signed(&other)["authorization"]);
    let authorization = signed(&one)["authorization"].to_str().unwrap().to_owned();
    assert!(authorization.contains(";x-amz-security-token,"), "{authorization}");
    assert!(!signed(&signer()).contains_key("x-amz-security-token"));
    let fields = one.form(Some("policy"), at(now()));
    assert!(fields.contains(&("x-amz-security-token", "to+ken/1=".to_owned())));
    for token in ["", "a\r\nb", "\u{e9}"] {
        assert!(with(token).is_err(), "{token:?}");
    }
}

#[test]
fn what_is_signed_cannot_be_changed() {
    let request = get_object();
    for changed in [
        Request { method: "PUT".into(), ..request.clone() },
        Request { target: "/test.txt/".into(), ..request.clone() },
        Request { target: "//test.txt".into(), ..request.clone() },
        Request { target: "/./test.txt".into(), ..request.clone() },
        Request { target: "/test.txt?acl".into(), ..request.clone() },
        with(&request, "range", "bytes=0-99"),
        with(&request, "host", "other.s3.amazonaws.com"),
        with(&request, "x-amz-date", "20130524T000001Z"),
        with(&request, "x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
        without(&request, "range"),
        altered(&request, "us-east-1", "us-east-2"),
        altered(&request, "host;range;", "range;host;"),
    ] {
        assert_eq!(refused(&changed), SignatureError::Mismatch);
    }
    // Another spelling of the same path is still accepted.
    let same = Request { target: "/%74est%2Etxt".into(), ..request.clone() };
    same.verify().unwrap();
    let header = with(&request, "range", "  bytes=0-9  ");
    header.verify().unwrap();
}

#[test]
fn headers_that_the_backend_would_heed_must_be_signed() {
    let request = get_object();
    for name in ["x-amz-acl", "x-amz-copy-source", "x-amz-meta-a"] {
        let error = SignatureError::UnsignedHeader(name.into());
        assert_eq!(refused(&with(&request, name, "x")), error);
        assert_eq!(refused(&with(&presigned(), name, "x")), error);
    }
    let digest = with(&presigned(), "x-amz-content-sha256", NOTHING);
    assert_eq!(refused(&digest), SignatureError::UnsignedHeader("x-amz-content-sha256".into()));
    let host = altered(&request, "SignedHeaders=host;", "SignedHeaders=");
    assert_eq!(refused(&host), SignatureError::UnsignedHeader("host".into()));
    assert_eq!(refused(&without(&request, "host")), SignatureError::Mismatch);
}

#[test]
fn other_mechanisms_are_named() {
    let request = get_object();
    let by = |header: &str| refused(&with(&request, "authorization", header));
    assert_eq!(
        by("AWS AKIAIOSFODNN7EXAMPLE:frJIUN8DYpKDtOLCwo//yllqDzg="),
        SignatureError::Version2
    );
    for header in ["Bearer x", "AWS4-ECDSA-P256-SHA256 Credential=a", "", "AWS4-HMAC-SHA1 x"] {
        assert_eq!(by(header), SignatureError::UnsupportedMechanism, "{header}");
    }
    let mut twice = request.clone();
    twice.headers.append("authorization", HeaderValue::from_static("Bearer x"));
    assert_eq!(refused(&twice), SignatureError::SeveralMechanisms);
    let both = Request { target: presigned().target, ..request.clone() };
    assert_eq!(refused(&both), SignatureError::SeveralMechanisms);
    let version2 =
        Request { target: "/a?AWSAccessKeyId=a&Signature=b&Expires=1".into(), ..presigned() };
    assert_eq!(refused(&version2), SignatureError::Version2);
    let ecdsa = queried(&presigned(), "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256");
    assert!(matches!(refused(&ecdsa), SignatureError::MalformedQuery(_)));
    let content =
        with(&request, "x-amz-content-sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD");
    assert_eq!(refused(&content), SignatureError::UnsupportedMechanism);
}

#[test]
fn malformed_headers_are_refused() {
    let request = get_object();
    for (from, to) in [
        ("Credential=", "Credentials="),
        ("SignedHeaders=", ""),
        (",Signature=", ",Signature"),
        (",Signature=", ",x=y,Signature="),
        (",Signature=", ",Signature=0,Signature="),
        ("/s3/", "/iam/"),
        ("/aws4_request", "/aws5_request"),
        ("/20130524/", "/20130525/"),
        ("/20130524/", "/2013/"),
        ("host;", "Host;"),
        ("host;", "host;host;"),
        ("host;", "host;;"),
        ("f0e8bdb8", "f0e8bdb"),
        ("f0e8bdb8", "g0e8bdb8"),
    ] {
        let error = refused(&altered(&request, from, to));
        assert!(matches!(error, SignatureError::MalformedHeader(_)), "{from} {to} {error:?}");
        assert_eq!((error.code(), error.status()), ("AuthorizationHeaderMalformed", 400));
    }
    let many =
        format!("host;{};", (0..1_100).map(|i| format!("h{i}")).collect::<Vec<_>>().join(";"));
    let error = refused(&altered(&request, "host;", &many));
    assert!(matches!(error, SignatureError::MalformedHeader(_)));
    let long = altered(&request, "host;", &format!("host;{};", "h".repeat(9_000)));
    assert!(matches!(refused(&long), SignatureError::MalformedHeader(_)));
}

#[test]
fn malformed_queries_are_refused() {
    let request = presigned();
    for (from, to) in [
        ("X-Amz-Algorithm=", "x-amz-algorithm="),
        ("X-Amz-Credential=", "X="),
        ("X-Amz-Date=", "X="),
        ("X-Amz-Expires=", "X="),
        ("X-Amz-SignedHeaders=", "X="),
        ("X-Amz-Signature=", "X="),
        ("X-Amz-Date=20130524T000000Z", "X-Amz-Date=20130524"),
        ("X-Amz-Expires=86400", "X-Amz-Expires=604801"),
        ("X-Amz-Expires=86400", "X-Amz-Expires=-1"),
        ("X-Amz-Expires=86400", "X-Amz-Expires=%2b86400"),
        ("X-Amz-Expires=86400", "X-Amz-Expires="),
        ("X-Amz-Expires=86400", "X-Amz-Expires=99999999999999999999"),
        ("X-Amz-Expires=86400", "X-Amz-Expires=86400&X-Amz-Expires=86400"),
        ("%2F20130524%2F", "%2F20130525%2F"),
        ("%2Fs3%2F", "%2Fec2%2F"),
        ("SignedHeaders=host", "SignedHeaders=%ff"),
        ("Signature=aeeed9", "Signature=aeee"),
    ] {
        let error = refused(&queried(&request, from, to));
        assert!(matches!(error, SignatureError::MalformedQuery(_)), "{from} {to} {error:?}");
        assert_eq!((error.code(), error.status()), ("AuthorizationQueryParametersError", 400));
    }
    for (from, to) in
        [("X-Amz-Expires=86400", "X-Amz-Expires=86401"), ("test", "best"), ("aeeed9", "aeeed8")]
    {
        assert_eq!(refused(&queried(&request, from, to)), SignatureError::Mismatch);
    }
    let broken = queried(&request, "X-Amz-Date", "a=%zz&X-Amz-Date");
    assert_eq!(refused(&broken), SignatureError::InvalidUri);
    let broken = Request { target: "/%".into(), ..get_object() };
    assert_eq!(refused(&broken), SignatureError::InvalidUri);
    // The order of parameters and the case of hexadecimal digits are not signed.
    queried(&request, "AKIAIOSFODNN7EXAMPLE%2F", "AKIAIOSFODNN7EXAMPLE%2f").verify().unwrap();
}

#[test]
fn unknown_keys_and_wrong_secrets_differ_as_in_s3() {
    let unknown = altered(&get_object(), ACCESS_KEY, "AKIAIOSFODNN7EXAMPLF");
    assert_eq!(refused(&unknown), SignatureError::UnknownAccessKey);
    assert_eq!(refused(&altered(&get_object(), ACCESS_KEY, "OTHER")), SignatureError::Mismatch);
}

#[test]
fn dates_are_needed_and_checked() {
    let request = get_object();
    for date in ["", "20130524", "Fri, 24 May 2013 00:00:00 GMT", "20130524T000000Z "] {
        let request = with(&request, "x-amz-date", date);
        assert_eq!(refused(&request), SignatureError::MissingDate, "{date}");
    }
    assert_eq!(refused(&without(&request, "x-amz-date")), SignatureError::MissingDate);
    let mut twice = request.clone();
    twice.headers.append("x-amz-date", HeaderValue::from_static("20130524T000000Z"));
    assert_eq!(refused(&twice), SignatureError::MissingDate);
    assert_eq!(refused(&Request { now: now() + 901, ..request.clone() }), SignatureError::Skewed);
    assert_eq!(refused(&Request { now: now() - 901, ..request }), SignatureError::Skewed);
}

#[test]
fn the_content_must_be_spoken_of() {
    let request = get_object();
    let missing = refused(&without(&request, "x-amz-content-sha256"));
    assert_eq!(missing, SignatureError::MissingContentSha256);
    assert_eq!(missing.code(), "MissingSecurityHeader");
    let odd = refused(&with(&request, "x-amz-content-sha256", "none"));
    assert_eq!((odd.code(), odd.status()), ("InvalidArgument", 400));
    let mut twice = request;
    twice.headers.append("x-amz-content-sha256", HeaderValue::from_static(NOTHING));
    assert_eq!(refused(&twice), SignatureError::InvalidContentSha256);
}

#[test]
fn tokens_are_refused() {
    let token = with(&get_object(), "x-amz-security-token", "x");
    assert_eq!(refused(&token), SignatureError::InvalidToken);
    let token = queried(&presigned(), "X-Amz-Date", "X-Amz-Security-Token=x&X-Amz-Date");
    assert_eq!(refused(&token), SignatureError::InvalidToken);
}

#[test]
fn a_configured_region_is_demanded() {
    let mut rules = Rules::default();
    rules.region = Some("eu-west-1".into());
    let secret = Arc::new(SecretKey::new(SECRET_KEY.to_owned()));
    let strict = Verifier::new(Keys::from([(ACCESS_KEY.to_owned(), secret)]), rules);
    let refused = |request: Request| request.verify_by(&strict).err().unwrap();
    assert_eq!(refused(get_object()).code(), "AuthorizationHeaderMalformed");
    assert_eq!(refused(presigned()).code(), "AuthorizationQueryParametersError");
    assert!(refused(get_object()).to_string().contains("eu-west-1"));
}

#[test]
fn no_one_is_reported_as_no_one() {
    let anonymous = |content: Option<&str>| {
        let mut request = presigned();
        request.target = "/test.txt?versionId=1".into();
        if let Some(content) = content {
            request.headers.insert("x-amz-content-sha256", content.parse().unwrap());
        }
        let signed = SignedRequest {
            method: "GET",
            path: "/test.txt",
            query: Some("versionId=1"),
            headers: &request.headers,
        };
        verifier().verify(signed, at(request.now))
    };
    for (content, streaming) in
        [(None, false), (Some(NOTHING), false), (Some("STREAMING-UNSIGNED-PAYLOAD-TRAILER"), true)]
    {
        let Access::Anonymous { payload } = anonymous(content).unwrap() else {
            panic!("nobody signed")
        };
        assert_eq!(payload.is_streaming(), streaming);
    }
    let signed = anonymous(Some("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"));
    assert_eq!(signed.err(), Some(SignatureError::UnsignedSeed));
}

/// `%2F` in a path, `+` and unsorted pairs in a query: both ways to sign them are accepted, and
/// neither lets a request pass for another one.
#[test]
fn both_ways_to_sign_a_target_are_taken() {
    let signer = |target: &str| {
        let secret = SecretKey::new(SECRET_KEY.to_owned());
        let signer = Signer::new(ACCESS_KEY.into(), secret, "us-east-1".into());
        let mut headers = headers(&[("host", "localhost:9000")]);
        let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
        let payload = PayloadHash::Unsigned;
        signer.sign("GET", path, query, &mut headers, payload, at(now())).unwrap();
        Request { method: "GET".into(), target: target.into(), headers, now: now() }
    };
    for (signed, sent, good) in [
        ("/b/a%2Fb", "/b/a/b", true),
        ("/b/a/b", "/b/a%2Fb", true),
        ("/b/a/b", "/b/a%252Fb", false),
        ("/b/a+b", "/b/a%2Bb", true),
        ("/b/a+b", "/b/a%20b", false),
        ("/b/a?x=1+2", "/b/a?x=1%202", true),
        ("/b/a?x=1+2", "/b/a?x=1%2B2", false),
        ("/b/a?x=1&a=2", "/b/a?a=2&x=1", true),
        ("/b/a?x=1&a=2", "/b/a?a=1&x=2", false),
        ("/b/a?acl", "/b/a?acl=", true),
        ("/b/a?acl", "/b/a?", false),
        ("/b/a/../c", "/b/c", false),
        ("/b/%C3%BC", "/b/%c3%bc", true),
        ("/b/%C3%BC", "/b/%75%CC%88", false),
    ] {
        let mut request = signer(signed);
        request.verify().unwrap();
        request.target = sent.into();
        assert_eq!(request.verify().is_ok(), good, "{signed} {sent}");
    }
}

#[test]
fn presigned_requests_of_our_own_are_verified() {
    let secret = SecretKey::new(SECRET_KEY.to_owned());
    let signer = Signer::new(ACCESS_KEY.into(), secret, "auto".into());
    let pairs = [("host", "localhost:9000"), ("x-amz-meta-a", "1"), ("user-agent", "x")];
    for (method, path, query) in [
        ("GET", "/b/k%20+", None),
        ("PUT", "/b/k", Some("partNumber=1&uploadId=a%2Bb")),
        ("HEAD", "/", Some("")),
    ] {
        let signed = headers(&pairs);
        let query = signer.presign(method, path, query, &signed, 60, at(now())).unwrap();
        let target = format!("{path}?{query}");
        let request = Request { method: method.into(), target, headers: signed, now: now() + 60 };
        let verified = request.verify().unwrap();
        assert_eq!(verified.region, "auto");
        assert!(matches!(verified.payload, Payload::Unsigned));
        assert!(Request { now: now() + 61, ..request.clone() }.verify().is_err());
        assert!(with(&request, "x-amz-meta-a", "2").verify().is_err());
    }
    let none = HeaderMap::new();
    assert!(signer.presign("GET", "/", None, &none, 60, at(now())).is_err());
    assert!(signer.presign("GET", "/", None, &headers(&pairs), 604_801, at(now())).is_err());
}
