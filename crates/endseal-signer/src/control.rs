//! Requests to a running signer over its socket, and its replies (`docs/spec/signer.md`).
//!
//! A message is `length (4) || JSON || length (4) || secret`, lengths little-endian. A connection
//! carries one request and one reply. Secrets travel behind the JSON, so that no JSON reader copies
//! them.

mod command;
mod frame;
mod reply;
mod secret_text;
mod socket;

pub use command::{Command, Grant, GrantEffect, Rate, Remember, Request};
pub(crate) use frame::to_bytes;
pub use frame::{FrameError, MAX_FRAME};
pub use reply::{
    AppState, AppView, CommandError, Flow, LineView, Reply, RuleView, Status, UserView, WaitingView,
};
pub use secret_text::SecretText;
pub use socket::{CallError, SOCKET, call};
