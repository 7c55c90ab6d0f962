//! Requests to a running signer over its socket, and its replies (`docs/spec/signer.md`).
//!
//! Framing and connections are those of [`endseal_service::control`].

mod command;
mod reply;
mod socket;

pub use command::{Command, Grant, GrantEffect, Rate, Remember, Request};
pub use reply::{
    AppState, AppView, CommandError, Flow, LineView, Reply, RuleView, Status, UserView, WaitingView,
};
pub use socket::{CallError, SOCKET, call};

pub use endseal_service::control::{ControlLineError, SecretText};
