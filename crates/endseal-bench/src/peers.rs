//! Where peers are, and what is missing if one is not there.

use std::path::{Path, PathBuf};

use crate::lockfile::Lockfile;
use crate::peer::{Peer, PeerSubject};
use crate::subject::{Subject, SubjectError};

/// A program that holds subjects.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PeerProgram {
    /// Its name for `--peers`.
    pub name: &'static str,
    /// What it holds.
    pub about: &'static str,
    /// What is started: found in the search path, or relative to its folder.
    program: &'static str,
    arguments: &'static [&'static str],
    /// Its folder below that of the peers.
    folder: &'static str,
    /// What must be in the folder.
    needs: &'static str,
    /// What it was to be built from.
    lockfile: Lockfile,
}

/// All peers.
pub const PEERS: &[PeerProgram] = &[
    PeerProgram {
        name: "node",
        about: "the seed's method on @noble and on node:crypto; libsignal; libsodium; CoreCrypto",
        program: "node",
        arguments: &["main.mjs"],
        folder: "node",
        needs: "node_modules",
        lockfile: Lockfile::Npm,
    },
    PeerProgram {
        name: "rust",
        about: "age, HPKE, a straight build of curve25519-dalek and aws-lc-rs; codecs, and the seed's \
                three layers of JSON",
        program: "target/release/endseal-peers",
        arguments: &[],
        folder: "rust",
        needs: "target/release/endseal-peers",
        lockfile: Lockfile::Cargo,
    },
    PeerProgram {
        name: "jvm",
        about: "CoreCrypto before it had transactions",
        program: "java",
        // The heap would grow to a quarter of the memory before anything is collected.
        arguments: &["-Xmx512m", "-jar", "target/endseal-peers-jvm.jar"],
        folder: "jvm",
        needs: "target/endseal-peers-jvm.jar",
        lockfile: Lockfile::Maven,
    },
];

impl PeerProgram {
    /// The peer of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PEERS.iter().find(|peer| peer.name == name)
    }

    /// The command that installs or builds it, from the root of a checkout.
    #[must_use]
    pub fn remedy(&self) -> String {
        format!("cargo xtask peers {}", self.name)
    }

    /// What is missing, if it cannot be started.
    #[must_use]
    pub fn missing(&self, peers: &Path) -> Option<String> {
        let folder = self.folder(peers);
        if !folder.is_dir() {
            return Some(format!("there is no folder {}", folder.display()));
        }
        let needed = folder.join(self.needs);
        (!needed.exists()).then(|| format!("{} is missing: {}", needed.display(), self.remedy()))
    }

    fn folder(&self, peers: &Path) -> PathBuf {
        peers.join(self.folder)
    }

    /// Starts it; gives its subjects, or why there are none.
    ///
    /// # Errors
    /// The reason, for the record.
    pub fn start(&self, peers: &Path) -> Result<Vec<Box<dyn Subject>>, String> {
        if let Some(missing) = self.missing(peers) {
            return Err(missing);
        }
        let subjects = self.launch(peers).map_err(|error| error.to_string())?;
        Ok(subjects.into_iter().map(|subject| Box::new(subject) as Box<dyn Subject>).collect())
    }

    /// Starts it and compares what it is made of with its lock file; gives what is wrong, in words
    /// that end in the command that mends it.
    #[must_use]
    pub fn objections(&self, peers: &Path) -> Vec<String> {
        if let Some(missing) = self.missing(peers) {
            return vec![missing];
        }
        let remedy = self.remedy();
        let subjects = match self.launch(peers) {
            Ok(subjects) => subjects,
            Err(error) => return vec![format!("{error}: {remedy}")],
        };
        let file = self.folder(peers).join(self.lockfile.name());
        let locked = match self.lockfile.read(&file) {
            Ok(locked) => locked,
            Err(why) => return vec![format!("{}: {why}", file.display())],
        };
        let mut found = Vec::new();
        for (name, version) in subjects.iter().flat_map(|subject| &subject.info().versions) {
            // What is not in the lock file, such as a runtime's own library, is the machine's.
            let Some(wanted) = locked.get(name).filter(|wanted| !wanted.contains(version)) else {
                continue;
            };
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let wanted = wanted.join(" or ");
            let version = crate::report::tame(version);
            found.push(format!("{name} is {version} and locked is {wanted}: {remedy}"));
        }
        found.sort();
        found.dedup();
        found
    }

    fn launch(&self, peers: &Path) -> Result<Vec<PeerSubject>, SubjectError> {
        let folder = self.folder(peers);
        let in_folder = self.program.contains('/');
        let program = if in_folder { folder.join(self.program) } else { self.program.into() };
        let program = if in_folder { program.canonicalize().unwrap_or(program) } else { program };
        Peer::start(&program, self.arguments, &folder)
    }
}
