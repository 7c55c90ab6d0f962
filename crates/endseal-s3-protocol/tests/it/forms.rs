//! Policies of browser forms, condition by condition.

use base64ct::{Base64, Encoding as _};
use endseal_s3_protocol::sigv4::{FormAccess, Policy, Signer, VerifiedForm};

use super::published::now;
use super::*;

type Fields = Vec<(String, String)>;

/// Builds a signed form whose policy has these conditions in addition to those for the signature.
fn form(conditions: &str, more: &[(&str, &str)]) -> Fields {
    let secret = SecretKey::new(SECRET_KEY.to_owned());
    let signer = Signer::new(ACCESS_KEY.into(), secret, "us-east-1".into());
    let own: Vec<String> = signer
        .form(None, at(now()))
        .into_iter()
        .map(|(name, value)| format!("{{\"{name}\": \"{value}\"}}"))
        .collect();
    let policy = format!(
        "{{\"expiration\": \"2013-05-24T01:00:00Z\", \"conditions\": [{conditions}{}]}}",
        own.join(", ")
    );
    let policy = Base64::encode_string(policy.as_bytes());
    let fields = signer.form(Some(&policy), at(now()));
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
    fields.chain(more.iter().map(|(name, value)| ((*name).into(), (*value).into()))).collect()
}

fn verify(fields: &Fields) -> Result<VerifiedForm, SignatureError> {
    match verifier().verify_form("bucket", fields, at(now()))? {
        FormAccess::Signed(form) => Ok(form),
        access => panic!("expected a signature: {access:?}"),
    }
}

const CONDITIONS: &str = "{\"bUcKeT\": \"bucket\"}, [\"StArTs-WiTh\", \"$KeY\", \"user/\"], \
    [\"EQ\", \"$ACL\", \"private\"], {\"success_action_status\": 201}, \
    [\"content-length-range\", 1, \"10\"], [\"content-length-range\", 0, 7], ";
const GOOD: [(&str, &str); 5] = [
    ("KEY", "user/x"),
    ("Acl", "private"),
    ("success_action_status", "201"),
    ("x-ignore-a", "1"),
    ("x-ignore-a", "2"),
];

#[test]
fn conditions_hold_whatever_the_case_of_names() {
    let verified = verify(&form(CONDITIONS, &GOOD)).unwrap();
    assert_eq!(verified.access_key, ACCESS_KEY);
    assert_eq!(verified.content_length, Some(1..=7));
}

#[test]
fn each_condition_counts() {
    for (i, value) in [(0, "User/x"), (0, ""), (1, "public-read"), (1, ""), (2, "200")] {
        let mut fields = GOOD;
        fields[i].1 = value;
        let error = verify(&form(CONDITIONS, &fields)).err().unwrap();
        assert!(matches!(error, SignatureError::PolicyViolated(_)), "{error:?}");
        assert_eq!((error.code(), error.status()), ("AccessDenied", 403));
    }
    let mut more = GOOD.to_vec();
    more.push(("content-type", "text/plain"));
    let error = verify(&form(CONDITIONS, &more)).err();
    let expected = SignatureError::PolicyViolated("Extra input fields: content-type".into());
    assert_eq!(error, Some(expected));
    let elsewhere = verifier().verify_form("other", &form(CONDITIONS, &GOOD), at(now()));
    assert!(matches!(elsewhere.err(), Some(SignatureError::PolicyViolated(_))));
    let mut named = GOOD.to_vec();
    named.push(("bucket", "other"));
    assert!(verify(&form(CONDITIONS, &named)).is_err());
}

