//! Requests that botocore signed (`generate.py`): each must verify, and must be refused after any
//! change.

use base64ct::{Base64, Encoding as _};
use endseal_s3_protocol::aws_chunked::{Decoder, Limits};
use endseal_s3_protocol::checksum::Digests;
use endseal_s3_protocol::sigv4::{FormAccess, PayloadHash, Signer};
use serde_json::Value;

use super::*;

struct Case {
    name: String,
    kind: String,
    request: Request,
    body: Vec<u8>,
    content: Option<Vec<u8>>,
    expires: Option<i64>,
    fields: Vec<(String, String)>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn pairs(value: &Value) -> Vec<(String, String)> {
    let pairs = value.as_array().map_or(&[][..], Vec::as_slice);
    pairs.iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("botocore.json")).unwrap();
    assert_eq!(file["access-key"], ACCESS_KEY);
    assert_eq!(file["secret-key"], SECRET_KEY);
    let bytes = |value: &Value| value.as_str().map(|text| Base64::decode_vec(text).unwrap());
    let case = |case: &Value| {
        let pairs_of = pairs(&case["headers"]);
        let pairs_of: Vec<_> = pairs_of.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        Case {
            name: text(&case["name"]),
            kind: text(&case["kind"]),
            request: Request {
                method: case["method"].as_str().unwrap_or_default().to_owned(),
                target: case["target"].as_str().unwrap_or_default().to_owned(),
                headers: headers(&pairs_of),
                now: file["now"].as_i64().unwrap(),
            },
            body: bytes(&case["body"]).unwrap_or_default(),
            content: bytes(&case["content"]),
            expires: case["expires"].as_i64(),
            fields: pairs(&case["fields"]),
        }
    };
    file["cases"].as_array().unwrap().iter().map(case).collect()
}

#[test]
fn every_request_is_verified() {
    let verifier = verifier();
    let (mut count, mut bodies, mut streams) = (0, 0, 0);
    let lives = |case: &&Case| case.kind != "form" && case.expires != Some(0);
    for case in cases().iter().filter(lives) {
        let request = &case.request;
        let verified = request.verify_by(&verifier);
        let verified = verified.unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
        assert_eq!(verified.access_key, ACCESS_KEY);
        assert_eq!(verified.presigned, case.kind == "presigned");
        count += 1;
        if case.kind == "presigned" {
            continue;
        }
        // In a request to complete an upload such a header describes the object; this request has
        // none.
        let digests = Digests::of_request(&request.headers, verified.payload.sha256());
        let mut digests = digests.unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
        let decoder = Decoder::of_request(&verified.payload, &request.headers, Limits::default());
        let (content, trailers) = match decoder.unwrap() {
            Some(decoder) => {
                streams += 1;
                decode(decoder, &case.body, &[]).unwrap()
            }
            None => (case.body.clone(), HeaderMap::new()),
        };
        digests.update(&content);
        digests.finish(Some(&trailers)).unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
        if let Some(expected) = &case.content {
            bodies += 1;
            assert_eq!(&content, expected, "{}", case.name);
        }
    }
    assert!(count > 300 && bodies > 80 && streams > 60, "{count} {bodies} {streams}");
}

#[test]
fn presigned_requests_end_when_they_say() {
    let verifier = verifier();
    for case in cases().iter().filter(|case| case.kind == "presigned") {
        let expires = case.expires.unwrap();
        let verify = |offset: i64| {
            let now = case.request.now + offset;
            Request { now, ..case.request.clone() }.verify_by(&verifier).map(drop)
        };
        if expires == 0 {
            // botocore makes such a URL, and S3 refuses it.
            assert_eq!(verify(0), Err(SignatureError::Expired));
            continue;
        }
        assert_eq!(verify(expires), Ok(()));
        assert_eq!(verify(expires + 1), Err(SignatureError::Expired));
        assert_eq!(verify(-900), Ok(()));
        assert_eq!(verify(-901), Err(SignatureError::NotYetValid));
    }
}

#[test]
fn requests_are_good_for_a_quarter_of_an_hour() {
    let verifier = verifier();
    for case in cases().iter().filter(|case| case.kind == "header") {
        for (offset, expected) in [
            (900, Ok(())),
            (-900, Ok(())),
            (901, Err(SignatureError::Skewed)),
            (-901, Err(SignatureError::Skewed)),
        ] {
            let now = case.request.now + offset;
            let request = Request { now, ..case.request.clone() };
            assert_eq!(request.verify_by(&verifier).map(drop), expected, "{}", case.name);
        }
    }
}

