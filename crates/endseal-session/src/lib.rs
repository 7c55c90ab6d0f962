//! Sessions: conversations whose keys move on with every message (docs/spec/session.md).
#![forbid(unsafe_code)]

pub mod address;
pub mod certificate;
pub mod group;
