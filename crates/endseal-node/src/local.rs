//! Requests to a process that stays at the hub, over the socket of its state directory
//! (docs/spec/node.md, "Local API").

mod client;
mod error;
mod reply;
mod request;

use std::path::PathBuf;

pub use client::{Followed, LocalClient};
pub use error::{LocalCallError, LocalError};
pub(crate) use reply::{LocalReply, Secret};
pub(crate) use request::LocalRequest;

use crate::home::Home;

/// Name of the socket; its mode is 0600.
const SOCKET: &str = "node.sock";
/// Most bytes of the texts of one request: those of a message on the socket.
pub const MAX_TEXTS_LEN: usize = endseal_service::control::MAX_CONTROL_FRAME;

/// Where the socket is.
pub(crate) fn socket(home: &Home) -> PathBuf {
    home.file(SOCKET)
}
