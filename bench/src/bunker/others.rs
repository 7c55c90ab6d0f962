//! Remote signers of other projects, each started by the mode `bunker` of its peer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use super::{Relay, Signing, TIMEOUT};
use crate::case::Case;
use crate::peer::answer;
use crate::peer::process::Process;
use crate::program;
use crate::record::SubjectInfo;
use crate::subject::{Failure, Prepared, Subject, unsupported};

/// A remote signer that is a mode of a peer's program.
struct Other {
    peer: &'static str,
    subject: &'static str,
    about: &'static str,
    runtime: &'static str,
    /// Name of its package in the peer's lock file.
    package: &'static str,
    /// Path of the program below the folder of peers, or of the script that Node.js runs.
    program: &'static str,
}

static OTHERS: [Other; 3] = [
    Other {
        peer: "go",
        subject: "go-nostr-signer",
        about: "nip46.StaticKeySigner: grants everything and keeps nothing",
        runtime: "Go, a process of its own",
        package: "github.com/nbd-wtf/go-nostr",
        program: "go/target/endseal-peers-go",
    },
    Other {
        peer: "node",
        subject: "ndk-signer",
        about: "NDKNip46Backend: grants everything and keeps nothing",
        runtime: "Node.js, a process of its own",
        package: "@nostr-dev-kit/ndk",
        program: "node/bunker.mjs",
    },
    Other {
        peer: "rust-nostr",
        subject: "nostr-connect",
        about: "NostrConnectRemoteSigner: one request after the other, grants everything and keeps \
                nothing",
        runtime: "Rust, a process of its own",
        package: "nostr-connect",
        program: "rust-nostr/target/release/endseal-peers-nostr",
    },
];

/// Returns the signer in the program of a peer with its folder, if it has one.
pub(crate) fn of_peer(peer: &str, folder: &Path) -> Option<Subject> {
    let other = OTHERS.iter().find(|other| other.peer == peer)?;
    let version = version(folder, other.package);
    let info = SubjectInfo {
        subject: other.subject.into(),
        suite: Some("nostr".into()),
        about: other.about.into(),
        runtime: other.runtime.into(),
        versions: BTreeMap::from_iter(version.map(|version| (other.package.to_owned(), version))),
        properties: ["confidential", "authenticated", "sender"].map(Into::into).into(),
        ..SubjectInfo::default()
    };
    Some(Subject::new(info, |case, _| other.prepare(case)))
}

/// Reads the version of a package from the lock file in a peer's folder.
fn version(folder: &Path, package: &str) -> Option<String> {
    let read = |name: &str| fs::read_to_string(folder.join(name));
    if let Ok(text) = read("package-lock.json") {
        let lock: Value = serde_json::from_str(&text).ok()?;
        return lock["packages"][format!("node_modules/{package}")]["version"]
            .as_str()
            .map(str::to_owned);
    }
    let (text, before) = match read("Cargo.lock") {
        Ok(text) => (text, format!("name = \"{package}\"\nversion = \"")),
        Err(_) => (read("go.mod").ok()?, format!("{package} ")),
    };
    let (_, version) = text.split_once(&before)?;
    version.split(['"', ' ', '\n']).next().map(str::to_owned)
}

impl Other {
    fn prepare(&'static self, case: &Case) -> Result<Box<dyn Prepared>, Failure> {
        #[derive(Deserialize)]
        struct Ready {
            bunker: String,
        }
        if case.case != "bunker_sign" {
            return Err(unsupported("it is a signer alone"));
        }
        let relay = Relay::start()?;
        let mut command = self.command()?;
        command.args(["--relay", &relay.url]);
        let signer = Process::start(&mut command)?;
        let Ready { bunker } = answer(&signer.line(TIMEOUT)?)?;
        let id = signer.id();
        Ok(Box::new(Signing::new(&bunker, id, case, (signer, relay))?))
    }

    fn command(&self) -> Result<Command, Failure> {
        let path = program::peers()?.join(self.program);
        if path.extension().is_some_and(|extension| extension == "mjs") {
            let mut command = program::command_of(Path::new("node"))?;
            command.arg(path);
            return Ok(command);
        }
        let mut command = program::command_of(&path)?;
        command.arg("bunker");
        Ok(command)
    }
}
