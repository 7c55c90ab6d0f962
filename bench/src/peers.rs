//! The known peers, their paths, and the parts that are missing if one cannot be started.

use std::path::{Path, PathBuf};

use crate::bunker;
use crate::lockfile::Lockfile;
use crate::ours::s3;
use crate::peer::{Peer, PeerSubject};
use crate::program;
use crate::subject::{Subject, SubjectError};
use crate::words::tame;

/// A program that holds subjects.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PeerProgram {
    /// Name of the peer for `--peers`.
    pub name: &'static str,
    /// Description of its subjects.
    pub about: &'static str,
    kind: Kind,
}

/// The way in which subjects come from a program.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// It speaks the protocol of docs/spec/bench-peer.md.
    Protocol(Speaker),
    /// rclone, which is used as it is.
    Rclone,
}

/// A program below the folder of peers.
#[derive(Clone, Copy, Debug)]
struct Speaker {
    /// Name of the program that is started: in the search path, or relative to the peer's folder.
    program: &'static str,
    arguments: &'static [&'static str],
    /// Name of the peer's folder below the folder of peers.
    folder: &'static str,
    /// Name of the recipe that makes it, for `cargo xtask peers`.
    recipe: &'static str,
    /// Path that must exist in the folder.
    needs: &'static str,
    /// Lock file that determines the versions of its packages.
    lockfile: Lockfile,
}

/// Bun's program as its package is installed, for the CPU of this machine.
const BUN: &str = if cfg!(target_arch = "aarch64") {
    "node_modules/@oven/bun-linux-aarch64/bin/bun"
} else {
    "node_modules/@oven/bun-linux-x64/bin/bun"
};

