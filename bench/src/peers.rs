//! Where peers are, and what is missing if one is not there.

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
    /// Its name for `--peers`.
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
    /// Somebody else's program that is used as it is installed.
    Installed(Installed),
}

/// A program below the folder of peers.
#[derive(Clone, Copy, Debug)]
struct Speaker {
    /// The program that is started: found in the search path, or relative to its folder.
    program: &'static str,
    arguments: &'static [&'static str],
    /// Its folder below that of the peers.
    folder: &'static str,
    /// Name of the recipe that makes it, for `cargo xtask peers`.
    recipe: &'static str,
    /// Path that must exist in the folder.
    needs: &'static str,
    /// The lock file that it is to be built from.
    lockfile: Lockfile,
}

/// A program that is found below the folder of peers, in the search path, or where
/// `tests/s3/install.sh` puts it.
#[derive(Clone, Copy, Debug)]
struct Installed {
    /// Its path below the folder of peers, if a recipe builds it. Then no other one is taken.
    built: Option<&'static str>,
    /// The command that installs it.
    remedy: &'static str,
    subjects: fn(&Path) -> Vec<Box<dyn Subject>>,
}

/// Bun as the package manager installs it, for the CPU of this machine.
const BUN: &str = if cfg!(target_arch = "aarch64") {
    "node_modules/@oven/bun-linux-aarch64/bin/bun"
} else {
    "node_modules/@oven/bun-linux-x64/bin/bun"
};

/// All peers.
pub const PEERS: &[PeerProgram] = &[
    PeerProgram {
        name: "node",
        about: "the seed's method on @noble and on node:crypto; libsignal; libsodium; CoreCrypto; \
                nostr-tools",
        kind: Kind::Protocol(Speaker {
            program: "node",
            arguments: &["main.mjs"],
            folder: "node",
            recipe: "node",
            needs: "node_modules",
            lockfile: Lockfile::Npm,
        }),
    },
    PeerProgram {
        name: "bun",
        about: "the seed's method in Bun, the runtime of its published figures",
        kind: Kind::Protocol(Speaker {
            program: BUN,
            arguments: &["main.mjs"],
            folder: "node",
            recipe: "node",
            needs: BUN,
            lockfile: Lockfile::Npm,
        }),
    },
    PeerProgram {
        name: "rust",
        about: "age, HPKE, a straight build of curve25519-dalek and aws-lc-rs; codecs, and the seed's \
                three layers of JSON",
        kind: Kind::Protocol(Speaker {
            program: "target/release/endseal-peers",
            arguments: &[],
            folder: "rust",
            recipe: "rust",
            needs: "target/release/endseal-peers",
            lockfile: Lockfile::Cargo,
        }),
    },
    PeerProgram {
        name: "iroh",
        about: "iroh and ant-quic, for the suite transport",
        kind: Kind::Protocol(Speaker {
            program: "target/release/endseal-peers-iroh",
            arguments: &[],
            folder: "rust-iroh",
            recipe: "iroh",
            needs: "target/release/endseal-peers-iroh",
            lockfile: Lockfile::Cargo,
        }),
    },
    PeerProgram {
        name: "rust-nostr",
        about: "the crate nostr, and the method of the published baseline, for the suite nostr",
        kind: Kind::Protocol(Speaker {
            program: "target/release/endseal-peers-nostr",
            arguments: &[],
            folder: "rust-nostr",
            recipe: "rust-nostr",
            needs: "target/release/endseal-peers-nostr",
            lockfile: Lockfile::Cargo,
        }),
    },
    PeerProgram {
        name: "go",
        about: "age and HPKE with post-quantum keys; go-nostr",
        kind: Kind::Protocol(Speaker {
            program: "target/endseal-peers-go",
            arguments: &[],
            folder: "go",
            recipe: "go",
            needs: "target/endseal-peers-go",
            lockfile: Lockfile::Go,
        }),
    },
    PeerProgram {
        name: "jvm",
        about: "CoreCrypto before it had transactions",
        kind: Kind::Protocol(Speaker {
            program: "java",
            // The heap would grow to a quarter of the memory before anything is collected.
            arguments: &["-Xmx512m", "-jar", "target/endseal-peers-jvm.jar"],
            folder: "jvm",
            recipe: "jvm",
            needs: "target/endseal-peers-jvm.jar",
            lockfile: Lockfile::Maven,
        }),
    },
    PeerProgram {
        name: "rclone",
        about: "rclone crypt, by copies of files and behind rclone serve s3, for the suite s3",
        kind: Kind::Installed(Installed {
            built: Some("rclone/target/rclone"),
            remedy: "cargo xtask peers rclone",
            subjects: s3::rclone::subjects,
        }),
    },
    PeerProgram {
        name: "minio",
        about: "MinIO, plain and with its own encryption (SSE-S3), for the suite s3",
        kind: Kind::Installed(Installed {
            built: None,
            remedy: "tests/s3/install.sh minio",
            subjects: s3::minio::subjects,
        }),
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
        match self.kind {
            Kind::Protocol(speaker) => format!("cargo xtask peers {}", speaker.recipe),
            Kind::Installed(installed) => installed.remedy.to_owned(),
        }
    }

    /// Returns true if a lock file names the versions that it is made of.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self.kind, Kind::Protocol(_))
    }

    /// Returns a description of what is missing, or `None` if it can be started.
    #[must_use]
    pub fn missing(&self, peers: &Path) -> Option<String> {
        let speaker = match self.kind {
            Kind::Protocol(speaker) => speaker,
            Kind::Installed(installed) => {
                let missing = installed.program(self.name, peers).is_none();
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

    /// Starts it; gives its subjects, or why there are none.
    ///
    /// # Errors
    /// The reason, for the record.
    pub fn start(&self, peers: &Path) -> Result<Vec<Box<dyn Subject>>, String> {
        if let Some(missing) = self.missing(peers) {
            return Err(missing);
        }
        match self.kind {
            Kind::Protocol(speaker) => {
                let subjects = speaker.launch(peers).map_err(|error| error.to_string())?;
                let boxed = |subject| Box::new(subject) as Box<dyn Subject>;
                let file = speaker.folder(peers).join(speaker.lockfile.name());
                let signer = bunker::of_peer(self.name, &speaker.lockfile.read(&file)?);
                Ok(subjects.into_iter().map(boxed).chain(signer).collect())
            }
            // Its processes start when they are first needed.
            Kind::Installed(installed) => {
                let program = installed.program(self.name, peers).ok_or("it is gone")?;
                Ok((installed.subjects)(&program))
            }
        }
    }

    /// Starts it and compares what it is made of with its lock file; gives what is wrong, in words
    /// that end in the command that mends it.
    #[must_use]
    pub fn objections(&self, peers: &Path) -> Vec<String> {
        if let Some(missing) = self.missing(peers) {
            return vec![missing];
        }
        match self.kind {
            Kind::Protocol(speaker) => speaker.objections(peers, &self.remedy()),
            Kind::Installed(_) => Vec::new(),
        }
    }
}

impl Installed {
    fn program(&self, name: &str, peers: &Path) -> Option<PathBuf> {
        match self.built {
            // A process is started in a folder of its own.
            Some(built) => {
                let path = peers.join(built).canonicalize().ok()?;
                program::is_program(&path).then_some(path)
            }
            None => program::find(name),
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
