//! rclone crypt as subjects: copies of files to a backend and back, by a process that keeps running
//! between copies and accepts commands, and `rclone serve s3`, a server that encrypts like ours.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::json;

use super::check;
use super::line::Line;
use super::place::{self, Files};
use super::shape::{Backend, Job, Shape};
use super::transfer::{self, Transfer};
use super::world::World;
use super::{described, version};
use crate::clock::Elapsed;
use crate::program;
use crate::s3::client::{Connection, Head};
use crate::s3::content::Content;
use crate::s3::process::{self, Process};
use crate::s3::{ACCESS_KEY, KEEP, REGION, SECRET};
use crate::subject::{Checked, Extra, Failure, Prepared, Subject, unsupported};

/// Name of the encrypted remote in rclone's configuration.
const REMOTE: &str = "sealed:";
/// Suffix that rclone appends to names that it does not encrypt.
const SUFFIX: &str = ".bin";

/// Returns the subjects that the program provides.
pub(crate) fn subjects(program: &Path) -> Vec<Subject> {
    let info = |subject, about, settings| {
        let mut info =
            described("s3", subject, about, settings, &["confidential", "authenticated"]);
        info.runtime = "Go, a process of its own".into();
        info.versions = version(program).map(|it| ("rclone".to_owned(), it)).into_iter().collect();
        info
    };
    let crypt = info(
        "rclone-crypt",
        "rclone crypt over the same backend, from a file and to one, through the page cache; its \
         process runs on and takes commands (rcd); names are not encrypted",
        "https://rclone.org/crypt/",
    );
    let served = info(
        "rclone-serve-s3",
        "rclone serve s3 before a crypt remote over the same backend, without a cache of files; \
         names are not encrypted",
        "https://rclone.org/commands/rclone_serve_s3/",
    );
    let (mut copiers, mut servers) = (Daemons::new(program), Daemons::new(program));
    let mut folder = None;
    let copy = move |shape: Shape| -> Result<Box<dyn Prepared>, Failure> {
        let line = copiers.line(&shape, &["rcd", "--rc-no-auth", "--rc-addr"], KEEP)?;
        let files: &Files = match &mut folder {
            Some(files) => files,
            none => none.insert(Files::new()?),
        };
        Copies::new(line, files.at(""), shape).map(|it| Box::new(it) as Box<dyn Prepared>)
    };
    let serve = move |shape: Shape| -> Result<Box<dyn Prepared>, Failure> {
        let auth = format!("{ACCESS_KEY},{SECRET}");
        let arguments = ["serve", "s3", REMOTE, "--auth-key", &auth, "--addr"];
        // The server's buckets are those of the backend.
        let line = servers.line(&shape, &arguments, "")?.with_suffix(SUFFIX);
        Ok(Box::new(Transfer::new(line, shape)?))
    };
    vec![
        of(crypt, &[Job::Put, Job::Get], copy),
        of(served, &[Job::Put, Job::Get, Job::Small], serve),
    ]
}

/// Creates a subject that does these jobs.
fn of(
    info: crate::record::SubjectInfo,
    jobs: &'static [Job],
    mut prepare: impl FnMut(Shape) -> Result<Box<dyn Prepared>, Failure> + 'static,
) -> Subject {
    Subject::new(info, move |case, _| {
        let shape = Shape::new(case)?;
        match jobs.contains(&shape.job) {
            true => prepare(shape),
            false => Err(unsupported("it stores and fetches whole objects")),
        }
    })
}

/// Running rclone processes, by the backend that they are configured for.
struct Daemons {
    program: PathBuf,
    running: BTreeMap<Backend, Process>,
    world: World,
}

impl Daemons {
    fn new(program: &Path) -> Self {
        Self { program: program.into(), running: BTreeMap::new(), world: World::default() }
    }

    /// Returns the line through a process with these arguments, after which its address follows.
    /// Its sealed objects are below `folder` of the backend.
    fn line(&mut self, shape: &Shape, arguments: &[&str], folder: &str) -> Result<Line, Failure> {
        let backend = self.world.backend(shape.backend)?;
        if !self.running.get_mut(&shape.backend).is_some_and(Process::lives) {
            let address = process::free_address()?;
            let mut command = program::command_of(&self.program)?;
            command.args(arguments).arg(address.to_string()).args(["--config", "/dev/null"]);
            set_remotes(&mut command, &self.program, backend, folder)?;
            self.running.insert(shape.backend, Process::listening(command, address)?);
        }
        let process = self.running.get(&shape.backend).ok_or("it is gone")?;
        Ok(Line::new(process.address, backend, Some(process.clock()), shape.backend, true))
    }
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
    for (name, value) in [
        ("BACK_TYPE", "s3"),
        ("BACK_PROVIDER", "Other"),
        ("BACK_ENDPOINT", &*format!("http://{backend}")),
        ("BACK_ACCESS_KEY_ID", ACCESS_KEY),
        ("BACK_SECRET_ACCESS_KEY", SECRET),
        ("BACK_REGION", REGION),
        ("BACK_FORCE_PATH_STYLE", "true"),
        ("BACK_NO_CHECK_BUCKET", "true"),
        ("SEALED_TYPE", "crypt"),
        ("SEALED_REMOTE", &*format!("back:{folder}")),
        ("SEALED_PASSWORD", obscured.trim()),
        ("SEALED_FILENAME_ENCRYPTION", "off"),
        ("SEALED_DIRECTORY_NAME_ENCRYPTION", "false"),
    ] {
        command.env(format!("RCLONE_CONFIG_{name}"), value);
    }
    Ok(())
}

/// Copies of files between a folder and the backend.
struct Copies {
    line: Line,
    folder: PathBuf,
    shape: Shape,
    spent: Vec<Elapsed>,
}

impl Copies {
    fn new(line: Line, folder: PathBuf, shape: Shape) -> Result<Self, Failure> {
        let own = Self { line, folder, shape, spent: Vec::new() };
        own.write("source", own.content())?;
        if !own.shape.is_up() {
            own.copy("source", true)?;
        }
        Ok(own)
    }

    fn content(&self) -> Content {
        Content::new(3, self.shape.bytes)
    }

    fn write(&self, name: &str, content: Content) -> Result<(), Failure> {
        let mut file = File::create(self.folder.join(name))?;
        Ok(content.pieces().try_for_each(|piece| file.write_all(&piece))?)
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

    /// Runs one copy command, after the result of an earlier one was removed.
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

impl Prepared for Copies {
    fn check(&mut self) -> Result<Checked, Failure> {
        self.copy("source", true)?;
        self.copy("source", false)?;
        self.came("source", self.content())?;
        let small = Content::new(check::NUMBER, check::TAMPERED);
        self.write("tampered", small)?;
        self.copy("tampered", true)?;
        let path = Self::path("tampered");
        let refused = check::is_refused(&self.line, &path, || {
            self.copy("tampered", false)?;
            self.came("tampered", small)
        });
        self.line.delete(&path);
        Ok(Checked { tamper_refused: Some(refused?), ..Checked::round_trip(true) })
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        let up = self.shape.is_up();
        self.clear("source", up);
        if up && self.shape.backend == Backend::Server {
            place::make_room(self.shape.bytes)?;
        }
        let elapsed = self.line.time(|| self.command("source", up))?;
        if !up {
            self.came("source", self.content())?;
        }
        self.spent.push(elapsed);
        Ok(elapsed)
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        Ok(transfer::rates(self.shape.bytes, &self.spent))
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        self.line.delete(&Self::path("source"));
    }
}
