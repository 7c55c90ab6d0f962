//! Contexts: memory of the caller with scratch memory, the caller's functions and a mark of use.

use core::ffi::c_void;

use super::pointer::Memory;
use crate::arena::Arena;
use crate::platform::Platform;
use crate::status::{ENDSEAL_NOSTR_ARGUMENT, ENDSEAL_NOSTR_BUSY, ENDSEAL_NOSTR_OK, Failure};

/// `sizeof(endseal_nostr)` in bytes: 24 KiB of scratch memory, and 64 bytes.
pub const ENDSEAL_NOSTR_CONTEXT_LEN: usize = 24640;

/// Found in a context that is set up.
const MAGIC: u32 = 0x454e_5331;

/// Context of the calls. Its content is private. It may be static, on the heap or on a large stack,
/// and must not be moved after `endseal_nostr_init`.
#[repr(C)]
pub struct Context {
    /// Private.
    pub opaque: [u64; 3080],
}

/// Fills `out` with `len` bytes of a cryptographically secure source. Returns 0 if it did.
pub type RandomFn =
    Option<unsafe extern "C" fn(user: *mut c_void, out: *mut u8, len: usize) -> i32>;

/// Feeds a watchdog or lets other tasks run.
pub type StepFn = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// Encrypts (`decrypt` is 0) or decrypts (1) `count` blocks of 16 bytes where they lie, by
/// AES-256-ECB with a key of 32 bytes. Returns 0 if it did. `count` can be 0.
pub type AesFn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        key: *const u8,
        decrypt: i32,
        blocks: *mut u8,
        count: usize,
    ) -> i32,
>;

/// Functions of the caller. They must not call the library with the context that they serve.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Callbacks {
    /// First argument of each function.
    pub user: *mut c_void,
    /// Random source. Without it nothing is encrypted or signed.
    pub random: RandomFn,
    /// Called before each step of a call. NULL if nothing is to be done. A step takes at most
    /// 8,000,000 instructions on RV32IMC (50 ms at 160 MHz), 6,000,000 on Cortex-M4F.
    pub between_steps: StepFn,
    /// AES peripheral for NIP-04; `endseal_nostr_answer` does not use it. NULL computes AES in
    /// software, in constant time.
    pub aes256: AesFn,
}

/// The content of a context.
#[repr(C)]
pub(super) struct State {
    magic: u32,
    is_busy: u32,
    callbacks: Callbacks,
    arena: Arena,
}

const _: () = assert!(size_of::<Context>() == ENDSEAL_NOSTR_CONTEXT_LEN);
const _: () = assert!(size_of::<State>() <= size_of::<Context>());
const _: () = assert!(align_of::<State>() <= align_of::<Context>());

impl State {
    /// Sets up a context.
    ///
    /// # Safety
    /// The pointers are null or valid, `context` for writes of `context_len` bytes.
    pub(super) unsafe fn write(
        context: *mut Context,
        context_len: usize,
        callbacks: *const Callbacks,
    ) -> Result<(), Failure> {
        let are_usable = !context.is_null()
            && context.is_aligned()
            && context_len == size_of::<Context>()
            && !callbacks.is_null()
            && callbacks.is_aligned();
        if !are_usable {
            return Err(Failure::Argument);
        }
        // SAFETY: the pointer is valid by the contract, and aligned.
        let callbacks = unsafe { callbacks.read() };
        // SAFETY: as many bytes are valid for writes.
        unsafe { context.write_bytes(0, 1) };
        let state = context.cast::<Self>();
        // SAFETY: the context is aligned for a state and at least as large.
        unsafe { (*state).callbacks = callbacks };
        // SAFETY: as above.
        unsafe { (*state).magic = MAGIC };
        Ok(())
    }

    /// Wipes a context.
    ///
    /// # Safety
    /// The pointer is null or valid for writes.
    pub(super) unsafe fn wipe(context: *mut Context) {
        if !context.is_null() && context.is_aligned() {
            // SAFETY: the pointer is valid by the contract, not null and aligned.
            let words = unsafe { &mut (*context).opaque };
            for word in words {
                // SAFETY: a reference is valid for writes. Volatile writes are not left out.
                unsafe { core::ptr::from_mut(word).write_volatile(0) };
            }
        }
    }
}

/// Runs `work` with the context's scratch memory and functions, then wipes that memory. Returns
/// the status of the call.
///
/// # Safety
/// `context` is null or valid for writes, and was set up; `work` passes to [`Memory`] only pointers
/// that its contract allows.
pub(super) unsafe fn call(
    context: *mut Context,
    work: impl FnOnce(&mut Memory<'_>, &mut Arena, &mut Chip) -> Result<(), i32>,
) -> i32 {
    if context.is_null() || !context.is_aligned() {
        return ENDSEAL_NOSTR_ARGUMENT;
    }
    let state = context.cast::<State>();
    // SAFETY: the pointer is valid and aligned. No reference to these members exists at any time.
    if unsafe { (*state).magic } != MAGIC {
        return ENDSEAL_NOSTR_ARGUMENT;
    }
    // SAFETY: as above.
    if unsafe { (*state).is_busy } != 0 {
        return ENDSEAL_NOSTR_BUSY;
    }
    // SAFETY: as above.
    unsafe { (*state).is_busy = 1 };
    // SAFETY: as above.
    let mut chip = Chip(unsafe { (*state).callbacks });
    // SAFETY: `is_busy` makes this the only reference to the arena, which `write` has set to zero.
    let arena = unsafe { &mut (*state).arena };
    // SAFETY: the contract of this function.
    let mut memory = unsafe { Memory::new(context.addr(), size_of::<Context>()) };
    let done = work(&mut memory, arena, &mut chip);
    arena.wipe();
    // SAFETY: as above.
    unsafe { (*state).is_busy = 0 };
    done.err().unwrap_or(ENDSEAL_NOSTR_OK)
}

/// The functions of the caller.
pub(super) struct Chip(Callbacks);

impl Chip {
    pub(super) const fn user(&self) -> *mut c_void {
        self.0.user
    }
}

impl Platform for Chip {
    fn random(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        let random = self.0.random.ok_or(Failure::Random)?;
        // SAFETY: the function of the caller gets `out` and its length.
        match unsafe { random(self.0.user, out.as_mut_ptr(), out.len()) } {
            0 => Ok(()),
            _ => Err(Failure::Random),
        }
    }

    fn between_steps(&mut self) {
        if let Some(step) = self.0.between_steps {
            // SAFETY: the function of the caller gets its own pointer.
            unsafe { step(self.0.user) };
        }
    }

    fn aes256(
        &mut self,
        key: &[u8; 32],
        decrypt: bool,
        blocks: &mut [[u8; 16]],
    ) -> Option<Result<(), Failure>> {
        let aes = self.0.aes256?;
        let (start, count) = (blocks.as_mut_ptr().cast(), blocks.len());
        // SAFETY: the function of the caller gets a key of 32 bytes, the blocks and their number.
        let status = unsafe { aes(self.0.user, key.as_ptr(), i32::from(decrypt), start, count) };
        Some(if status == 0 { Ok(()) } else { Err(Failure::Aes) })
    }
}
