//! A ring as a provider.

use alloc::sync::Arc;
use std::sync::{PoisonError, RwLock};

use endseal_crypto::key_wrap;
use endseal_crypto::random::OsRandom;

use super::Ring;
use crate::provider::{
    Answer, ContentKey, KeyId, KeyProvider, ProviderError, ProviderKind, UNAVAILABLE_FOR, Wrapped,
};

/// Wraps under the last key of a ring, opens under all of them.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RingProvider(RwLock<Arc<Ring>>);

impl RingProvider {
    /// A provider of that ring.
    #[must_use]
    pub fn new(ring: Ring) -> Self {
        Self(RwLock::new(Arc::new(ring)))
    }

    /// Takes another ring from now on, after a rotation. Questions that are being answered keep the
    /// old one.
    pub fn replace(&self, ring: Ring) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ring);
    }

    fn ring(&self) -> Arc<Ring> {
        // Nothing that can panic happens under the lock.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyProvider for RingProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Ring
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.ring().wrapping().id.clone()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.ring().knows(key_id)
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move {
            let ring = self.ring();
            let own = ring.wrapping();
            let bytes = key_wrap::wrap(&own.key, context, key, &mut OsRandom)
                .map_err(|_| ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR })?;
            Ok(Wrapped { key_id: own.id.clone(), bytes })
        })
    }

    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey> {
        Box::pin(async move {
            let ring = self.ring();
            let own = ring.find(key_id).ok_or(ProviderError::UnknownKey)?;
            key_wrap::unwrap(&own.key, context, wrapped).map_err(|_| ProviderError::Unauthentic)
        })
    }
}
