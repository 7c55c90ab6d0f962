//! Compiles the shim, and starts workers with it preloaded.

use core::sync::atomic::{AtomicU64, Ordering};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, process};

/// Kind of operation that is counted and can fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Write,
    Sync,
    /// Writes and fsyncs.
    Any,
    Read,
    /// Opening files and making directories.
    Open,
    Close,
    /// All kinds above.
    All,
    /// Memory allocations of SQLite.
    Memory,
}

/// The operation that fails, and the way in which it fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// Number of the operation, counted from 1.
    pub(crate) at: u64,
    pub(crate) kind: Kind,
    pub(crate) errno: i32,
    /// True if all later operations fail as well.
    pub(crate) sticky: bool,
}

impl Fault {
    pub(crate) const EIO: i32 = 5;
    pub(crate) const ENOSPC: i32 = 28;
    pub(crate) const ENOMEM: i32 = 12;
    pub(crate) const EMFILE: i32 = 24;
    pub(crate) const ESTALE: i32 = 116;
}

/// The compiled shim, in a directory of its own.
pub(crate) struct Shim(PathBuf);

impl Shim {
    /// Compiles the shim with the system's C compiler, which building this workspace needs in any
    /// case.
    pub(crate) fn compile() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("endseal-faults-{}-{number}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
        fs::write(&source, include_str!("shim.c")).unwrap();
        let flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"];
        let status =
            Command::new("cc").args(flags).args([&library, &source]).arg("-ldl").status().unwrap();
        assert!(status.success(), "the shim does not compile");
        Self(library)
    }

    /// Runs `worker` to its end and records everything that it does below `directory` to `log`.
    pub(crate) fn record(&self, worker: &mut Command, directory: &Path, log: &Path) -> Output {
        self.above(worker, directory).env("FAULT_LOG", log).output().unwrap()
    }

    /// Runs `worker` to its end with a fault, and records it to `log`.
    pub(crate) fn fail_and_record(
        &self,
        worker: &mut Command,
        directory: &Path,
        fault: Fault,
        log: &Path,
    ) -> Output {
        worker.env("FAULT_LOG", log);
        self.fail(worker, directory, fault, &log.with_extension("count")).0
    }

    /// Runs `worker` to its end with a fault. Returns how many operations it did, including failed
    /// ones.
    pub(crate) fn fail(
        &self,
        worker: &mut Command,
        directory: &Path,
        fault: Fault,
        count: &Path,
    ) -> (Output, u64) {
        let kind = match fault.kind {
            Kind::Write => "write",
            Kind::Sync => "sync",
            Kind::Any => "any",
            Kind::Read => "read",
            Kind::Open => "open",
            Kind::Close => "close",
            Kind::All => "all",
            Kind::Memory => "memory",
        };
        let output = self
            .above(worker, directory)
            .env("FAULT_AT", fault.at.to_string())
            .env("FAULT_KIND", kind)
            .env("FAULT_ERRNO", fault.errno.to_string())
            .env("FAULT_STICKY", u8::from(fault.sticky).to_string())
            .env("FAULT_COUNT", count)
            .output()
            .unwrap();
        let counted = fs::read_to_string(count).unwrap();
        (output, counted.parse().unwrap_or(0))
    }

    fn above<'c>(&self, worker: &'c mut Command, directory: &Path) -> &'c mut Command {
        worker.env("LD_PRELOAD", &self.0).env("FAULT_DIR", directory)
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().unwrap());
    }
}
