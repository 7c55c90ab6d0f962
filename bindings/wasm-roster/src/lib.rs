//! The WebAssembly module of `endseal/roster` in the npm package `endseal`, which `roster-wasm.js`
//! of that package calls. It has no secrets.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
mod module;
