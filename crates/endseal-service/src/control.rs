//! A Unix socket over which commands reach a process of the same user.
//!
//! Each line is a JSON object, and a connection carries any number of them. A secret is a
//! [`SecretText`], of which the parser makes no copy.

mod client;
mod idle;
mod line;
mod lines;
mod secret_text;
mod server;

pub use client::{ControlClient, ControlConnectError};
pub use line::{ControlLineError, MAX_CONTROL_LINE, to_line};
pub use lines::ControlLines;
pub use secret_text::SecretText;
pub use server::ControlSocket;
