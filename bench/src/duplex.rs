//! Two ends in one process that talk to each other: what every subject of the suite `transport`
//! does, ours and those of `peers/rust` and `peers/rust-iroh`, which compile the same files.
//! Subjects differ in their [`carrier::Carrier`] and in nothing else.

pub(crate) mod carrier;
pub(crate) mod examine;
pub(crate) mod idle;
mod processor;
pub(crate) mod relay;
pub(crate) mod serve;
pub(crate) mod work;
