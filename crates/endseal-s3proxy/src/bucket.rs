//! Rules of buckets: plaintext, the place that content keys are bound to, entity tags, names.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use endseal_s3_format::Binding;
use endseal_s3_format::names::{NameSecret, Names};
use serde::Deserialize;

use crate::glob::Glob;

/// Treatment of objects that are not sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Plaintext {
    /// They are errors: whoever holds the bucket could put them there.
    #[default]
    Forbid,
    /// They can be read; what is written is sealed.
    ReadOnly,
    /// They can be read and written: the bucket goes through untouched, but for sealed objects,
    /// which are opened.
    Allow,
}

/// Form of the entity tags of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EntityTags {
    /// The backend's entity tag with `-0` behind it.
    #[default]
    Backend,
    /// The MD5 of the content, where it is known when an object is written: the request says it, or
    /// has at most 256 KiB. Lists, and all other objects, have the tags of
    /// [`Backend`](Self::Backend).
    Md5,
}

/// The rule of the buckets that a pattern names.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it may hold a name secret")]
#[non_exhaustive]
pub struct BucketRule {
    /// Names of buckets.
    pub name: Glob,
    /// Objects that are not sealed.
    pub plaintext: Plaintext,
    /// Binding of content keys; objects with a lower one are refused on reading.
    pub binding: Binding,
    /// True if user metadata is sealed too.
    pub seal_metadata: bool,
    /// Form of the entity tags that clients see.
    pub entity_tags: EntityTags,
    /// Key that encrypts the names of objects; without it they are as they come.
    pub names: Option<BucketNames>,
}

impl BucketRule {
    /// The default for the buckets of that name: plaintext is forbidden, keys are bound to bucket
    /// and key, metadata are as they come, entity tags are the backend's.
    #[must_use]
    pub const fn new(name: Glob) -> Self {
        Self {
            name,
            plaintext: Plaintext::Forbid,
            binding: Binding::Key,
            seal_metadata: false,
            entity_tags: EntityTags::Backend,
            names: None,
        }
    }

    /// Returns true if ids and receipts of uploads are written and looked for: everywhere but where
    /// plaintext is written, as uploads are the backend's own there.
    pub(crate) fn records_uploads(&self) -> bool {
        self.plaintext != Plaintext::Allow
    }
}

/// Buckets whose name keys are kept; those of others are derived anew for each request.
const MAX_KNOWN: usize = 1_024;

/// A name secret, and the name keys of the buckets that were asked for.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds a name secret")]
pub struct BucketNames(Arc<Derived>);

struct Derived {
    secret: NameSecret,
    known: RwLock<HashMap<String, Arc<Names>>>,
}

impl BucketNames {
    /// Takes a secret over. Several buckets can have the same: each has a name key of its own.
    #[must_use]
    pub fn new(secret: NameSecret) -> Self {
        Self(Arc::new(Derived { secret, known: RwLock::default() }))
    }

    /// The names of a bucket.
    pub(crate) fn of(&self, bucket: &str) -> Arc<Names> {
        // Whoever panicked with the lock cannot have left a map that is half changed.
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

/// Rules, of which the first that fits counts.
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
