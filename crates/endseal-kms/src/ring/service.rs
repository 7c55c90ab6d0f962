//! A ring as a provider.

use alloc::sync::Arc;
use std::sync::{PoisonError, RwLock};

use endseal_crypto::key_wrap::{self, Wrapper};
use endseal_crypto::random::{OsRandom, Random};

use super::Ring;
use crate::{
    Answer, ContentKey, KeyId, KeyProvider, ProviderError, ProviderKind, UNAVAILABLE_FOR, Wrapped,
};

/// Wraps under the last key of a ring, opens under all of them.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RingProvider(RwLock<Arc<Prepared>>);

/// A ring, and its last key expanded: nearly all that is asked is asked of that one.
struct Prepared {
    ring: Ring,
    last: Wrapper,
}

impl Prepared {
    fn new(ring: Ring) -> Arc<Self> {
        let last = Wrapper::new(&ring.wrapping().key);
        Arc::new(Self { ring, last })
    }

    fn unwrap(
        &self,
        key_id: &KeyId,
        context: &[u8],
        wrapped: &[u8],
    ) -> Result<ContentKey, ProviderError> {
        let own = self.ring.find(key_id).ok_or(ProviderError::UnknownKey)?;
        // No two keys have the same id.
        let opened = if own.id == self.ring.wrapping().id {
            self.last.unwrap(context, wrapped)
        } else {
            key_wrap::unwrap(&own.key, context, wrapped)
        };
        opened.map_err(|_| ProviderError::AuthenticationFailed)
    }
}

impl RingProvider {
    /// A provider of that ring.
    #[must_use]
    pub fn new(ring: Ring) -> Self {
        Self(RwLock::new(Prepared::new(ring)))
    }

    /// Takes another ring from now on, after a rotation. Questions that are being answered keep the
    /// old one.
    pub fn replace(&self, ring: Ring) {
        let ring = Prepared::new(ring);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = ring;
    }

    fn wrapped(
        &self,
        context: &[u8],
        key: &ContentKey,
        random: &mut impl Random,
    ) -> Result<Wrapped, ProviderError> {
        let own = self.prepared();
        let bytes = own
            .last
            .wrap(context, key, random)
            .map_err(|_| ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR })?;
        Ok(Wrapped { key_id: own.ring.wrapping().id.clone(), bytes })
    }

    fn prepared(&self) -> Arc<Prepared> {
        // Nothing that can panic happens under the lock.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyProvider for RingProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Ring
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.prepared().ring.wrapping().id.clone()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.prepared().ring.knows(key_id)
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move { self.wrapped(context, key, &mut OsRandom) })
    }

    fn wrap_with<'a>(
        &'a self,
        context: &'a [u8],
        key: &'a ContentKey,
        random: &'a mut (dyn Random + Send),
    ) -> Answer<'a, Wrapped> {
        Box::pin(async move { self.wrapped(context, key, &mut { random }) })
    }

    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey> {
        Box::pin(async move { self.prepared().unwrap(key_id, context, wrapped) })
    }
}
