//! The WebAssembly module of the npm package `endseal`, which `wasm.js` of that package calls.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
mod module;
mod open;
mod record;
mod seal;
