//! Several providers as one, for moving from one to another.

use alloc::sync::Arc;

use endseal_crypto::random::Random;

use super::{Answer, ContentKey, KeyId, KeyProvider, ProviderError, ProviderKind, Wrapped};

/// Wraps with the first provider, opens with whichever knows the key.
pub struct Several {
    first: Arc<dyn KeyProvider>,
    others: Vec<Arc<dyn KeyProvider>>,
}

impl Several {
    /// `first` wraps; the others are asked in their order.
    #[must_use]
    pub fn new(first: Arc<dyn KeyProvider>, others: Vec<Arc<dyn KeyProvider>>) -> Self {
        Self { first, others }
    }

    fn find(&self, key_id: &KeyId) -> Option<&dyn KeyProvider> {
        core::iter::once(&self.first)
            .chain(&self.others)
            .find(|provider| provider.knows(key_id))
            .map(|provider| &**provider)
    }
}

impl KeyProvider for Several {
    fn kind(&self) -> ProviderKind {
        self.first.kind()
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.first.wrapping_key_id()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.find(key_id).is_some()
    }

    fn is_as_new(&self, key_id: &str, wrapped: &[u8], sample: &Wrapped) -> bool {
        self.first.is_as_new(key_id, wrapped, sample)
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        self.first.wrap(context, key)
    }

    fn wrap_with<'a>(
        &'a self,
        context: &'a [u8],
        key: &'a ContentKey,
        random: &'a mut (dyn Random + Send),
    ) -> Answer<'a, Wrapped> {
        self.first.wrap_with(context, key, random)
    }

    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey> {
        match self.find(key_id) {
            Some(provider) => provider.unwrap(key_id, context, wrapped),
            None => Box::pin(async { Err(ProviderError::UnknownKey) }),
        }
    }
}

impl core::fmt::Debug for Several {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let kinds = core::iter::once(&self.first).chain(&self.others).map(|own| own.kind());
        f.debug_list().entries(kinds).finish()
    }
}
