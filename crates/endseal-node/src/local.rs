//! Client of the running `endseal up` process, over the socket in its state directory
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

/// File name of the socket, whose mode is 0600.
const SOCKET: &str = "node.sock";
/// Limit in bytes on the texts of one request, which is that of a message on the socket.
pub const MAX_TEXTS_LEN: usize = endseal_service::control::MAX_CONTROL_FRAME;

/// Returns the path of the socket.
pub(crate) fn socket(home: &Home) -> PathBuf {
    home.file(SOCKET)
}
