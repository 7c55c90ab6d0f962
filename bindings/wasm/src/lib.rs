//! The WebAssembly module of the npm package `endseal`, which `wasm.js` of that package calls.
//!
//! Functions take and return numbers. Bytes go through two buffers of [`module::Module`], at whose
//! addresses JavaScript writes and reads; objects are numbers that it looks up. Memory is zeroed
//! when it is freed. What the functions leave on the stack, which is memory too, JavaScript wipes.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
mod entropy;
mod module;
mod open;
mod record;
mod seal;
mod table;

use std::alloc::System;

use zeroizing_alloc::ZeroAlloc;

#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);
