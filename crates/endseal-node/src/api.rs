//! The operations of a node: one interface, whether its store is open in this process or in
//! `endseal up` (docs/spec/node-api.md).
//!
//! | to do this | use |
//! |---|---|
//! | carry out a request on an open store | [`execute`] |
//! | send a request to `endseal up` | [`Client::call`] |
//! | receive texts as they arrive | [`Client::follow`] |
//! | read and write lines of the socket | [`Request::read`], [`Request::to_line`] |
//!
//! A new operation is a variant of [`Request`], an arm of [`execute`], and an arm of the function
//! that reads its reply.

mod client;
mod error;
mod execute;
mod reply;
mod request;
mod team_rows;
mod teams;

use std::path::PathBuf;

pub use client::{CallError, Client, Followed};
pub use error::{Error, ErrorKind};
pub use execute::execute;
pub use reply::{Backup, Forgotten, NodeStatus, Page, Reply, Said, TextRow, UnsentRow, Version};
pub(crate) use reply::{answer, notification};
pub use request::{Id, Request};
pub use team_rows::{MemberRow, TeamRow};

pub use endseal_service::control::{MAX_CONTROL_LINE as MAX_LINE, SecretText};

use crate::home::Home;

/// Version of the interface.
const VERSION: u32 = 1;
/// File name of the socket, whose mode is 0600.
const SOCKET: &str = "node.sock";

/// Returns the path of the socket.
pub(crate) fn socket(home: &Home) -> PathBuf {
    home.file(SOCKET)
}
