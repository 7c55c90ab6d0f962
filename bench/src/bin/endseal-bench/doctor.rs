//! `endseal-bench doctor`

use core::fmt::Write as _;
use std::path::PathBuf;

use endseal_bench::environment::{Environment, build_command};
use endseal_bench::peers::PEERS;
use endseal_bench::program::is_program;
use serde_json::json;

use crate::failure::Failure;
use crate::{Outcome, shipped};

/// Check this machine for a measurement; name what is missing, and the command that adds it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Folder of the peers
    #[arg(long, value_name = "DIR", default_value = "peers")]
    peers_dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let environment = Environment::capture(0);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut say = |good: bool, what: &str| {
        let _ = writeln!(text, "{} {what}", if good { "ok     " } else { "lacking" });
    };
    let release = environment.profile == "release";
    say(release, if release { "release build" } else { "debug build: cargo run --release" });
    let ifma = environment.x25519 == "Ifma";
    say(ifma, if ifma { "AVX-512 IFMA" } else { "no AVX-512 IFMA: slower agreements" });
    let load = environment.load[0];
    say(load < 0.5, &format!("load average {load}"));
    let endseal = shipped::path(None)?;
    let is_there = is_program(&endseal);
    let remedy = if is_there { String::new() } else { format!(": {}", build_command()) };
    say(is_there, &format!("the shipped program {}{remedy}", endseal.display()));
    let mut peers = Vec::new();
    for peer in PEERS.iter() {
        let missing = peer.missing(&args.peers_dir);
        let objection = match &missing {
            Some(missing) => Some(missing.clone()),
            None => peer.start(&args.peers_dir).err().map(|error| error.to_string()),
        };
        match &objection {
            Some(objection) => say(false, &format!("peer {}: {objection}", peer.name)),
            None => say(true, &format!("peer {}: it starts", peer.name)),
        }
        peers.push(json!({ "peer": peer.name, "missing": missing, "objection": objection }));
    }
    let json = json!({
        "release": release,
        "ifma": ifma,
        "load": load,
        "endseal": is_there.then(|| endseal.display().to_string()),
        "peers": peers,
    });
    Ok(Outcome { text, json })
}
