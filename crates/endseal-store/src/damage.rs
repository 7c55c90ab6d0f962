//! Notes of damage that SQLite reported, until the store marks its lock with it.
//!
//! Errors are made far below the store that they belong to. A note is for the thread; if another store of
//! the same thread takes it, that one is checked once without need.

use core::cell::Cell;

std::thread_local! {
    static REPORTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that a page or a tree was found damaged.
pub(crate) fn report() {
    REPORTED.set(true);
}

/// Returns true if there is a note, and removes it.
pub(crate) fn take_report() -> bool {
    REPORTED.replace(false)
}
