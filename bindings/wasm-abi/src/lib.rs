//! The common part of the WebAssembly modules of the npm package `endseal`, which `memory.js` of
//! that package calls.
//!
//! Functions take and return numbers. Bytes go through two [`Buffers`], at whose addresses
//! JavaScript writes and reads; objects are numbers that it looks up in a [`Table`]. Memory is
//! zeroed when it is freed. What the functions leave on the stack, which is memory too, JavaScript
//! wipes.
#![deny(unsafe_code)]

mod buffers;
mod entropy;
#[allow(unsafe_code)]
mod import;
mod table;

use std::alloc::System;

pub use buffers::{Answer, Buffers, joined, split, text};
pub use entropy::{ENTROPY, WebRandom};
pub use table::Table;
use zeroizing_alloc::ZeroAlloc;

#[global_allocator]
static ALLOCATOR: ZeroAlloc<System> = ZeroAlloc(System);

/// Exports functions of a module, which is a type with `const fn new()` and a field `buffers`. The
/// attributes are the only unsafe code of these modules: names of functions are unique, and what is
/// called takes and returns numbers.
#[macro_export]
macro_rules! exports {
    ($module:ty: $($name:ident($($argument:ident: $type:ty),* $(,)?) => $call:expr;)*) => {
        static MODULE: ::std::sync::Mutex<$module> = ::std::sync::Mutex::new(<$module>::new());

        fn module() -> ::std::sync::MutexGuard<'static, $module> {
            MODULE.lock().unwrap_or_else(::std::sync::PoisonError::into_inner)
        }

        fn answer(call: impl FnOnce(&mut $module) -> $crate::Answer) -> i32 {
            let mut module = module();
            let answer = call(&mut module);
            module.buffers.settle(answer)
        }

        $crate::more_exports! { $($name($($argument: $type),*) => $call;)* }

        /// Returns the address at which JavaScript writes the input of the next call, 0 if there is
        /// not so much memory.
        #[unsafe(no_mangle)]
        extern "C" fn reserve(len: usize) -> usize {
            module().buffers.reserve(len)
        }

        /// Returns the address of the output of the last call.
        #[unsafe(no_mangle)]
        extern "C" fn output() -> usize {
            module().buffers.output.as_ptr() as usize
        }

        /// Returns the length of the output of the last call.
        #[unsafe(no_mangle)]
        extern "C" fn output_len() -> usize {
            module().buffers.output.len()
        }

        /// Wipes input and output.
        #[unsafe(no_mangle)]
        extern "C" fn release() {
            module().buffers.release();
        }

        /// Returns the address for random bytes.
        #[unsafe(no_mangle)]
        extern "C" fn entropy() -> usize {
            $crate::ENTROPY.as_ptr() as usize
        }
    };
}

/// Exports further functions, behind [`exports!`] in the same file.
#[macro_export]
macro_rules! more_exports {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) => $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> i32 {
            answer($call)
        }
    )*};
}
