//! Requests to a running signer over its socket, and its replies.
//!
//! [`endseal_service::control`] carries them: a request is one line of JSON, and so is its reply,
//! which is a `Result` of [`Reply`] and [`CommandError`]. The JSON is what serde derives from the
//! types here. It is not a stable format: caller and signer must be of the same version.

mod command;
mod reply;
mod socket;

pub use command::{Command, Grant, GrantEffect, Rate, Remember, Request, Requested};
pub use reply::{
    AppRelays, AppState, AppView, CommandError, Flow, GreetedRelay, IgnoredView, LineView, Reply,
    RuleView, Status, UserView, WaitingView,
};
pub use socket::{CallError, SOCKET, call};

pub use endseal_service::control::{ControlLineError, SecretText};
