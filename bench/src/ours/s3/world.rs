//! Backends and proxies of the suite, each started when it is first needed and then used for the
//! whole run.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Instant;

use endseal_crypto::random::OsRandom;
use endseal_kms::Ring;
use endseal_kms::ring::{Protection, RingFile};

use super::Way;
use super::line::Line;
use super::place::Files;
use super::shape::Backend;
use crate::program;
use crate::s3::client::{self, Connection};
use crate::s3::process::{self, CpuClock, Process};
use crate::s3::{ACCESS_KEY, DROP, KEEP, REGION, SECRET, signer};
use crate::subject::{Failure, unsupported};

/// Time limit until a server is ready.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Program of the real S3 server.
const SERVER: &str = "versitygw";
/// Creation time of the key ring, in seconds since 1970. Its value has no effect.
const CREATED: u64 = 1_700_000_000;

/// All processes of the suite.
#[derive(Default)]
pub(super) struct World {
    // Fields are dropped in this order: proxies end before backends, and both before their files
    // are removed.
    proxies: BTreeMap<(Way, Backend), Process>,
    backends: BTreeMap<Backend, Process>,
    folder: Option<Files>,
}

impl World {
    /// Returns the line that a subject's requests go through. Starts its processes if necessary.
    pub(super) fn line(&mut self, way: Way, to: Backend) -> Result<Line, Failure> {
        if way == Way::Direct {
            let backend = self.backend(to)?;
            return self.line_of(way, to, backend, None);
        }
        if !self.proxies.get_mut(&(way, to)).is_some_and(Process::lives) {
            let process = self.start(way, to)?;
            self.proxies.insert((way, to), process);
        }
        let process = self.proxies.get(&(way, to)).ok_or("it is gone")?;
        let (entry, clock) = (process.address, process.clock());
        self.line_of(way, to, entry, Some(clock))
    }

    /// Returns the line through a process at that address.
    pub(super) fn line_of(
        &mut self,
        way: Way,
        to: Backend,
        entry: SocketAddr,
        clock: Option<CpuClock>,
    ) -> Result<Line, Failure> {
        Ok(Line::new(entry, self.backend(to)?, clock, to, way == Way::Endseal))
    }

    /// Starts a new process of the same kind, which has done nothing yet.
    pub(super) fn start(&mut self, way: Way, to: Backend) -> Result<Process, Failure> {
        let backend = self.backend(to)?;
        let mut command = match way {
            Way::Endseal => return Process::announced(self.proxy(backend)?),
            Way::PassThrough => program::role("pass-through")?,
            Way::SeedCtr => program::role("seed-ctr")?,
            Way::Direct => return Err("it has no process".into()),
        };
        command.arg(backend.to_string());
        Process::announced(command)
    }

    /// Returns the address of a backend, after starting it if necessary.
    pub(super) fn backend(&mut self, which: Backend) -> Result<SocketAddr, Failure> {
        if let Some(backend) = self.backends.get_mut(&which)
            && backend.lives()
        {
            return Ok(backend.address);
        }
        let process = match which {
            Backend::Sink => Process::announced(program::role("sink")?)?,
            Backend::Server => self.server()?,
        };
        let address = process.address;
        self.backends.insert(which, process);
        Ok(address)
    }

    fn server(&mut self) -> Result<Process, Failure> {
        let missing =
            || unsupported(format!("{SERVER} is not installed: tests/s3/install.sh {SERVER}"));
        let program = program::find(SERVER).ok_or_else(missing)?;
        let [data, accounts] = [self.folder()?.at("data"), self.folder()?.at("accounts")];
        for folder in [&data, &accounts] {
            fs::create_dir_all(folder)?;
        }
        let address = process::free_address()?;
        let mut command = program::command_of(&program)?;
        command.args(["--port", &address.to_string(), "--region", REGION, "--quiet"]);
        command.args(["--keep-alive", "--iam-dir"]).arg(accounts).arg("posix").arg(data);
        command.env("ROOT_ACCESS_KEY", ACCESS_KEY).env("ROOT_SECRET_KEY", SECRET);
        let process = Process::listening(command, address)?;
        make_buckets(address)?;
        Ok(process)
    }

    /// Returns the command of our proxy as users run it: with a configuration file, a key ring and
    /// default settings.
    fn proxy(&mut self, backend: SocketAddr) -> Result<Command, Failure> {
        let (ring, config) = (self.folder()?.at("ring"), self.folder()?.at("config.toml"));
        if !ring.exists() {
            let keys = Ring::generate(CREATED, &mut OsRandom)?;
            RingFile::at(&ring).create(&keys, Protection::None, &mut OsRandom)?;
        }
        // Written again before each start; a running proxy has read its own.
        fs::write(&config, configuration(&ring, backend)?)?;
        let mut command = program::endseal()?;
        command.args(["s3", "serve", "--config"]).arg(config);
        Ok(command)
    }

    fn folder(&mut self) -> Result<&Files, Failure> {
        if self.folder.is_none() {
            self.folder = Some(Files::new()?);
        }
        self.folder.as_ref().ok_or_else(|| "there is no folder".into())
    }
}

/// Creates the buckets of the suite, and retries until the server is ready.
fn make_buckets(server: SocketAddr) -> Result<(), Failure> {
    let start = Instant::now();
    for bucket in [KEEP, DROP] {
        let head = client::head(&signer(), server, "PUT", &format!("/{bucket}"), &[])?;
        loop {
            let (status, _, body) = Connection::open(server)?.ask(&head, &[])?;
            match status {
                200..300 => break,
                // The server listens before it is ready.
                503 if start.elapsed() < TIMEOUT => sleep(Duration::from_millis(50)),
                _ => {
                    let why = String::from_utf8_lossy(&body).into_owned();
                    return Err(format!("a bucket was not made: {status} {why}").into());
                }
            }
        }
    }
    Ok(())
}

fn configuration(ring: &Path, backend: SocketAddr) -> Result<String, Failure> {
    let ring = ring.to_str().ok_or("the folder of temporary files has a name that is no text")?;
    Ok(format!(
        "listen = \"127.0.0.1:0\"\n\
         [backend]\nurl = \"http://{backend}\"\nregion = \"{REGION}\"\n\
         access_key = \"{ACCESS_KEY}\"\nsecret_key = \"{SECRET}\"\n\
         [keys]\nprovider = \"ring\"\nfile = '{ring}'\n\
         [[client]]\naccess_key = \"{ACCESS_KEY}\"\nsecret_key = \"{SECRET}\"\n"
    ))
}
