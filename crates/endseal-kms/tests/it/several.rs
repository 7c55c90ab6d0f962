//! Several providers that are used as one.

use std::sync::Arc;

use endseal_kms::Several;

use super::scripted::{Mood, Scripted};
use super::*;

#[tokio::test]
async fn the_first_wraps_and_each_opens_its_own() {
    let (new, old) = (Scripted::new(), Scripted::new());
    let from_old = old.wrap(b"context", &key(1)).await.ok().unwrap();
    let several = Several::new(
        Arc::clone(&new) as Arc<dyn KeyProvider>,
        vec![Arc::clone(&old) as Arc<dyn KeyProvider>],
    );
    let from_new = opens_what_it_wrapped(&several).await;
    assert_eq!(several.wrapping_key_id(), new.wrapping_key_id());
    let opened = several.unwrap(&from_old.key_id, b"context", &from_old.bytes).await;
    assert!(opened.ok().unwrap() == key(1));
    // A provider that is unavailable must not affect the other one.
    old.set(Mood::Down);
    assert!(several.unwrap(&from_new.key_id, b"context", &from_new.bytes).await.is_ok());
    let outcome = several.unwrap(&from_old.key_id, b"context", &from_old.bytes).await;
    assert!(matches!(outcome.err(), Some(ProviderError::Unavailable { .. })));
    assert_eq!(format!("{several:?}"), "[Ring, Ring]");
}
