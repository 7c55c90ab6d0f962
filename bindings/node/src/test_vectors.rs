//! Identities of the vectors, in a build that is not shipped.

use endseal_facade as facade;
use napi::Result;
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

use crate::error::exception;
use crate::identity::Identity;

#[napi]
pub fn identity_from_seeds(ed25519: Uint8Array, mlkem768: Uint8Array) -> Result<Identity> {
    let wrong = |_| exception(facade::Error::argument("a seed of another length"));
    let ed25519 = ed25519.as_ref().try_into().map_err(wrong)?;
    let mlkem768 = mlkem768.as_ref().try_into().map_err(wrong)?;
    Ok(Identity::of(facade::Identity::from_seeds(ed25519, mlkem768)))
}
