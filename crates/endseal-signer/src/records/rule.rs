//! Rules of apps.

use endseal_nostr::policy::{RULE_LEN, Rule, RuleError};

use super::name;
use crate::error::RecordError;

/// A rule that is valid, so that it can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRecord(Rule);

impl RuleRecord {
    pub(crate) const KIND: u32 = 4;
    /// Length of a rule in bytes.
    pub const LEN: usize = RULE_LEN;
    /// Length of the name: transport key, number.
    pub(crate) const NAME_LEN: usize = 36;

    /// Reads the bytes of a rule.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn new(bytes: &[u8; Self::LEN]) -> Result<Self, RecordError> {
        Ok(Self(Rule::from_bytes(bytes)?))
    }

    /// Checks a rule.
    ///
    /// # Errors
    /// [`RecordError::Value`].
    pub fn of(rule: Rule) -> Result<Self, RecordError> {
        rule.check()?;
        Ok(Self(rule))
    }

    /// The rule.
    #[must_use]
    pub const fn rule(&self) -> &Rule {
        &self.0
    }

    /// The bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        self.0.to_bytes()
    }

    /// Number within the app, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.0.number
    }

    /// Name of the record.
    #[must_use]
    pub fn record_name(transport: &[u8; 32], number: u32) -> [u8; Self::NAME_LEN] {
        let mut name = [0; Self::NAME_LEN];
        name[..32].copy_from_slice(transport);
        name[32..].copy_from_slice(&number.to_be_bytes());
        name
    }

    /// Reads a record; returns the transport key of its app, too.
    ///
    /// # Errors
    /// [`RecordError`].
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
