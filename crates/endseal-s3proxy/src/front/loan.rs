//! The socket of a connection, lent to an upload that reads a long body past hyper.
//!
//! hyper gives a body in memory that it shares, so what is sealed would need a second memory. The upload asks for
//! the socket; [`Serving`](super::Serving) takes hyper off it and lends it, with what hyper had read; the upload
//! reads the body into memory of its own, and the socket comes back when that is at its end, or when nobody wants
//! the rest.

use alloc::sync::Arc;
use core::task::{Context, Poll};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use super::ClientSocket;
use crate::fill::{fill_from, poll_fill};

/// Where the socket is. Of one connection; clones are the same.
#[derive(Clone)]
pub(crate) struct Loan {
    state: Arc<Mutex<State>>,
    read_len: usize,
}

#[derive(Default)]
enum State {
    /// With hyper, or with the body, or lost with a client that went away.
    #[default]
    Elsewhere,
    /// The upload has asked for it.
    Wanted,
    /// Lent and not taken yet, with what hyper had read.
    Lent(ClientSocket, Bytes),
    Back(Returned),
}

/// A socket that came back.
pub(super) struct Returned {
    pub(super) socket: ClientSocket,
    /// What was read behind the body.
    pub(super) behind: Bytes,
    /// Whether the body was read to its end: if not, no request can follow it.
    pub(super) serves_again: bool,
}

impl Loan {
    /// `read_len` is how many bytes are worth being read at once.
    pub(super) fn new(read_len: usize) -> Self {
        Self { state: Arc::default(), read_len }
    }

    /// How many bytes are worth being read at once.
    pub(crate) const fn read_len(&self) -> usize {
        self.read_len
    }

    /// Asks for the socket. The caller MUST be polled by the connection's task, which looks right after, and MUST
    /// take what it asked for.
    pub(crate) fn want(&self) {
        *self.lock() = State::Wanted;
    }

    /// Takes the socket. `None` as long as it is not lent.
    pub(crate) fn take(&self) -> Option<Lent> {
        let mut state = self.lock();
        match core::mem::take(&mut *state) {
            State::Lent(socket, early) => Some(Lent { loan: self.clone(), socket, early }),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Nobody wants it any more. Whether it was not lent yet.
    pub(crate) fn forgo(&self) -> bool {
        let mut state = self.lock();
        if matches!(*state, State::Wanted) {
            *state = State::Elsewhere;
        }
        matches!(*state, State::Elsewhere)
    }

    pub(super) fn is_wanted(&self) -> bool {
        matches!(*self.lock(), State::Wanted)
    }

    pub(super) fn lend(&self, socket: ClientSocket, early: Bytes) {
        *self.lock() = State::Lent(socket, early);
    }

    pub(super) fn returned(&self) -> Option<Returned> {
        let mut state = self.lock();
        match core::mem::take(&mut *state) {
            State::Back(returned) => Some(returned),
            other => {
                *state = other;
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nobody can panic with the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that was lent, and what hyper had read.
pub(crate) struct Lent {
    loan: Loan,
    socket: ClientSocket,
    early: Bytes,
}

impl Lent {
    /// The rest of a body of which `left` bytes are still to come; hyper gave `pieces` of those already.
    pub(crate) fn body(self, left: u64, pieces: Vec<Bytes>) -> LentBody {
        let Self { loan, socket, early } = self;
        let mut early =
            if pieces.is_empty() { early } else { [&pieces.concat()[..], &early].concat().into() };
        let body = usize::try_from(left).map_or(early.len(), |left| left.min(early.len()));
        let behind = early.split_off(body);
        LentBody { loan, socket: Some(socket), early, behind, left }
    }
}

/// The rest of a body, read past hyper. Dropped, the socket goes back.
pub(crate) struct LentBody {
    loan: Loan,
    /// None when the client went away.
    socket: Option<ClientSocket>,
    /// What hyper had read of it.
    early: Bytes,
    /// What hyper had read besides.
    behind: Bytes,
    /// Bytes that are still to come, `early` included.
    left: u64,
}

impl LentBody {
    /// Bytes that are still to come.
    pub(crate) const fn left(&self) -> u64 {
        self.left
    }

    /// Reads on to the end of `room`, at most `most` bytes and what it has capacity for: the caller MUST let both be
    /// above 0, and MUST NOT ask behind the last. How many came.
    ///
    /// # Errors
    /// If the client went away.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let most = usize::try_from(self.left).map_or(most, |left| left.min(most));
        let came = if self.early.is_empty() {
            let Some(socket) = &mut self.socket else { return Poll::Ready(Err(gone())) };
            match core::task::ready!(poll_fill(socket, cx, room, most)) {
                Ok(0) if most > 0 => Err(gone()),
                other => other,
            }
        } else {
            Ok(fill_from(&mut self.early, room, most))
        };
        match came {
            Ok(came) => self.left -= came as u64,
            Err(_) => self.socket = None,
        }
        Poll::Ready(came)
    }
}

fn gone() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

impl Drop for LentBody {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take() {
            let behind = core::mem::take(&mut self.behind);
            let serves_again = self.left == 0;
            *self.loan.lock() = State::Back(Returned { socket, behind, serves_again });
        }
    }
}
