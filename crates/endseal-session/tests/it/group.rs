//! Tests of groups (docs/spec/session.md, "Groups").

mod commits;
mod conversation;
pub(crate) mod credentials;
mod damage;
pub(crate) mod device;
mod epochs;
mod order;
mod round_trip;
mod states;
mod together;
