//! Rules of buckets: whether plaintext may lie there, what content keys are bound to.

use crate::glob::Glob;
use crate::object::Binding;

/// What to do with objects that are not sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Plaintext {
    /// They are errors: whoever holds the bucket could put them there.
    #[default]
    Forbid,
    /// They can be read; what is written is sealed.
    ReadOnly,
    /// They can be read and written: the bucket goes through untouched, but for sealed objects, which are opened.
    Allow,
}

/// The rule of the buckets that a pattern names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BucketRule {
    /// Names of buckets.
    pub name: Glob,
    /// Objects that are not sealed.
    pub plaintext: Plaintext,
    /// What content keys are bound to; lower ones are refused on reading.
    pub binding: Binding,
    /// Whether user metadata is sealed too.
    pub seal_metadata: bool,
}

impl BucketRule {
    /// The default for the buckets of that name: plaintext is forbidden, keys are bound to bucket
    /// and key, metadata are as they come.
    #[must_use]
    pub const fn new(name: Glob) -> Self {
        Self { name, plaintext: Plaintext::Forbid, binding: Binding::Key, seal_metadata: false }
    }
}

/// Rules, of which the first that fits counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets {
    rules: Vec<BucketRule>,
    default: BucketRule,
}

impl Default for Buckets {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Buckets {
    /// Rules in their order; the default for buckets that none names.
    #[must_use]
    pub fn new(rules: Vec<BucketRule>) -> Self {
        Self { rules, default: BucketRule::new(Glob::new("*")) }
    }

    /// The rule of a bucket.
    #[must_use]
    pub fn rule(&self, bucket: &str) -> &BucketRule {
        self.rules.iter().find(|rule| rule.name.matches(bucket)).unwrap_or(&self.default)
    }
}
