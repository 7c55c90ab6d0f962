//! Groups (docs/spec/session.md, "Groups").

mod commits;
mod credentials;
mod damage;
mod device;
#[cfg(feature = "draft-pq")]
mod draft_pq;
mod epochs;
mod order;
mod round_trip;
mod states;
mod together;
