//! rclone crypt as a subject: rclone copies files to a backend and back and encrypts them. Its
//! process keeps running between copies and accepts commands.

mod serve;

use core::net::SocketAddr;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::json;

use super::check;
use super::line::Line;
use super::place::{self, Files};
use super::shape::{Backend, Job, Shape};
use super::world::World;
use super::{described, failed, transfer, version};
use crate::clock::Elapsed;
use crate::program;
use crate::record::{Params, SubjectInfo};
use crate::s3::client::{Connection, Head};
use crate::s3::content::Content;
use crate::s3::process::{self, Process};
use crate::s3::{ACCESS_KEY, Failure, KEEP, REGION, SECRET};
use crate::subject::{Checked, Extra, Prepared, Subject, SubjectError};

/// Name of the encrypted remote in rclone's configuration.
const REMOTE: &str = "sealed:";
/// Suffix that rclone appends to names that it does not encrypt.
const SUFFIX: &str = ".bin";

/// Returns the subjects that the program provides.
pub(crate) fn subjects(program: &Path) -> Vec<Box<dyn Subject>> {
    let mut info = described(
        "rclone-crypt",
        "rclone crypt over the same backend, from a file and to one, through the page cache; its process \
         runs on and takes commands (rcd); names are not encrypted",
        "Go, a process of its own",
        &["confidential", "authenticated"],
    );
    info.versions = version(program);
    info.settings = "https://rclone.org/crypt/".into();
    let shop = Shop { program: program.to_owned(), ..Shop::default() };
    vec![
        Box::new(Rclone { info, shop: Rc::new(RefCell::new(shop)) }),
        Box::new(serve::Served::new(program)),
    ]
}

/// Configures the remotes of a process: `back`, which is the backend, and `sealed` over `folder` of
/// it.
fn set_remotes(
    command: &mut Command,
    program: &Path,
    backend: SocketAddr,
    folder: &str,
) -> Result<(), Failure> {
    let obscured = Command::new(program).args(["obscure", SECRET]).stdin(Stdio::null()).output()?;
    let obscured = String::from_utf8(obscured.stdout)?;
    let endpoint = format!("http://{backend}");
    let remote = format!("back:{folder}");
    for (name, value) in [
        ("BACK_TYPE", "s3"),
        ("BACK_PROVIDER", "Other"),
        ("BACK_ENDPOINT", &*endpoint),
        ("BACK_ACCESS_KEY_ID", ACCESS_KEY),
        ("BACK_SECRET_ACCESS_KEY", SECRET),
        ("BACK_REGION", REGION),
        ("BACK_FORCE_PATH_STYLE", "true"),
        ("BACK_NO_CHECK_BUCKET", "true"),
        ("SEALED_TYPE", "crypt"),
        ("SEALED_REMOTE", &*remote),
        ("SEALED_PASSWORD", obscured.trim()),
        ("SEALED_FILENAME_ENCRYPTION", "off"),
        ("SEALED_DIRECTORY_NAME_ENCRYPTION", "false"),
    ] {
        command.env(format!("RCLONE_CONFIG_{name}"), value);
    }
    Ok(())
}

/// Running rclone processes, by the backend that they are configured for.
#[derive(Default)]
struct Shop {
    program: PathBuf,
    /// Key: the backend, and true if objects are cut into parts.
    daemons: BTreeMap<(Backend, bool), Process>,
    world: World,
    folder: Option<Files>,
}

impl Shop {
    fn line(&mut self, shape: &Shape) -> Result<Line, SubjectError> {
        let (to, parts) = (shape.backend, shape.job == Job::Multipart);
        let backend = self.world.backend(to)?;
        if !self.daemons.get_mut(&(to, parts)).is_some_and(Process::lives) {
            let daemon = self.daemon(backend, parts.then_some(shape)).map_err(failed)?;
            self.daemons.insert((to, parts), daemon);
        }
        let daemon = self.daemons.get(&(to, parts)).ok_or_else(|| failed("it is gone".into()))?;
        Ok(Line::new(daemon.address, backend, Some(daemon.clock()), to))
    }

    /// Starts a process for a backend. `parts` sets the size and number of parts; without it
    /// rclone's defaults are used.
    fn daemon(&self, backend: SocketAddr, parts: Option<&Shape>) -> Result<Process, Failure> {
        let address = process::free_address()?;
        let mut command = program::command_of(&self.program)?;
        command.args(["rcd", "--rc-no-auth", "--config", "/dev/null", "--rc-addr"]);
        command.arg(address.to_string());
        set_remotes(&mut command, &self.program, backend, KEEP)?;
        if let Some(Shape { part, streams, .. }) = parts {
            let (part, streams) = (format!("{part}B"), streams.to_string());
            for name in [
                "CONFIG_BACK_CHUNK_SIZE",
                "CONFIG_BACK_UPLOAD_CUTOFF",
                "MULTI_THREAD_CUTOFF",
                "MULTI_THREAD_CHUNK_SIZE",
            ] {
                command.env(format!("RCLONE_{name}"), &part);
            }
            for name in ["CONFIG_BACK_UPLOAD_CONCURRENCY", "MULTI_THREAD_STREAMS"] {
                command.env(format!("RCLONE_{name}"), &streams);
            }
        }
        Process::listening(command, address)
    }

    fn folder(&mut self) -> Result<PathBuf, Failure> {
        if self.folder.is_none() {
            self.folder = Some(Files::new()?);
        }
        Ok(self.folder.as_ref().ok_or("there is no folder")?.at(""))
    }
}

