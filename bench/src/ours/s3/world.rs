//! Backends and proxies of the suite, each started when it is first needed and then used for the
//! whole run.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use endseal_crypto::random::OsRandom;
use endseal_kms::Ring;
use endseal_kms::ring::{Protection, RingFile};

use super::buckets::make_buckets;
use super::line::Line;
use super::place::Files;
use super::shape::Backend;
use super::{Way, failed};
use crate::program::{self, Role};
use crate::s3::process::{self, Process};
use crate::s3::{ACCESS_KEY, Failure, REGION, SECRET};
use crate::subject::SubjectError;

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
    pub(super) fn line(&mut self, way: Way, to: Backend) -> Result<Line, SubjectError> {
        let backend = self.backend(to)?;
        if way == Way::Direct {
            return Ok(Line::new(backend, backend, None, to));
        }
        if !self.proxies.get_mut(&(way, to)).is_some_and(Process::lives) {
            let process = self.start(way, to)?;
            self.proxies.insert((way, to), process);
        }
        let process = self.proxies.get(&(way, to)).ok_or_else(|| failed("it is gone".into()))?;
        Ok(Line::new(process.address, backend, Some(process.clock()), to))
    }

    /// Starts a new process of the same kind, which has done nothing yet.
    pub(super) fn start(&mut self, way: Way, to: Backend) -> Result<Process, SubjectError> {
        let backend = self.backend(to)?;
        let command = match way {
            Way::Endseal => self.proxy(backend),
            Way::PassThrough => Role::PassThrough(backend).command(),
            Way::SeedCtr => Role::SeedCtr(backend).command(),
            Way::Direct => Err("it has no process".into()),
        };
        command.and_then(Process::announced).map_err(failed)
    }

    /// Returns the address of a backend, after starting it if necessary.
    pub(super) fn backend(&mut self, which: Backend) -> Result<SocketAddr, SubjectError> {
        if let Some(backend) = self.backends.get_mut(&which)
            && backend.lives()
        {
            return Ok(backend.address);
        }
        let process = match which {
            Backend::Sink => Role::Sink.command().and_then(Process::announced).map_err(failed)?,
            Backend::Server => self.server(&installed(SERVER)?).map_err(failed)?,
        };
        let address = process.address;
        self.backends.insert(which, process);
        Ok(address)
    }

    fn server(&mut self, program: &std::path::Path) -> Result<Process, Failure> {
        let [data, accounts] = [self.folder()?.at("data"), self.folder()?.at("accounts")];
        for folder in [&data, &accounts] {
            fs::create_dir_all(folder)?;
        }
        let address = process::free_address()?;
        let mut command = program::command_of(program)?;
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
        program::proxy(&config)
    }

    fn folder(&mut self) -> Result<&Files, Failure> {
        if self.folder.is_none() {
            self.folder = Some(Files::new()?);
        }
        self.folder.as_ref().ok_or_else(|| "there is no folder".into())
    }
}

fn installed(name: &str) -> Result<PathBuf, SubjectError> {
    program::find(name).ok_or_else(|| {
        let why = format!("{name} is not installed: tests/s3/install.sh {name}");
        SubjectError::Unsupported(why)
    })
}

fn configuration(ring: &std::path::Path, backend: SocketAddr) -> Result<String, Failure> {
    let ring = PathBuf::from(ring);
    let ring = ring.to_str().ok_or("the folder of temporary files has a name that is no text")?;
    Ok(format!(
        "listen = \"127.0.0.1:0\"\n\
         [backend]\nurl = \"http://{backend}\"\nregion = \"{REGION}\"\n\
         access_key = \"{ACCESS_KEY}\"\nsecret_key = \"{SECRET}\"\n\
         [keys]\nprovider = \"ring\"\nfile = '{ring}'\n\
         [[client]]\naccess_key = \"{ACCESS_KEY}\"\nsecret_key = \"{SECRET}\"\n"
    ))
}
