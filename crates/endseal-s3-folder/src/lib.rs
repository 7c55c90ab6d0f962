//! A folder as the backend: a small S3 server inside the process, so that one command serves S3
//! without another server.
//!
//! It listens at a port of the loopback interface, for one access key that is drawn at its start
//! and that nobody but the proxy knows; to the proxy it is a backend as any other. It is made for
//! one machine: whole, durable and bounded in memory, but not for speed.
//!
//! # What lies where
//! | path | what |
//! |---|---|
//! | `endseal-folder` | says what the folder is; locked, so that two processes do not share it |
//! | `buckets/NAME/objects/…` | what is known of objects, a small file each, at `names` |
//! | `buckets/NAME/uploads/ID/upload` | what is known of an upload in parts |
//! | `buckets/NAME/uploads/ID/parts/NNNNN-TAG` | its parts |
//! | `data/HH/ID` | the bytes of an object: a file, or a folder of parts and their `list` |
//! | `pending/ID` | data that nothing refers to yet, or soon no more |
//! | `temporary/N` | what is being written; emptied at the start |
//!
//! # What holds
//! Data are written, and forced to the disk, before the object's entry refers to them; the entry is
//! replaced by one `rename`. So an object is the old one or the new one, and a body that breaks off
//! leaves nothing. Conditions are checked under the same lock under which the entry is replaced.
//! Data and entries never change, but are replaced: who reads an object reads that object to its
//! end. What a killed process left is found by `pending` and tidied up at the next start.
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
