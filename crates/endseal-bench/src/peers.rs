//! Where peers are, and what is missing if one is not there.

use std::path::{Path, PathBuf};

use crate::peer::Peer;
use crate::record::Skip;
use crate::subject::Subject;

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
}

/// All peers.
pub const PEERS: &[PeerProgram] = &[
    PeerProgram {
        name: "node",
        about: "the seed's method on @noble and on node:crypto; libsignal; libsodium",
        program: "node",
        arguments: &["main.mjs"],
        folder: "node",
        needs: "node_modules",
    },
    PeerProgram {
        name: "rust",
        about: "age, HPKE, a straight build of curve25519-dalek and aws-lc-rs",
        program: "target/release/endseal-peers",
        arguments: &[],
        folder: "rust",
        needs: "target/release/endseal-peers",
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
    /// [`Skip`], for the record.
    pub fn start(&self, peers: &Path) -> Result<Vec<Box<dyn Subject>>, Skip> {
        if let Some(missing) = self.missing(peers) {
            return Err(Skip::new(self.name, missing));
        }
        let folder = self.folder(peers);
        let in_folder = self.program.contains('/');
        let program = if in_folder { folder.join(self.program) } else { self.program.into() };
        let program = if in_folder { program.canonicalize().unwrap_or(program) } else { program };
        let subjects = Peer::start(&program, self.arguments, &folder)
            .map_err(|error| Skip::new(self.name, error.to_string()))?;
        Ok(subjects.into_iter().map(|subject| Box::new(subject) as Box<dyn Subject>).collect())
    }
}
