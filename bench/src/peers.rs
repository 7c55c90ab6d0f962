//! The known peers, from `data/peers.toml`, and what is missing if one cannot be started.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::bunker;
use crate::ours::s3::rclone;
use crate::peer::Peer;
use crate::subject::{Failure, Subject};

/// A program below the folder of peers that holds subjects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PeerProgram {
    /// Name of the peer for `--peers`.
    pub name: String,
    /// Description of its subjects.
    pub about: String,
    /// Name of the peer's folder below the folder of peers.
    folder: String,
    /// Name of the recipe that makes it, for `cargo xtask peers`, if it is not that of the peer.
    recipe: Option<String>,
    /// Path that must exist in the folder.
    needs: String,
    /// Name of the program that is started: in the search path, or relative to the peer's folder.
    program: String,
    #[serde(default)]
    arguments: Vec<String>,
}

/// All known peers.
pub static PEERS: LazyLock<Vec<PeerProgram>> = LazyLock::new(read);

#[allow(clippy::panic, reason = "a test reads the same bytes, which are part of the program")]
fn read() -> Vec<PeerProgram> {
    #[derive(Deserialize)]
    struct All {
        peer: Vec<PeerProgram>,
    }
    let arch = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x64" };
    let text = include_str!("../data/peers.toml").replace("{arch}", arch);
    let All { peer } = toml::from_str(&text).unwrap_or_else(|error| panic!("peers.toml: {error}"));
    peer
}

impl PeerProgram {
    /// Returns the peer of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PEERS.iter().find(|peer| peer.name == name)
    }

    /// Returns a description of what is missing and the command that adds it, to be run in the root
    /// of a checkout. `None` if the peer can be started.
    #[must_use]
    pub fn missing(&self, peers: &Path) -> Option<String> {
        let needed = peers.join(&self.folder).join(&self.needs);
        let recipe = self.recipe.as_ref().unwrap_or(&self.name);
        let missing = || format!("{} is missing: cargo xtask peers {recipe}", needed.display());
        (!needed.exists()).then(missing)
    }

    /// Starts the peer and returns its subjects.
    ///
    /// # Errors
    /// Returns the reason why it cannot be started, for the record.
    pub fn start(&self, peers: &Path) -> Result<Vec<Subject>, Failure> {
        if let Some(missing) = self.missing(peers) {
            return Err(missing.into());
        }
        let folder = peers.join(&self.folder);
        let program = match self.program.contains('/') {
            // Its process is started in another folder, so the path is absolute.
            true => folder.join(&self.program).canonicalize()?,
            false => PathBuf::from(&self.program),
        };
        if self.name == "rclone" {
            // Its processes are started when they are first needed.
            return Ok(rclone::subjects(&program));
        }
        let mut subjects = Peer::start(&program, &self.arguments, &folder)?;
        subjects.extend(bunker::of_peer(&self.name, &folder));
        Ok(subjects)
    }
}
