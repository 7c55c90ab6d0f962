//! `endseal`: end-to-end encrypted files and messages, on the command line.
//!
//! Standard output carries data, standard error is for people, and the exit code is for programs
//! (`failure.rs`).
#![forbid(unsafe_code)]
#![allow(clippy::std_instead_of_alloc, reason = "there is nothing here without std")]

mod args;
mod cmd;
mod config;
#[cfg(test)]
mod conventions;
mod ctx;
mod departures;
mod device_changes;
mod device_name;
mod dispatch;
mod duration;
mod examples;
mod exposed;
mod failure;
mod found;
mod global;
mod harden;
mod help_groups;
mod hub_moves;
mod inbox;
mod interrupt;
mod json;
mod known_peers;
mod log;
mod names;
mod network;
mod node_access;
mod output;
mod passphrase;
mod peer_address;
mod printable;
mod problem_text;
mod progress;
mod qr;
mod reachable;
mod recipients;
mod sessions;
mod style;
mod team_changes;
mod terminal;
mod time;
mod tree;
mod typed;
mod waiting_requests;

use std::process::ExitCode;

use crate::ctx::Ctx;
use crate::dispatch::dispatch;

fn main() -> ExitCode {
    tree::set(args::tree);
    let hardened = harden::harden();
    let mut ctx = match Ctx::of_process() {
        Ok(ctx) => ctx,
        // Without standard streams no message can be printed.
        Err(_) => return ExitCode::from(failure::Kind::Environment.code()),
    };
    let code = match args::parse(std::env::args_os()) {
        Ok(cli) => ctx.run(cli.global, hardened, |ctx| {
            if ctx.global.json {
                interrupt::watch()?;
            }
            dispatch(cli.command, ctx)
        }),
        Err(error) => ctx.usage(error),
    };
    ExitCode::from(code)
}
