//! Signed forms: uploads by `POST` from a browser, let in by a policy.

use core::ops::RangeInclusive;
use std::time::SystemTime;

use endseal_crypto::secret::constant_time_eq;

use super::canonical::ALGORITHM;
use super::hex::digest;
use super::scope::Scope;
use super::{Policy, SecretKeys, SignatureError, Timestamp, Verifier};

/// Sender of a form, as its signature authenticates it.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums, reason = "there are two kinds")]
pub enum FormAccess {
    /// There is no policy, so the sender is unknown. The caller MUST decide if that is permitted.
    Anonymous,
    /// The sender has a policy that the owner of an access key signed.
    Signed(VerifiedForm),
}

/// A form whose signature is right and whose fields comply with its policy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifiedForm {
    /// Access key whose secret signed the policy.
    pub access_key: String,
    /// Allowed lengths of the file in bytes; the caller MUST refuse any other.
    pub content_length: Option<RangeInclusive<u64>>,
}

impl<S: SecretKeys> Verifier<S> {
    /// Says who sent a form to `bucket`. `fields` are those before the file, with `${filename}` in
    /// `key` already replaced; names may be in any case.
    ///
    /// # Errors
    /// [`SignatureError`]. Nothing of the form may be trusted then.
    pub fn verify_form<N: AsRef<str>, V: AsRef<str>>(
        &self,
        bucket: &str,
        fields: &[(N, V)],
        now: SystemTime,
    ) -> Result<FormAccess, SignatureError> {
        use SignatureError::MalformedForm as Malformed;
        let fields: Vec<(String, &str)> = fields
            .iter()
            .map(|(name, value)| (name.as_ref().to_ascii_lowercase(), value.as_ref()))
            .collect();
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let twice = names.windows(2).any(|it| it[0] == it[1] && !it[0].starts_with("x-ignore-"));
        if twice {
            return Err(Malformed("A field is there twice."));
        }
        let find =
            |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
        let need = |wanted| {
            find(wanted).ok_or(Malformed(
                "A signed form needs the fields key, policy, x-amz-algorithm, x-amz-credential, \
                 x-amz-date and x-amz-signature.",
            ))
        };
        if find("signature").is_some() || find("awsaccesskeyid").is_some() {
            return Err(SignatureError::Version2);
        }
        if find("policy").is_none() {
            return match find("x-amz-signature") {
                None => Ok(FormAccess::Anonymous),
                Some(_) => Err(Malformed("It is signed, but has no policy.")),
            };
        }
        if find("x-amz-security-token").is_some() {
            return Err(SignatureError::InvalidToken);
        }
        if need("x-amz-algorithm")? != ALGORITHM {
            return Err(SignatureError::UnsupportedMechanism);
        }
        need("key")?;
        let policy = need("policy")?;
        let scope = Scope::parse(need("x-amz-credential")?).map_err(Malformed)?;
        let time = Timestamp::from_basic(need("x-amz-date")?);
        if time.is_none_or(|time| time.basic().day() != scope.day) {
            return Err(Malformed("x-amz-date must be a date of the credential's day."));
        }
        let signature = digest(need("x-amz-signature")?.as_bytes())
            .ok_or(Malformed("x-amz-signature is not 64 hexadecimal digits."))?;
        self.check_region(&scope, true)?;
        let secret = self.secrets.secret_key(scope.access_key);
        let secret = secret.ok_or(SignatureError::UnknownAccessKey)?;
        let (key, kept) = self.keys.find(&secret, &scope);
        if !constant_time_eq(&key.sign(policy.as_bytes()), &signature) {
            return Err(SignatureError::Mismatch);
        }
        if !kept {
            self.keys.keep(&secret, &scope, key);
        }
        let policy = Policy::parse(policy)?;
        policy.check(bucket, &fields, Timestamp::of(now))?;
        Ok(FormAccess::Signed(VerifiedForm {
            access_key: scope.access_key.to_owned(),
            content_length: policy.content_length(),
        }))
    }
}
