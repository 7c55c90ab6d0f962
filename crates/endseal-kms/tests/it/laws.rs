//! Checks that every provider must pass.

use endseal_kms::{ContentKey, KeyId, KeyProvider, ProviderError, Wrapped};

pub(crate) fn key(n: u8) -> ContentKey {
    ContentKey::from_bytes(&[n; 32])
}

pub(crate) fn id(text: &str) -> KeyId {
    KeyId::new(text).unwrap()
}

/// Wraps a key and opens it again, and checks that other contexts and ids are refused.
pub(crate) async fn opens_what_it_wrapped(provider: &dyn KeyProvider) -> Wrapped {
    endseal_kms::check(provider).await.unwrap();
    let wrapped = provider.wrap(b"context", &key(7)).await.ok().unwrap();
    assert_eq!(wrapped.key_id, provider.wrapping_key_id());
    assert!(provider.knows(&wrapped.key_id) && !provider.knows(&id("another")));
    let opened = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
    assert!(opened.ok().unwrap() == key(7));
    for context in [&b"contexu"[..], b"", b"context\0"] {
        let outcome = provider.unwrap(&wrapped.key_id, context, &wrapped.bytes).await;
        assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed));
    }
    let outcome = provider.unwrap(&id("another"), b"context", &wrapped.bytes).await;
    assert_eq!(outcome.err(), Some(ProviderError::UnknownKey));
    wrapped
}

/// Changes every byte and every length of a wrapped key, and checks that each is refused.
pub(crate) async fn refuses_changes(provider: &dyn KeyProvider, wrapped: &Wrapped, stride: usize) {
    for at in (0..wrapped.bytes.len()).step_by(stride) {
        let mut bad = wrapped.bytes.clone();
        bad[at] ^= 1;
        let outcome = provider.unwrap(&wrapped.key_id, b"context", &bad).await;
        assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed), "{at}");
        let short = &wrapped.bytes[..at];
        let outcome = provider.unwrap(&wrapped.key_id, b"context", short).await;
        assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed), "{at}");
    }
    let long = [&wrapped.bytes[..], b"A"].concat();
    let outcome = provider.unwrap(&wrapped.key_id, b"context", &long).await;
    assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed));
}
