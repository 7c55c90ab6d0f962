//! The hub's side.

mod exchange;
mod standing;
mod subscription;

pub use exchange::{Action, Exchange, Kind};
pub use standing::{Standing, allows};
pub use subscription::Subscription;
