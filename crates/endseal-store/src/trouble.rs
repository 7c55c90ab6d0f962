//! Notes of errors that end a connection, until its store does so.
//!
//! Errors of SQLite are converted far below the store that they belong to: the one whose connection
//! the thread used last.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU8, Ordering};

/// Trouble that ends a connection. SQLCipher refuses every page after one that it could not
/// authenticate, and takes one that could not be read for such a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A file could not be read.
    Unreadable,
    /// A page or a tree was found damaged.
    Damaged,
}

/// Note of the trouble that a store met.
#[derive(Clone, Default)]
pub(crate) struct Note(Arc<AtomicU8>);

impl Note {
    /// Gives the errors that this thread converts from here on to the store of this note.
    pub(crate) fn follow(&self) {
        CURRENT.with_borrow_mut(|current| {
            if !current.as_ref().is_some_and(|it| Arc::ptr_eq(&it.0, &self.0)) {
                *current = Some(self.clone());
            }
        });
    }

    /// Gives them to no store.
    pub(crate) fn follow_none() {
        CURRENT.take();
    }

    /// Returns the worst trouble since the last call.
    pub(crate) fn take(&self) -> Option<Trouble> {
        match self.0.swap(NONE, Ordering::Relaxed) {
            NONE => None,
            UNREADABLE => Some(Trouble::Unreadable),
            _ => Some(Trouble::Damaged),
        }
    }
}

/// Notes trouble for the store whose connection was used last.
pub(crate) fn report(trouble: Trouble) {
    let trouble = match trouble {
        Trouble::Unreadable => UNREADABLE,
        Trouble::Damaged => DAMAGED,
    };
    CURRENT.with_borrow(|current| {
        if let Some(note) = current {
            note.0.fetch_max(trouble, Ordering::Relaxed);
        }
    });
}

std::thread_local! {
    static CURRENT: RefCell<Option<Note>> = const { RefCell::new(None) };
}

const NONE: u8 = 0;
const UNREADABLE: u8 = 1;
const DAMAGED: u8 = 2;