#[test]
fn altered_requests_are_refused() {
    let verifier = verifier();
    for case in cases().iter().filter(|case| case.kind != "form") {
        let refused = |what: &str, change: &dyn Fn(&mut Request)| {
            let mut request = case.request.clone();
            change(&mut request);
            assert!(request.verify_by(&verifier).is_err(), "{what} of {}", case.name);
        };
        refused("method", &|it| it.method = "PATCH".into());
        refused("path", &|it| it.target.insert(1, 'x'));
        refused("query", &|it| {
            let mark = if it.target.contains('?') { "&" } else { "?" };
            it.target = format!("{}{mark}versionId=x", it.target);
        });
        refused("new header", &|it| {
            it.headers.insert("x-amz-acl", HeaderValue::from_static("public-read"));
        });
        let names: Vec<HeaderName> = case.request.headers.keys().cloned().collect();
        for name in names {
            let signed = name == "host" || name.as_str().starts_with("x-amz-");
            if !signed {
                continue;
            }
            refused("header", &|it| {
                it.headers.append(name.clone(), HeaderValue::from_static("x"));
            });
            refused("header", &|it| drop(it.headers.remove(&name)));
        }
    }
}

/// Our own signer must make the same signature as botocore for the same headers.
#[test]
fn the_signer_agrees_with_botocore() {
    let mut agreed = 0;
    for case in cases().iter().filter(|case| case.kind == "header") {
        let mut request = case.request.clone();
        let theirs = request.headers["authorization"].to_str().unwrap().to_owned();
        let verified = request.verify().unwrap();
        let secret = SecretKey::new(SECRET_KEY.to_owned());
        let signer = Signer::new(ACCESS_KEY.to_owned(), secret, verified.region);
        let hash = request.headers["x-amz-content-sha256"].to_str().unwrap();
        let hash = PayloadHash::parse(hash).unwrap();
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (request.target.as_str(), None),
        };
        signer
            .sign(&request.method, path, query, &mut request.headers, hash, at(request.now))
            .unwrap();
        let ours = request.headers["authorization"].to_str().unwrap();
        let signature = |text: &str| text.rsplit_once("Signature=").unwrap().1.to_owned();
        let list = |text: &str| {
            text.split_once("SignedHeaders=").unwrap().1.split_once(',').unwrap().0.to_owned()
        };
        // botocore signs more headers, and does not normalise paths.
        if list(ours) == list(&theirs) && !case.name.starts_with("odd") {
            assert_eq!(signature(ours), signature(&theirs), "{}", case.name);
            agreed += 1;
        }
        request.verify().unwrap();
    }
    assert!(agreed > 150, "{agreed}");
}

#[test]
fn every_form_is_verified_and_no_altered_one() {
    let verifier = verifier();
    let mut count = 0;
    for case in cases().iter().filter(|case| case.kind == "form") {
        let now = at(case.request.now);
        let FormAccess::Signed(form) = verifier.verify_form("bucket", &case.fields, now).unwrap()
        else {
            panic!("it is signed")
        };
        assert_eq!(form.access_key, ACCESS_KEY);
        count += 1;
        assert!(verifier.verify_form("other", &case.fields, now).is_err());
        let end = at(case.request.now + 601);
        let expired = verifier.verify_form("bucket", &case.fields, end);
        assert_eq!(expired.err(), Some(SignatureError::PolicyExpired));
        for i in 0..case.fields.len() {
            // A condition with `${filename}` allows any key that starts like the condition.
            let mut fields = case.fields.clone();
            fields[i].1.insert(0, 'x');
            let altered = verifier.verify_form("bucket", &fields, now);
            let free = case.fields[i].0 == "key" && case.fields[i].1.starts_with("${");
            assert!(free || altered.is_err(), "{:?}", case.fields[i]);
            let mut fields = case.fields.clone();
            fields.remove(i);
            let lacking = verifier.verify_form("bucket", &fields, now);
            assert!(!matches!(lacking, Ok(FormAccess::Signed(_))), "{:?}", case.fields[i]);
        }
        let mut fields = case.fields.clone();
        fields.push(("x-amz-meta-more".into(), "x".into()));
        assert!(verifier.verify_form("bucket", &fields, now).is_err());
    }
    assert_eq!(count, 9);
}
