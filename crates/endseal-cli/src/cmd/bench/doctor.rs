//! `endseal bench doctor`

use core::fmt::Write as _;
use std::path::PathBuf;

use endseal_bench::environment::Environment;
use endseal_bench::peers::PEERS;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};

/// Say what this machine has for a good measurement, what is missing, and what adds it
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Folder of the peers
    #[arg(long, value_name = "DIR", default_value = "peers")]
    peers_dir: PathBuf,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let environment = Environment::capture(ctx.now / 1000);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut say = |good: bool, what: &str| {
        let _ = writeln!(text, "{} {what}", if good { "ok     " } else { "lacking" });
    };
    let release = environment.profile == "release";
    say(release, if release { "release build" } else { "debug build: cargo run --release" });
    let ifma = environment.x25519 == "Ifma";
    say(ifma, if ifma { "AVX-512 IFMA" } else { "no AVX-512 IFMA: agreements one by one" });
    let load = environment.load[0];
    say(load < 0.5, &format!("load average {load}"));
    let mut peers = Vec::new();
    for peer in PEERS {
        let missing = peer.missing(&args.peers_dir);
        let objections = peer.objections(&args.peers_dir);
        for objection in &objections {
            say(false, &format!("peer {}: {objection}", peer.name));
        }
        if objections.is_empty() {
            let how = if peer.is_locked() { " as its lock file says" } else { "" };
            say(true, &format!("peer {}: installed{how}", peer.name));
        }
        let objections = objections.into_iter().map(Value::from).collect();
        peers.push(json::object([
            ("peer", Value::from(peer.name)),
            ("missing", Value::from(missing)),
            ("objections", Value::Array(objections)),
        ]));
    }
    let json = json::object([
        ("release", release.into()),
        ("ifma", ifma.into()),
        ("load", load.into()),
        ("peers", Value::Array(peers)),
    ]);
    Ok(Outcome::new(text, json))
}
