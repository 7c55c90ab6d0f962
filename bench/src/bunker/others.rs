//! Remote signers of other projects, each started by the mode `bunker` of its peer.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Relay, Signing, TIMEOUT, failed, peer_command};
use crate::lockfile::Lockfile;
use crate::peer::answer;
use crate::peer::process::Process;
use crate::program;
use crate::record::{Params, SubjectInfo};
use crate::subject::{Prepared, Subject, SubjectError};
use crate::suite::nostr::BUNKER_SIGN;

/// A remote signer that is a mode of a peer's program.
struct Other {
    peer: &'static str,
    subject: &'static str,
    about: &'static str,
    runtime: &'static str,
    /// Name of its package in the peer's lock file.
    package: &'static str,
    /// Name of the program: in the search path, or a path below the folder of peers.
    program: &'static str,
    /// Script below the folder of peers that the program runs, if it is a runtime.
    script: Option<&'static str>,
}

static OTHERS: [Other; 3] = [
    Other {
        peer: "go",
        subject: "go-nostr-signer",
        about: "nip46.StaticKeySigner: grants everything and keeps nothing",
        runtime: "Go, a process of its own",
        package: "github.com/nbd-wtf/go-nostr",
        program: "go/target/endseal-peers-go",
        script: None,
    },
    Other {
        peer: "node",
        subject: "ndk-signer",
        about: "NDKNip46Backend: grants everything and keeps nothing",
        runtime: "Node.js, a process of its own",
        package: "@nostr-dev-kit/ndk",
        program: "node",
        script: Some("node/bunker.mjs"),
    },
    Other {
        peer: "rust-nostr",
        subject: "nostr-connect",
        about: "NostrConnectRemoteSigner: one request after the other, grants everything and keeps nothing",
        runtime: "Rust, a process of its own",
        package: "nostr-connect",
        program: "rust-nostr/target/release/endseal-peers-nostr",
        script: None,
    },
];

/// Returns the signer in the program of a peer. `locked` is the text of its lock file.
pub(crate) fn of_peer(peer: &str, lockfile: Lockfile, locked: &str) -> Option<Box<dyn Subject>> {
    let other = OTHERS.iter().find(|other| other.peer == peer)?;
    let version = lockfile.versions(locked, other.package).first().copied();
    let versions = version.map(|version| (other.package.to_owned(), version.to_owned()));
    let info = SubjectInfo {
        subject: other.subject.into(),
        suite: Some("nostr".into()),
        about: other.about.into(),
        runtime: other.runtime.into(),
        versions: BTreeMap::from_iter(versions),
        properties: ["confidential", "authenticated", "sender"].map(Into::into).into(),
        ..SubjectInfo::default()
    };
    Some(Box::new(Signer { info, other }))
}

struct Signer {
    info: SubjectInfo,
    other: &'static Other,
}

impl Subject for Signer {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        _: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        #[derive(Deserialize)]
        struct Ready {
            bunker: String,
        }
        if case != BUNKER_SIGN {
            return Err(SubjectError::Unsupported("it is a signer alone".into()));
        }
        let relay = Relay::start()?;
        let mut command = peer_command(self.other.program)?;
        if let Some(script) = self.other.script {
            command.arg(program::peers().map_err(failed)?.join(script));
        } else {
            command.arg("bunker");
        }
        command.args(["--relay", &relay.url]);
        let signer = Process::start(&mut command)?;
        let Ready { bunker } = answer(&signer.line(TIMEOUT)?)?;
        let id = signer.id();
        Ok(Box::new(Signing::new(&bunker, id, params, (signer, relay))?))
    }
}