#[test]
fn fields_of_the_signature_are_needed_once() {
    let good = form(CONDITIONS, &GOOD);
    for name in ["x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature", "key"] {
        let lacking = good.iter().filter(|(it, _)| !it.eq_ignore_ascii_case(name)).cloned();
        let error = verify(&lacking.collect()).err().unwrap();
        assert!(matches!(error, SignatureError::MalformedForm(_)), "{name} {error:?}");
        let mut twice = good.clone();
        twice.extend(good.iter().filter(|(it, _)| it.eq_ignore_ascii_case(name)).cloned());
        assert!(matches!(verify(&twice).err(), Some(SignatureError::MalformedForm(_))));
    }
    let alter = |name: &str, value: &str| {
        let mut fields = good.clone();
        fields.iter_mut().filter(|(it, _)| it == name).for_each(|it| it.1 = value.into());
        verify(&fields).err().unwrap()
    };
    let zeros = "0".repeat(64);
    assert_eq!(alter("x-amz-signature", &zeros), SignatureError::Mismatch);
    assert_eq!(alter("x-amz-algorithm", "AWS4-HMAC-SHA1"), SignatureError::UnsupportedMechanism);
    assert!(matches!(alter("x-amz-date", "20130525T000000Z"), SignatureError::MalformedForm(_)));
    assert!(matches!(alter("x-amz-credential", "a/b"), SignatureError::MalformedForm(_)));
    let no_one = "NOBODY/20130524/us-east-1/s3/aws4_request";
    assert_eq!(alter("x-amz-credential", no_one), SignatureError::UnknownAccessKey);
    let mut old = good.clone();
    old.push(("AWSAccessKeyId".into(), "x".into()));
    assert_eq!(verify(&old).err(), Some(SignatureError::Version2));
    let mut token = good;
    token.push(("x-amz-security-token".into(), "x".into()));
    assert_eq!(verify(&token).err(), Some(SignatureError::InvalidToken));
}

#[test]
fn a_form_without_a_policy_is_anonymous() {
    let access = verifier().verify_form("bucket", &[("key", "k")], at(now())).unwrap();
    assert!(matches!(access, FormAccess::Anonymous));
    let signed = verifier().verify_form("bucket", &[("x-amz-signature", "k")], at(now()));
    assert!(matches!(signed.err(), Some(SignatureError::MalformedForm(_))));
}

#[test]
fn malformed_policies_are_refused() {
    let until = "\"expiration\": \"2013-05-24T01:00:00Z\"";
    for wrong in [
        "",
        "{",
        "[]",
        "null",
        "{\"expiration\": 1, \"conditions\": []}",
        "{\"EXPIRATION\": \"2013-05-24T01:00:00Z\", \"conditions\": []}",
        "{\"expiration\": \"tomorrow\", \"conditions\": []}",
        &format!("{{{until}}}"),
        &format!("{{{until}, \"CONDITIONS\": []}}"),
        &format!("{{{until}, \"conditions\": {{}}}}"),
        &format!("{{{until}, \"conditions\": [{{}}]}}"),
        &format!("{{{until}, \"conditions\": [1]}}"),
        &format!("{{{until}, \"conditions\": [{{\"a\": []}}]}}"),
        &format!("{{{until}, \"conditions\": [[\"eq\", \"$a\"]]}}"),
        &format!("{{{until}, \"conditions\": [[\"eq\", \"a\", \"b\"]]}}"),
        &format!("{{{until}, \"conditions\": [[\"ends-with\", \"$a\", \"b\"]]}}"),
        &format!("{{{until}, \"conditions\": [[\"content-length-range\", 0]]}}"),
        &format!("{{{until}, \"conditions\": [[\"content-length-range\", -1, 0]]}}"),
        &format!("{{{until}, \"conditions\": [[\"content-length-range\", 0, \"x\"]]}}"),
        &format!("{{{until}, \"conditions\": {}1{}}}", "[".repeat(5_000), "]".repeat(5_000)),
    ] {
        let error = Policy::parse(&Base64::encode_string(wrong.as_bytes())).err();
        assert!(matches!(error, Some(SignatureError::InvalidPolicy(_))), "{wrong:.80}");
    }
    for wrong in ["%", "e30", &"A".repeat(30_000)] {
        assert!(Policy::parse(wrong).is_err());
    }
}