/// Describes a peer that speaks the protocol; `needs` is what must exist in its folder.
const fn speaker(
    name: &'static str,
    about: &'static str,
    (folder, recipe): (&'static str, &'static str),
    (program, arguments): (&'static str, &'static [&'static str]),
    needs: &'static str,
    lockfile: Lockfile,
) -> PeerProgram {
    let speaker = Speaker { program, arguments, folder, recipe, needs, lockfile };
    PeerProgram { name, about, kind: Kind::Protocol(speaker) }
}

const RUST: &str = "target/release/endseal-peers";
const IROH: &str = "target/release/endseal-peers-iroh";
const NOSTR: &str = "target/release/endseal-peers-nostr";
const GO: &str = "target/endseal-peers-go";
const JVM: &str = "target/endseal-peers-jvm.jar";

/// All known peers.
pub const PEERS: &[PeerProgram] = &[
    speaker(
        "node",
        "the published method on @noble and on node:crypto; libsignal; libsodium; CoreCrypto; \
         nostr-tools",
        ("node", "node"),
        ("node", &["main.mjs"]),
        "node_modules",
        Lockfile::Npm,
    ),
    speaker(
        "bun",
        "the published method in Bun, the runtime of its published figures",
        ("node", "node"),
        (BUN, &["main.mjs"]),
        BUN,
        Lockfile::Npm,
    ),
    speaker(
        "rust",
        "age, HPKE, a straight build of curve25519-dalek and aws-lc-rs; codecs, and the published \
         three layers of JSON",
        ("rust", "rust"),
        (RUST, &[]),
        RUST,
        Lockfile::Cargo,
    ),
    speaker(
        "iroh",
        "iroh and ant-quic, for the suite transport",
        ("rust-iroh", "iroh"),
        (IROH, &[]),
        IROH,
        Lockfile::Cargo,
    ),
    speaker(
        "rust-nostr",
        "the crate nostr, and the method of the published baseline, for the suite nostr",
        ("rust-nostr", "rust-nostr"),
        (NOSTR, &[]),
        NOSTR,
        Lockfile::Cargo,
    ),
    speaker(
        "go",
        "age and HPKE with post-quantum keys; go-nostr",
        ("go", "go"),
        (GO, &[]),
        GO,
        Lockfile::Go,
    ),
    // Without this limit the heap could grow to a quarter of the memory before it is collected.
    speaker(
        "jvm",
        "CoreCrypto before it had transactions",
        ("jvm", "jvm"),
        ("java", &["-Xmx512m", "-jar", JVM]),
        JVM,
        Lockfile::Maven,
    ),
    PeerProgram {
        name: "rclone",
        about: "rclone crypt, by copies of files and behind rclone serve s3, for the suite s3",
        kind: Kind::Rclone,
    },
];

/// Path of the rclone that its recipe builds, below the folder of peers.
const RCLONE: &str = "rclone/target/rclone";

/// Returns the built rclone. Its process is started in another folder, so the path is absolute.
fn rclone(peers: &Path) -> Option<PathBuf> {
    peers.join(RCLONE).canonicalize().ok().filter(|path| program::is_program(path))
}

impl PeerProgram {
    /// Returns the peer of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PEERS.iter().find(|peer| peer.name == name)
    }

    /// Returns the command that installs or builds the peer, to be run in the root of a checkout.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self.kind {
            Kind::Protocol(speaker) => format!("cargo xtask peers {}", speaker.recipe),
            Kind::Rclone => "cargo xtask peers rclone".to_owned(),
        }
    }

    /// Returns true if a lock file determines the versions of its packages.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self.kind, Kind::Protocol(_))
    }

    /// Returns a description of what is missing, or `None` if the peer can be started.
    #[must_use]
    pub fn missing(&self, peers: &Path) -> Option<String> {
        let speaker = match self.kind {
            Kind::Protocol(speaker) => speaker,
            Kind::Rclone => {
                let missing = rclone(peers).is_none();
                return missing
                    .then(|| format!("{} is not installed: {}", self.name, self.remedy()));
            }
        };
        let folder = speaker.folder(peers);
        if !folder.is_dir() {
            return Some(format!("there is no folder {}", folder.display()));
        }
        let needed = folder.join(speaker.needs);
        (!needed.exists()).then(|| format!("{} is missing: {}", needed.display(), self.remedy()))
    }

    /// Starts the peer and returns its subjects.
    ///
    /// # Errors
    /// Returns the reason why it cannot be started, for the record.
    pub fn start(&self, peers: &Path) -> Result<Vec<Box<dyn Subject>>, String> {
        if let Some(missing) = self.missing(peers) {
            return Err(missing);
        }
        match self.kind {
            Kind::Protocol(speaker) => {
                let subjects = speaker.launch(peers).map_err(|error| error.to_string())?;
                let boxed = |subject| Box::new(subject) as Box<dyn Subject>;
                let locked = speaker.lockfile.read(&speaker.folder(peers))?;
                let signer = bunker::of_peer(self.name, speaker.lockfile, &locked);
                Ok(subjects.into_iter().map(boxed).chain(signer).collect())
            }
            // Its processes are started when they are first needed.
            Kind::Rclone => Ok(s3::rclone::subjects(&rclone(peers).ok_or("it is gone")?)),
        }
    }

    /// Starts the peer and compares the versions that it reports with its lock file. Returns all
    /// differences in words, each with the command that fixes it.
    #[must_use]
    pub fn objections(&self, peers: &Path) -> Vec<String> {
        if let Some(missing) = self.missing(peers) {
            return vec![missing];
        }
        match self.kind {
            Kind::Protocol(speaker) => speaker.objections(peers, &self.remedy()),
            Kind::Rclone => Vec::new(),
        }
    }
}

impl Speaker {
    fn folder(&self, peers: &Path) -> PathBuf {
        peers.join(self.folder)
    }

    fn objections(&self, peers: &Path, remedy: &str) -> Vec<String> {
        let subjects = match self.launch(peers) {
            Ok(subjects) => subjects,
            Err(error) => return vec![format!("{error}: {remedy}")],
        };
        let locked = match self.lockfile.read(&self.folder(peers)) {
            Ok(locked) => locked,
            Err(why) => return vec![why],
        };
        let mut found = Vec::new();
        for (name, version) in subjects.iter().flat_map(|subject| &subject.info().versions) {
            // Packages that are not in the lock file, such as a runtime's own library, belong to
            // the machine.
            let wanted = self.lockfile.versions(&locked, name);
            if wanted.is_empty() || wanted.contains(&version.as_str()) {
                continue;
            }
            let wanted = wanted.join(" or ");
            let version = tame(version);
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
