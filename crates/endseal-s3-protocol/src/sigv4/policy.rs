//! The policy document of a form: until when, and with which fields, it may be sent.

use core::ops::RangeInclusive;

use base64ct::{Base64, Encoding as _};
use serde_json::Value;

use super::{SignatureError, Timestamp};

/// Longest policy in base64; S3 allows a form of 20 KB before its file.
const MAX_POLICY: usize = 20 * 1024;

/// A policy document that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    expiration: Timestamp,
    conditions: Vec<Condition>,
    content_length: Option<(u64, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    /// In lower case, without `$`.
    field: String,
    value: String,
    prefix: bool,
}

impl Policy {
    /// Parses a policy from the Base64 of its JSON.
    ///
    /// # Errors
    /// [`SignatureError::InvalidPolicy`].
    pub fn parse(base64: &str) -> Result<Self, SignatureError> {
        Self::read(base64).map_err(SignatureError::InvalidPolicy)
    }

    fn read(base64: &str) -> Result<Self, &'static str> {
        if base64.len() > MAX_POLICY {
            return Err("It is too long.");
        }
        let json = Base64::decode_vec(base64).map_err(|_| "It is no base64.")?;
        let json: Value = serde_json::from_slice(&json).map_err(|_| "Invalid JSON.")?;
        let expiration = json.get("expiration").ok_or("Policy missing expiration.")?;
        let expiration = expiration.as_str().and_then(Timestamp::from_extended);
        let conditions = json.get("conditions").and_then(Value::as_array);
        let mut policy = Self {
            expiration: expiration.ok_or("Invalid 'expiration' value.")?,
            conditions: Vec::new(),
            content_length: None,
        };
        for condition in conditions.ok_or("Policy missing conditions.")? {
            match condition {
                Value::Object(fields) if !fields.is_empty() => {
                    for (field, value) in fields {
                        policy.equal(field, value, false)?;
                    }
                }
                Value::Array(three) => policy.triple(three)?,
                _ => return Err("Invalid Condition: it is neither a map nor a list."),
            }
        }
        Ok(policy)
    }

    fn triple(&mut self, three: &[Value]) -> Result<(), &'static str> {
        let [operator, first, second] = three else {
            return Err("Invalid Condition: a list must have three elements.");
        };
        let operator =
            operator.as_str().ok_or("Invalid Condition: the operator is not a string.")?;
        if operator.eq_ignore_ascii_case("content-length-range") {
            let (from, to) = (number(first)?, number(second)?);
            // All of several apply.
            let (low, high) = self.content_length.unwrap_or((0, u64::MAX));
            self.content_length = Some((low.max(from), high.min(to)));
            return Ok(());
        }
        let prefix = operator.eq_ignore_ascii_case("starts-with");
        if !prefix && !operator.eq_ignore_ascii_case("eq") {
            return Err("Invalid Condition: unknown operator.");
        }
        let field = first.as_str().and_then(|it| it.strip_prefix('$'));
        self.equal(field.ok_or("Invalid Condition: the field must begin with $.")?, second, prefix)
    }

    fn equal(&mut self, field: &str, value: &Value, prefix: bool) -> Result<(), &'static str> {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err("Invalid Condition: the value is not a string."),
        };
        self.conditions.push(Condition { field: field.to_ascii_lowercase(), value, prefix });
        Ok(())
    }

    /// Checks that the fields comply: the policy has not expired, each condition holds (a field
    /// that is not there is empty), and each field has a condition. Names in lower case; `bucket`
    /// stands for the bucket that the form was sent to. Exempt are `policy`, `x-amz-signature`,
    /// `file` and names that begin with `x-ignore-`.
    ///
    /// # Errors
    /// [`SignatureError::PolicyExpired`], [`SignatureError::PolicyViolated`].
    pub fn check(
        &self,
        bucket: &str,
        fields: &[(String, &str)],
        now: Timestamp,
    ) -> Result<(), SignatureError> {
        if now > self.expiration {
            return Err(SignatureError::PolicyExpired);
        }
        let violated = |condition: &Condition| {
            let operator = if condition.prefix { "starts-with" } else { "eq" };
            let Condition { field, value, .. } = condition;
            SignatureError::PolicyViolated(format!("[\"{operator}\", \"${field}\", \"{value}\"]"))
        };
        for condition in &self.conditions {
            let sent = fields.iter().find(|(name, _)| *name == condition.field);
            let value = match condition.field.as_str() {
                "bucket" => bucket,
                _ => sent.map_or("", |(_, value)| value),
            };
            let holds = if condition.prefix {
                value.starts_with(&condition.value)
            } else {
                value == condition.value
            };
            if !holds {
                return Err(violated(condition));
            }
        }
        for (name, value) in fields {
            let exempt = matches!(name.as_str(), "policy" | "x-amz-signature" | "file")
                || name.starts_with("x-ignore-");
            if name == "bucket" && *value != bucket {
                return Err(SignatureError::PolicyViolated("bucket".to_owned()));
            }
            if !exempt && !self.conditions.iter().any(|condition| condition.field == *name) {
                return Err(SignatureError::PolicyViolated(format!("Extra input fields: {name}")));
            }
        }
        Ok(())
    }

    /// Returns the allowed lengths of the file, in bytes. The caller MUST refuse one that is
    /// shorter (EntityTooSmall) or longer (EntityTooLarge).
    #[must_use]
    pub fn content_length(&self) -> Option<RangeInclusive<u64>> {
        self.content_length.map(|(from, to)| from..=to)
    }
}

/// A length as a number or its digits.
fn number(value: &Value) -> Result<u64, &'static str> {
    let number = match value {
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => value.as_u64(),
    };
    number.ok_or("Invalid Condition: content-length-range needs two lengths.")
}
