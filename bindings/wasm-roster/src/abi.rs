//! The functions that JavaScript calls. Their attributes are the only unsafe code of this crate.

use endseal_wasm_abi::exports;

use crate::module::Module;

exports! {
    Module:
    roster_read(owner_len: usize) => |it| it.read(owner_len);
    roster_read_next(held_len: usize, allows_gap: u32) =>
        |it| it.read_next(held_len, allows_gap != 0);
}
