//! Tests of the whole proxy, from client sockets to a folder, with the code that is shipped.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "these are tests")]

mod access;
mod account;
mod announced_checksums;
mod balancers;
mod bypasses;
mod chunked;
mod clean;
mod client;
mod completions;
mod conditions;

mod copies;
mod cors;
mod credential_servers;
mod credentials;
mod crowds;
mod deploy;
mod early_answers;
mod error_details;
mod faults;
mod fixed_answer;
mod fixture;
mod folder;
mod forms;
mod header_rules;
mod hostile_requests;
mod lists;
mod logged;
mod long_answers;
mod markers;
mod metrics;
mod multipart;
mod named;
mod named_lists;
mod named_upkeep;
mod objects;
mod odd_server;
mod parallel_parts;
mod pipelining;
mod races;
mod recorded_clean;
mod recorded_lists;
mod recorded_upkeep;
mod recovery;
mod reload;
mod replicas;
mod resent;
mod rewrap;
mod scrub;
mod sealed_metadata;
mod set_up;
mod statuses;
mod unreadable;
