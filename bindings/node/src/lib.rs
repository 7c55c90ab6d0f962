//! The native module of the npm package `endseal`. `api.js` makes its classes and promises, and
//! `index.d.ts` has its types.

mod error;
mod identity;
mod nostr;
mod open;
mod roster;
mod seal;
#[cfg(feature = "test-vectors")]
mod test_vectors;
