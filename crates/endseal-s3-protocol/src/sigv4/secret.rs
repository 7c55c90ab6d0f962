//! Secret access keys, and the keys derived from them for a day and a region.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use endseal_crypto::secret::Zeroizing;
use endseal_crypto::sha256::{self, HmacKey};

use super::scope::Scope;

/// Derived keys that are kept. Each is of one secret, day and region.
const CACHE: usize = 256;

/// A secret access key, wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SecretKey {
    text: Zeroizing<String>,
    /// Names the secret in the cache.
    digest: Zeroizing<[u8; 32]>,
}

impl SecretKey {
    /// Takes the text of the secret.
    #[must_use]
    pub fn new(text: String) -> Self {
        let text = Zeroizing::new(text);
        let digest = Zeroizing::new(sha256::digest(text.as_bytes()));
        Self { text, digest }
    }

    /// `HMAC(HMAC(HMAC(HMAC("AWS4" || secret, day), region), service), "aws4_request")`.
    pub(super) fn derive(&self, day: &str, region: &str, service: &str) -> SigningKey {
        let mut first = Zeroizing::new(Vec::with_capacity(4 + self.text.len()));
        first.extend_from_slice(b"AWS4");
        first.extend_from_slice(self.text.as_bytes());
        let mut key = Zeroizing::new(sha256::hmac(&first, &[day.as_bytes()]));
        for part in [region, service, "aws4_request"] {
            key = Zeroizing::new(sha256::hmac(&key[..], &[part.as_bytes()]));
        }
        SigningKey(Box::new(HmacKey::new(&key[..])))
    }
}

/// Source of the secrets with which the verifier checks signatures.
pub trait SecretKeys {
    /// The secret of an access key, or `None` if there is no such key.
    fn secret_key(&self, access_key: &str) -> Option<Arc<SecretKey>>;
}

impl SecretKeys for HashMap<String, Arc<SecretKey>> {
    fn secret_key(&self, access_key: &str) -> Option<Arc<SecretKey>> {
        self.get(access_key).cloned()
    }
}

impl<T: SecretKeys + ?Sized> SecretKeys for Arc<T> {
    fn secret_key(&self, access_key: &str) -> Option<Arc<SecretKey>> {
        (**self).secret_key(access_key)
    }
}

/// Signs the requests of one secret, day and region. Boxed: a move leaves no copy behind.
pub(super) struct SigningKey(Box<HmacKey>);

impl SigningKey {
    pub(super) fn sign(&self, string_to_sign: &[u8]) -> [u8; 32] {
        self.0.mac(&[string_to_sign])
    }
}

/// Derived keys of clients that were verified recently.
pub(super) struct KeyCache(Mutex<Cached>);

#[derive(Default)]
struct Cached {
    /// The cache is so small, and its keys so quickly compared, that comparing all of them costs no
    /// more than one hash.
    keys: Vec<Kept>,
    /// Counts uses, so that the one unused longest is known.
    clock: u64,
}

struct Kept {
    secret: Zeroizing<[u8; 32]>,
    day: String,
    region: String,
    key: Arc<SigningKey>,
    used: u64,
}

impl Cached {
    fn find(&mut self, secret: &SecretKey, scope: &Scope<'_>) -> Option<&mut Kept> {
        self.keys.iter_mut().find(|kept| {
            *kept.secret == *secret.digest && kept.day == scope.day && kept.region == scope.region
        })
    }
}

impl KeyCache {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// The derived key, and whether it was kept.
    pub(super) fn find(&self, secret: &SecretKey, scope: &Scope<'_>) -> (Arc<SigningKey>, bool) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.clock += 1;
        let clock = cached.clock;
        if let Some(kept) = cached.find(secret, scope) {
            kept.used = clock;
            return (Arc::clone(&kept.key), true);
        }
        drop(cached);
        (Arc::new(secret.derive(scope.day, scope.region, scope.service)), false)
    }

    /// Keeps a derived key. It is called for valid signatures only: otherwise a sender without the
    /// secret could evict the keys of others.
    pub(super) fn keep(&self, secret: &SecretKey, scope: &Scope<'_>, key: Arc<SigningKey>) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = cached.clock;
        // Another request with this key was verified meanwhile.
        if let Some(kept) = cached.find(secret, scope) {
            (kept.key, kept.used) = (key, used);
            return;
        }
        if cached.keys.len() >= CACHE {
            let oldest = cached.keys.iter().map(|kept| kept.used).min();
            cached.keys.retain(|kept| Some(kept.used) != oldest);
        }
        let (secret, day, region) =
            (secret.digest.clone(), scope.day.to_owned(), scope.region.to_owned());
        cached.keys.push(Kept { secret, day, region, key, used });
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::S3;
    use super::*;

    fn scope<'a>(day: &'a str, region: &'a str) -> Scope<'a> {
        Scope { access_key: "a", day, region, service: S3 }
    }

    #[test]
    fn a_kept_key_is_the_derived_one() {
        let secret = SecretKey::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into());
        let cache = KeyCache::new();
        let scope = scope("20130524", "us-east-1");
        let (key, kept) = cache.find(&secret, &scope);
        assert!(!kept);
        cache.keep(&secret, &scope, Arc::clone(&key));
        let (again, kept) = cache.find(&secret, &scope);
        assert!(kept && again.sign(b"text") == key.sign(b"text"));
        let other = SecretKey::new("another".into());
        let (alien, kept) = cache.find(&other, &scope);
        assert!(!kept && alien.sign(b"text") != key.sign(b"text"));
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let secret = SecretKey::new("secret".into());
        let cache = KeyCache::new();
        for i in 0..2_000 {
            let region = i.to_string();
            let scope = scope("20130524", &region);
            let (key, _) = cache.find(&secret, &scope);
            cache.keep(&secret, &scope, key);
            assert!(cache.find(&secret, &Scope { region: "0", ..scope }).1);
        }
        assert_eq!(cache.0.lock().unwrap().keys.len(), CACHE);
    }
}
