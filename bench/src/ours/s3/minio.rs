//! MinIO as a subject: a server that encrypts by itself, or does not.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::buckets::make_buckets;
use super::line::Line;
use super::place::Files;
use super::shape::{Backend, Job, Shape};
use super::{described, failed, transfer, version};
use crate::program;
use crate::record::{Params, SubjectInfo};
use crate::s3::process::{self, Process};
use crate::s3::{ACCESS_KEY, Failure, REGION, SECRET};
use crate::subject::{Prepared, Subject, SubjectError};

/// Setting that enables encryption under this key of the server. The key protects nothing here.
const KEY: &str = "bench:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// Headers of an upload that requests encryption.
const ENCRYPT: &[(&str, &str)] = &[("x-amz-server-side-encryption", "AES256")];

/// Returns both subjects, which share one server.
pub(crate) fn subjects(program: &Path) -> Vec<Box<dyn Subject>> {
    let server =
        Rc::new(RefCell::new(Server { program: program.to_owned(), process: None, folder: None }));
    let subject = |name: &str, about: &str, asks, properties: &[&str]| {
        let mut info = described(name, about, "Go, a process of its own", properties);
        info.versions = version(program);
        info.settings =
            "https://min.io/docs/minio/linux/administration/server-side-encryption.html".into();
        Box::new(Minio { info, asks, server: Rc::clone(&server) }) as Box<dyn Subject>
    };
    vec![
        subject("minio", "the client speaks to MinIO itself, which does not encrypt", &[][..], &[]),
        subject(
            "minio-sse",
            "the same with SSE-S3: the server encrypts, and has the key",
            ENCRYPT,
            &["authenticated"],
        ),
    ]
}

/// A server that is started when it is first needed.
struct Server {
    program: PathBuf,
    // Declared first, so that it ends before its files are removed.
    process: Option<Process>,
    folder: Option<Files>,
}

impl Server {
    fn line(&mut self) -> Result<Line, Failure> {
        if !self.process.as_mut().is_some_and(Process::lives) {
            let folder = Files::new()?;
            self.process = Some(start(&self.program, &folder.at(""))?);
            self.folder = Some(folder);
        }
        let process = self.process.as_ref().ok_or("it is gone")?;
        let (address, clock) = (process.address, process.clock());
        Ok(Line::new(address, address, Some(clock), Backend::Server))
    }
}

/// Starts a server whose files are below `folder`, and creates the suite's buckets.
pub(super) fn start(program: &Path, folder: &Path) -> Result<Process, Failure> {
    let (address, console) = (process::free_address()?, process::free_address()?);
    let mut command = program::command_of(program)?;
    command.args(["server", "--quiet", "--address", &address.to_string()]);
    command.args(["--console-address", &console.to_string(), "--certs-dir"]);
    command.arg(folder.join("certificates")).arg(folder.join("minio"));
    command.env("MINIO_ROOT_USER", ACCESS_KEY).env("MINIO_ROOT_PASSWORD", SECRET);
    command.env("MINIO_KMS_SECRET_KEY", KEY).env("MINIO_REGION_NAME", REGION);
    // Keeps the server from looking for a newer release on the network.
    command.env("MINIO_UPDATE", "off").env("MINIO_BROWSER", "off");
    // The server keeps replaced objects for five minutes, which would use up all memory.
    command.env("MINIO_API_DELETE_CLEANUP_INTERVAL", "1s");
    let process = Process::listening(command, address)?;
    make_buckets(address)?;
    Ok(process)
}

struct Minio {
    info: SubjectInfo,
    asks: &'static [(&'static str, &'static str)],
    server: Rc<RefCell<Server>>,
}

impl Subject for Minio {
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
        if !matches!(shape.job, Job::Put | Job::Get) || shape.backend != Backend::Server {
            return Err(SubjectError::Unsupported("it is a real server".into()));
        }
        let line = self.server.borrow_mut().line().map_err(failed)?.asking(self.asks);
        // Objects on its disk cannot be changed through the server.
        Ok(Box::new(transfer::Ready::new(line, shape, false)?))
    }
}
