//! Sessions: conversations whose keys move on with every message (docs/spec/session.md).
#![forbid(unsafe_code)]
