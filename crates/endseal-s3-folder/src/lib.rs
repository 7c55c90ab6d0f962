#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Only the proxy knows the access key. To the proxy the server is a backend like any other.
//!
//! # Layout of the folder
//! | path | content |
//! |---|---|
//! | `endseal-folder` | marks the folder; locked, so that two processes do not share it |
//! | `buckets/NAME/objects/…` | entries of objects, a small file each, at `names` |
//! | `buckets/NAME/uploads/ID/upload` | the entry of an upload in parts |
//! | `buckets/NAME/uploads/ID/parts/NNNNN-TAG` | its parts |
//! | `data/HH/ID` | the content of an object: a file, or a folder of parts and their `list` |
//! | `pending/ID` | marks data that no entry refers to yet, or soon no more |
//! | `temporary/N` | files that are being written; emptied at the start |
//!
//! # Guarantees
//! Data are written, and forced to the disk, before the object's entry refers to them; the entry is
//! replaced by one `rename`. So an object is the old one or the new one, and a body that breaks off
//! leaves nothing. Conditions are checked under the same lock under which the entry is replaced.
//! Data and entries never change, but are replaced: a reader of an object reads that object to its
//! end. The files in `pending` name the data that a killed process left; they are removed at the
//! next start.
//!
//! Entity tags are random, not digests of the content. There are no versions, tags of objects,
//! access control lists or locks.
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

mod bucket;
mod conditions;
mod copy;
mod data;
mod delete;
mod demands;
mod dispatch;
mod entry;
mod fault;
mod id;
mod lines;
mod list;
mod multipart;
mod names;
mod object;
mod reading;
mod receive;
mod request;
mod response;
mod server;
mod store;
mod upload;
mod uploads;
mod walk;

pub use server::FolderServer;
