//! A Unix socket over which commands reach a process of the same user (docs/spec/node.md, "Local
//! API").
//!
//! A message is `length (4) || JSON || length (4) || secret`, lengths little-endian. A connection
//! carries one call and its replies, mostly one. Secrets travel behind the JSON, so that no JSON
//! reader copies them.

mod client;
mod frame;
mod server;

pub use client::{ControlClient, ControlConnectError};
pub use frame::{ControlFrameError, MAX_CONTROL_FRAME};
pub use server::{ControlCall, ControlSocket};
