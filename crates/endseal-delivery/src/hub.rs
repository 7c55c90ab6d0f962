//! The hub's side of the delivery protocol: exchanges, permissions and subscriptions.

mod exchange;
mod kind;
mod standing;
mod subscription;

pub use exchange::{Action, Exchange};
pub use kind::Kind;
pub use standing::{Standing, allows};
pub use subscription::Subscription;
