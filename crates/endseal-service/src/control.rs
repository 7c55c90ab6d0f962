//! A Unix socket over which commands reach a process of the same user (docs/spec/node.md, "Local
//! API").
//!
//! A message is `length (4) || JSON || length (4) || secret`, lengths little-endian. A connection
//! carries one call and its replies, usually one. Secrets are sent after the JSON rather than in
//! it, so that no JSON parser copies them.

mod client;
mod frame;
mod server;

pub use client::{ControlClient, ControlConnectError};
pub use frame::{ControlFrameError, MAX_CONTROL_FRAME};
pub use server::{ControlCall, ControlSocket};
