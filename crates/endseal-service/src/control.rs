//! A Unix socket over which commands reach a process of the same user.
//!
//! A socket has one of two forms of messages. With [`ControlSocket::serve`], a message is
//! `length (4) || JSON || length (4) || secret`, lengths little-endian, and a connection carries
//! one call and its replies, usually one. Secrets are sent after the JSON rather than in it, so
//! that no JSON parser copies them. With [`ControlSocket::serve_lines`], each line is a JSON
//! object, and a connection carries any number of them; a [`SecretText`] in it is not copied
//! either.

mod client;
mod frame;
mod idle;
mod line;
mod lines;
mod secret_text;
mod server;

pub use client::{ControlClient, ControlConnectError};
pub use frame::{ControlFrameError, MAX_CONTROL_FRAME};
pub use line::{MAX_CONTROL_LINE, to_line};
pub use lines::ControlLines;
pub use secret_text::SecretText;
pub use server::{ControlCall, ControlSocket};
