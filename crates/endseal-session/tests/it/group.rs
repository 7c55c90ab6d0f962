//! Tests of groups (docs/spec/session.md, "Groups").

mod commits;
pub(crate) mod credentials;
mod damage;
pub(crate) mod device;
#[cfg(feature = "draft-pq")]
mod draft_pq;
mod epochs;
mod order;
mod round_trip;
mod states;
mod together;
