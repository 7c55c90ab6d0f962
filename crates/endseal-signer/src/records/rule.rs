//! Records of the rules of apps.

use endseal_nostr::policy::{RULE_LEN, Rule, RuleError};

use super::name;
use crate::error::RecordError;

/// Rule that was checked, so that it can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRecord(Rule);

impl RuleRecord {
    pub(crate) const KIND: u32 = 4;
    /// Length of an encoded rule in bytes.
    pub const LEN: usize = RULE_LEN;
    /// Length of the record's name in bytes: transport public key and number.
    pub(crate) const NAME_LEN: usize = 36;

    /// Decodes a rule.
    ///
    /// # Errors
    /// [`RecordError`] if the version is unknown or a field has an invalid value.
    pub fn new(bytes: &[u8; Self::LEN]) -> Result<Self, RecordError> {
        Ok(Self(Rule::from_bytes(bytes)?))
    }

    /// Checks a rule so that it can be recorded.
    ///
    /// # Errors
    /// [`RecordError::Value`] if the rule is not allowed, for instance an unlimited credential
    /// rule.
    pub fn of(rule: Rule) -> Result<Self, RecordError> {
        rule.check()?;
        Ok(Self(rule))
    }

    /// Returns the rule.
    #[must_use]
    pub const fn rule(&self) -> &Rule {
        &self.0
    }

    /// Encodes the rule.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        self.0.to_bytes()
    }

    /// Number of the rule within its app, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.0.number
    }

    /// Returns the record name of a rule: the app's transport public key and the number in
    /// big-endian order.
    #[must_use]
    pub fn record_name(transport: &[u8; 32], number: u32) -> [u8; Self::NAME_LEN] {
        let mut name = [0; Self::NAME_LEN];
        name[..32].copy_from_slice(transport);
        name[32..].copy_from_slice(&number.to_be_bytes());
        name
    }

    /// Reads a record. Returns the transport public key of its app, too.
    ///
    /// # Errors
    /// [`RecordError`] if the rule is malformed or its number is not that of the name.
    pub fn from_bytes(record_name: &[u8], value: &[u8]) -> Result<([u8; 32], Self), RecordError> {
        let [transport @ .., a, b, c, d] = name::<{ Self::NAME_LEN }>(record_name)?;
        let rule = Self(Rule::from_bytes(value)?);
        if rule.number() != u32::from_be_bytes([*a, *b, *c, *d]) {
            return Err(RecordError::Value);
        }
        Ok((*transport, rule))
    }
}

impl From<RuleError> for RecordError {
    fn from(error: RuleError) -> Self {
        match error {
            RuleError::Length => Self::Length,
            RuleError::Version => Self::Version,
            _ => Self::Value,
        }
    }
}
