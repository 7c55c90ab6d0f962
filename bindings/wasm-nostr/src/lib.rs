//! The WebAssembly module of `endseal/nostr` in the npm package `endseal`, which `nostr-wasm.js` of
//! that package calls.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
mod module;
#[cfg(feature = "test-vectors")]
mod test_vectors;
