//! Identities of the vectors, in a build that is not shipped.

use endseal_facade as facade;
use endseal_facade::nostr::TestConversation;
use napi::Result;
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

use crate::error::exception;
use crate::identity::Identity;
use crate::nostr::NostrKey;

#[napi]
pub fn identity_from_seeds(ed25519: Uint8Array, mlkem768: Uint8Array) -> Result<Identity> {
    let wrong = |_| exception(facade::Error::argument("a seed of another length"));
    let ed25519 = ed25519.as_ref().try_into().map_err(wrong)?;
    let mlkem768 = mlkem768.as_ref().try_into().map_err(wrong)?;
    Ok(Identity::of(facade::Identity::from_seeds(ed25519, mlkem768)))
}

#[napi]
pub fn nostr_key_from_bytes(bytes: Uint8Array) -> Result<NostrKey> {
    facade::nostr::NostrKey::from_bytes(array(&bytes)?).map(NostrKey::of).map_err(exception)
}

#[napi]
pub fn nostr_conversation_key(secret: Uint8Array, public: Uint8Array) -> Result<Uint8Array> {
    let key = TestConversation::key(array(&secret)?, array(&public)?).map_err(exception)?;
    Ok(key.to_vec().into())
}

#[napi]
pub fn nostr_conversation_seal(
    key: Uint8Array,
    nonce: Uint8Array,
    plaintext: Uint8Array,
    is_short: bool,
) -> Result<String> {
    let conversation = TestConversation::new(array(&key)?);
    conversation.seal(&plaintext, array(&nonce)?, is_short).map_err(exception)
}

#[napi]
pub fn nostr_conversation_open(key: Uint8Array, payload: String) -> Result<Uint8Array> {
    let opened = TestConversation::new(array(&key)?).open(&payload).map_err(exception)?;
    Ok(opened.into())
}

fn array(bytes: &Uint8Array) -> Result<&[u8; 32]> {
    let wrong = |_| exception(facade::Error::argument("bytes of another length"));
    bytes.as_ref().try_into().map_err(wrong)
}
