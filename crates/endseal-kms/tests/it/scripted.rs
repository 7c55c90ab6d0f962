//! A provider that fails or delays as a test specifies, and counts its requests.

use core::time::Duration;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use endseal_crypto::random::OsRandom;
use endseal_kms::{Answer, ProviderKind, Ring, RingProvider};

use super::*;

#[derive(Clone, Copy)]
pub(crate) enum Mood {
    Well,
    Slow(Duration),
    Down,
    Overloaded(Duration),
    Silent,
}

pub(crate) struct Scripted {
    ring: RingProvider,
    mood: Mutex<Mood>,
    asked: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new() -> std::sync::Arc<Self> {
        let ring = RingProvider::new(Ring::generate(0, &mut OsRandom).unwrap());
        std::sync::Arc::new(Self { ring, mood: Mutex::new(Mood::Well), asked: 0.into() })
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Returns the number of requests since the last call.
    pub(crate) fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }

    async fn behave(&self) -> Result<(), ProviderError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Well => Ok(()),
            Mood::Slow(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Mood::Down => Err(ProviderError::Unavailable { retry_after: Duration::ZERO }),
            Mood::Overloaded(retry_after) => Err(ProviderError::Unavailable { retry_after }),
            Mood::Silent => core::future::pending().await,
        }
    }
}

impl KeyProvider for Scripted {
    fn kind(&self) -> ProviderKind {
        self.ring.kind()
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.ring.wrapping_key_id()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.ring.knows(key_id)
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move {
            self.behave().await?;
            self.ring.wrap(context, key).await
        })
    }

    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey> {
        Box::pin(async move {
            self.behave().await?;
            self.ring.unwrap(key_id, context, wrapped).await
        })
    }
}
