//! `rclone serve s3` with a crypt remote as a subject: an S3 server that encrypts, like ours.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::line::Line;
use super::super::shape::{Backend, Job, Shape};
use super::super::world::World;
use super::super::{described, failed, multipart, range, small, transfer, version};
use super::{SUFFIX, set_remotes};
use crate::program;
use crate::record::{Params, SubjectInfo};
use crate::s3::process::{self, Process};
use crate::s3::{ACCESS_KEY, Failure, SECRET};
use crate::subject::{Prepared, Subject, SubjectError};

/// The subject. It has one process for each backend.
pub(super) struct Served {
    info: SubjectInfo,
    program: PathBuf,
    servers: BTreeMap<Backend, Process>,
    world: World,
}

impl Served {
    pub(super) fn new(program: &Path) -> Self {
        let mut info = described(
            "rclone-serve-s3",
            "rclone serve s3 before a crypt remote over the same backend, without a cache of files; names \
             are not encrypted",
            "Go, a process of its own",
            &["confidential", "authenticated"],
        );
        info.versions = version(program);
        info.settings = "https://rclone.org/commands/rclone_serve_s3/".into();
        let (servers, world) = (BTreeMap::new(), World::default());
        Self { info, program: program.to_owned(), servers, world }
    }

    fn line(&mut self, to: Backend) -> Result<Line, SubjectError> {
        let backend = self.world.backend(to)?;
        if !self.servers.get_mut(&to).is_some_and(Process::lives) {
            let server = start(&self.program, backend).map_err(failed)?;
            self.servers.insert(to, server);
        }
        let server = self.servers.get(&to).ok_or_else(|| failed("it is gone".into()))?;
        // The server reads back what it has stored, so the backend must keep every object.
        Ok(Line::new(server.address, backend, Some(server.clock()), to).keeping_all(SUFFIX))
    }
}

/// The server's buckets are those of the backend.
fn start(program: &Path, backend: SocketAddr) -> Result<Process, Failure> {
    let address = process::free_address()?;
    let mut command = program::command_of(program)?;
    command.args(["serve", "s3", "sealed:", "--config", "/dev/null", "--addr"]);
    command.arg(address.to_string());
    command.args(["--auth-key", &format!("{ACCESS_KEY},{SECRET}")]);
    set_remotes(&mut command, program, backend, "")?;
    Process::listening(command, address)
}

impl Subject for Served {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        _: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let shape = Shape::new(case, params)?;
        if shape.job == Job::Memory {
            return Err(SubjectError::Unsupported("its processes have served before".into()));
        }
        let line = self.line(shape.backend)?;
        Ok(match shape.job {
            Job::Multipart => Box::new(multipart::Ready::new(line, shape, true, false)?),
            Job::Range => Box::new(range::Ready::new(line, shape, true)?),
            Job::Small => Box::new(small::Ready::new(line, shape, true)?),
            _ => Box::new(transfer::Ready::new(line, shape, true)?),
        })
    }
}
