//! The hub's side of the delivery protocol: exchanges, permissions and subscriptions.

mod exchange;
mod group_put;
mod kind;
mod registration_state;
mod subscription;

pub use exchange::{Action, Exchange};
pub use group_put::{GroupCommit, GroupId, GroupPut};
pub use kind::Kind;
pub use registration_state::{RegistrationState, allows};
pub use subscription::Subscription;
