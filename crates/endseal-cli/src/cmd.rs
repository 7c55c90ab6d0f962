//! The commands, one a file.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod contacts;
pub(crate) mod demo;
pub(crate) mod group;
pub(crate) mod hub;
pub(crate) mod id;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod listen;
pub(crate) mod man;
pub(crate) mod nostr;
pub(crate) mod open;
pub(crate) mod peers;
pub(crate) mod ping;
pub(crate) mod s3;
pub(crate) mod seal;
pub(crate) mod send;
pub(crate) mod session;
pub(crate) mod signer;
pub(crate) mod store;
