//! Two ends in one process that talk to each other: the work of every subject of the suite
//! `transport`, ours and those of `peers/rust` and `peers/rust-iroh`, which compile the same files.
//! Subjects differ only in their implementation of [`carrier::Carrier`].

pub(crate) mod carrier;
pub(crate) mod examine;
pub(crate) mod idle;
mod processor;
pub(crate) mod relay;
pub(crate) mod serve;
pub(crate) mod work;