struct Rclone {
    info: SubjectInfo,
    shop: Rc<RefCell<Shop>>,
}

impl Subject for Rclone {
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
        if !matches!(shape.job, Job::Put | Job::Get | Job::Multipart) {
            return Err(SubjectError::Unsupported("it copies whole files".into()));
        }
        let mut shop = self.shop.borrow_mut();
        let line = shop.line(&shape)?;
        let folder = shop.folder().map_err(failed)?;
        let copier = Copier { line, folder };
        let ready = Ready { copier, shape, spent: Vec::new() };
        ready.copier.write("source", ready.content()).map_err(failed)?;
        if !ready.is_up() {
            ready.copier.copy("source", true).map_err(failed)?;
        }
        Ok(Box::new(ready))
    }
}

/// Copies between the folder and the backend.
struct Copier {
    line: Line,
    folder: PathBuf,
}

impl Copier {
    fn write(&self, name: &str, content: Content) -> Result<(), Failure> {
        let mut file = File::create(self.folder.join(name))?;
        let mut at = 0;
        while at < content.len {
            let piece = content.from(at);
            file.write_all(piece)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Returns the name that a file has at the backend.
    fn path(name: &str) -> String {
        format!("/{KEEP}/{name}{SUFFIX}")
    }

    /// Returns the path to which a file is downloaded.
    fn target(&self, name: &str) -> PathBuf {
        self.folder.join("down").join(name)
    }

    /// Removes the result of an earlier copy, because rclone does not copy a file that exists
    /// already.
    fn clear(&self, name: &str, up: bool) {
        if up {
            self.line.delete(&Self::path(name));
        } else {
            let _not_there = fs::remove_file(self.target(name));
        }
    }

    /// Runs one copy command.
    fn copy(&self, name: &str, up: bool) -> Result<(), Failure> {
        self.clear(name, up);
        self.command(name, up)
    }

    fn command(&self, name: &str, up: bool) -> Result<(), Failure> {
        let [here, down] = [self.folder.clone(), self.folder.join("down")];
        let [here, down] = [here.to_string_lossy(), down.to_string_lossy()];
        let (from, to) = if up { (&*here, REMOTE) } else { (REMOTE, &*down) };
        let body = json!({"srcFs": from, "srcRemote": name, "dstFs": to, "dstRemote": name});
        let body = body.to_string();
        let address = self.line.entry;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, address.to_string().parse()?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let target = "/operations/copyfile".to_owned();
        let head = Head { method: Method::POST, target, headers };
        let (status, _, answer) = Connection::open(address)?.ask(&head, body.as_bytes())?;
        match status {
            200 => Ok(()),
            _ => Err(format!("status {status}: {}", String::from_utf8_lossy(&answer)).into()),
        }
    }

    /// Checks that the downloaded file has the given content.
    fn came(&self, name: &str, content: Content) -> Result<(), Failure> {
        let mut file = BufReader::with_capacity(1 << 20, File::open(self.target(name))?);
        let mut buffer = vec![0; 1 << 20];
        let mut at = 0;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            if !content.matches(at, &buffer[..read]) {
                return Err("what came is not what was stored".into());
            }
            at += read as u64;
        }
        if at == content.len { Ok(()) } else { Err("not all of it came".into()) }
    }
}

/// The case as a subject has it.
struct Ready {
    copier: Copier,
    shape: Shape,
    spent: Vec<Elapsed>,
}

impl Ready {
    fn is_up(&self) -> bool {
        self.shape.job == Job::Put || (self.shape.job == Job::Multipart && !self.shape.down)
    }

    fn content(&self) -> Content {
        Content::new(3, self.shape.bytes)
    }

    fn check(&self) -> Result<Checked, Failure> {
        let (copier, content) = (&self.copier, self.content());
        copier.copy("source", true)?;
        copier.copy("source", false)?;
        copier.came("source", content)?;
        let small = Content::new(check::NUMBER, check::TAMPERED);
        copier.write("tampered", small)?;
        copier.copy("tampered", true)?;
        let path = Copier::path("tampered");
        let refused = check::is_refused(&copier.line, &path, || {
            copier.copy("tampered", false)?;
            copier.came("tampered", small)
        });
        copier.line.delete(&path);
        Ok(Checked { round_trip: true, tamper_refused: Some(refused?), sealed_bytes: None })
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        let up = self.is_up();
        let (content, copier) = (self.content(), &mut self.copier);
        copier.clear("source", up);
        if up && self.shape.backend != Backend::Sink {
            place::make_room(self.shape.bytes)?;
        }
        // The copy borrows the line, so the clock is read directly before and after it.
        let (before, start) = (copier.line.cpu()?, std::time::Instant::now());
        copier.command("source", up)?;
        let wall_ns = start.elapsed().as_secs_f64() * 1e9;
        let after = copier.line.cpu()?;
        let cpu_ns = before.zip(after).map(|(before, after)| (after - before).max(0.0));
        if !up {
            copier.came("source", content)?;
        }
        let elapsed = Elapsed::new(wall_ns, cpu_ns);
        self.spent.push(elapsed);
        Ok(elapsed)
    }
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        Self::check(self).map_err(failed)
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        Elapsed::sum(iterations, || self.once().map_err(failed))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        Ok(transfer::figures(self.shape.bytes, &self.spent))
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.copier.line.delete(&Copier::path("source"));
    }
}
