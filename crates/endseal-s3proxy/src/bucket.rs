//! Rules of buckets: plaintext, binding of content keys and names.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

pub use endseal_s3_format::Binding;
use endseal_s3_format::names::{NameSecret, Names};
use serde::Deserialize;

use crate::glob::Glob;

/// Policy for objects that are not sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Plaintext {
    /// Reading them is an error, because anyone with write access to the backend could have put
    /// them there.
    #[default]
    Forbid,
    /// They can be read. New objects are sealed.
    ReadOnly,
    /// They can be read and written. The bucket is passed through unchanged, except that sealed
    /// objects are opened.
    Allow,
}

/// Rule for the buckets whose names match a pattern.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it may hold a name secret")]
#[non_exhaustive]
pub struct BucketRule {
    /// Pattern of the bucket names.
    pub name: Glob,
    /// Policy for objects that are not sealed.
    pub plaintext: Plaintext,
    /// Binding of content keys. Objects with a weaker binding are refused when they are read.
    pub binding: Binding,
    /// True if user metadata and content headers are sealed, too.
    pub seal_metadata: bool,
    /// Name of the bucket that objects are bound to and names are encrypted for, if it is not the
    /// bucket's own: for a replica under another name.
    pub sealed_as: Option<String>,
    /// Secret that encrypts the names of objects. Without it names are not encrypted.
    pub names: Option<BucketNames>,
}

impl BucketRule {
    /// Creates the default rule for a pattern: plaintext is forbidden, keys are bound to bucket and
    /// key, and metadata are sealed.
    #[must_use]
    pub const fn new(name: Glob) -> Self {
        Self {
            name,
            plaintext: Plaintext::Forbid,
            binding: Binding::Key,
            seal_metadata: true,
            sealed_as: None,
            names: None,
        }
    }

    /// Returns true if ids and receipts of uploads are recorded. They are not where plaintext is
    /// written, because uploads are not sealed there.
    pub(crate) fn records_uploads(&self) -> bool {
        self.plaintext != Plaintext::Allow
    }
}

/// Maximum number of buckets whose name keys are cached. For further buckets they are derived for
/// each request.
const MAX_KNOWN: usize = 1_024;

/// Name secret with the cached name keys of buckets.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds a name secret")]
pub struct BucketNames(Arc<Derived>);

struct Derived {
    secret: NameSecret,
    known: RwLock<HashMap<String, Arc<Names>>>,
}

impl BucketNames {
    /// Wraps a name secret. Buckets can share it, because each has a name key of its own.
    #[must_use]
    pub fn new(secret: NameSecret) -> Self {
        Self(Arc::new(Derived { secret, known: RwLock::default() }))
    }

    /// Returns the name encryption of a bucket.
    pub(crate) fn of(&self, bucket: &str) -> Arc<Names> {
        // No code that holds the lock can leave the map inconsistent, so a poisoned lock is safe to
        // use.
        let known = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = known.get(bucket) {
            return Arc::clone(names);
        }
        drop(known);
        let names = Arc::new(Names::new(&self.0.secret, bucket));
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_KNOWN {
            known.insert(bucket.to_owned(), Arc::clone(&names));
        }
        names
    }
}

/// List of rules. The first one that matches a bucket applies.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it may hold a name secret")]
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
    /// Creates the list. The default rule applies to buckets that no rule matches.
    #[must_use]
    pub fn new(rules: Vec<BucketRule>) -> Self {
        Self { rules, default: BucketRule::new(Glob::new("*")) }
    }

    /// Returns the rule that applies to a bucket.
    #[must_use]
    pub fn rule(&self, bucket: &str) -> &BucketRule {
        self.rules.iter().find(|rule| rule.name.matches(bucket)).unwrap_or(&self.default)
    }
}
