//! Tests of the program: arguments, output and exit codes.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::std_instead_of_alloc, reason = "as in the program")]

mod bad_input;
mod config;
mod confirmations;
mod devices;
mod drill;
mod exit_codes;
mod files;
mod groups;
mod handed_over;
mod help;
mod hub;
mod hub_deploy;
mod hub_move;
mod identities;
mod interrupted;
mod json_fields;
mod killed;
mod killed_at_the_end;
mod linked;
mod listener;
mod memory;
mod messages;
mod network;
mod newcomer;
mod nostr;
mod nostr_app;
mod nostr_bunker;
mod operate;
mod passphrases;
mod path;
mod peers;
mod people;
mod ping;
mod pipes;
mod progress;
mod reach;
mod readme;
mod s3;
mod session_groups;
mod session_groups_killed;
mod sessions;
mod signer;
mod signer_deploy;
mod signer_full;
mod signer_killed;
mod signer_running;
mod signer_secrets;
mod stalled;
mod stores;
mod team_changes;
mod typed;
mod up;
mod verified;
