//! Groups (docs/spec/session.md, "Groups").

mod device;
mod round_trip;
