//! The processes of the suite `s3`: the same program, started again in another role.

use core::convert::Infallible;
use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rustix::process::{Signal, set_parent_process_death_signal};

use super::{Failure, listen, pass, seed, sink};
use crate::ours::sessions::folder::PREFIX;

/// How variables begin that programs of S3 read.
const FOREIGN: [&str; 4] = ["AWS_", "ENDSEAL_S3_", "MINIO_", "RCLONE_"];

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Words after the program's name that lead to [`serve`].
const WORDS: [&str; 2] = ["bench", "role"];

/// Says which program passes what follows `bench role` on to [`serve`], and serves S3 by `s3 serve`.
/// Without it the suite `s3` is not measured.
pub fn set_program(program: &Path) {
    // The first one stays.
    let _ = PROGRAM.set(program.to_owned());
}

/// A role of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sink,
    PassThrough(SocketAddr),
    SeedCtr(SocketAddr),
}

impl Role {
    /// The command that plays it.
    pub(crate) fn command(self) -> Result<Command, Failure> {
        let mut command = base()?;
        match self {
            Self::Sink => command.arg("sink"),
            Self::PassThrough(backend) => command.arg("pass-through").arg(backend.to_string()),
            Self::SeedCtr(backend) => command.arg("seed-ctr").arg(backend.to_string()),
        };
        Ok(command)
    }
}

/// The command that becomes another program, which then ends when we do.
pub(crate) fn command_of(program: &Path) -> Result<Command, Failure> {
    let mut command = base()?;
    command.arg("exec").arg(program);
    // What is set for somebody's own storage is not for these.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    Ok(command)
}

/// The command that serves S3 as a user would have it.
pub(crate) fn proxy(config: &Path) -> Result<Command, Failure> {
    let mut command = command_of(program()?)?;
    command.args(["s3", "serve", "--config"]).arg(config);
    Ok(command)
}

fn program() -> Result<&'static PathBuf, Failure> {
    PROGRAM.get().ok_or_else(|| "no program is known that plays roles".into())
}

fn base() -> Result<Command, Failure> {
    let mut command = Command::new(program()?);
    command.args(WORDS);
    Ok(command)
}

/// Starts what removes `folder` when this process has ended, however it did. Whoever holds its standard
/// input holds it back.
pub(crate) fn sweeper(folder: &Path) -> Result<Child, Failure> {
    let mut command = base()?;
    command.arg("sweep").arg(folder);
    // An interruption from the terminal is for us, not for it.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?)
}

/// Waits for the end of standard input, then removes `folder`, which has to be one of the bench's own.
fn sweep(folder: &Path) -> Result<(), Failure> {
    let name = folder.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(|name| name.starts_with(PREFIX)) {
        return Err(format!("{} is not the bench's own", folder.display()).into());
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    // Servers end at the same time, and may write until they have.
    for _ in 0..50 {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                std::thread::sleep(Duration::from_millis(100));
            }
            _ => break,
        }
    }
    Ok(())
}

/// Plays the role that `arguments` name, until the process that started this one ends.
///
/// # Errors
/// Why it could not be played.
pub fn serve(
    arguments: &[OsString],
) -> Result<Infallible, Box<dyn core::error::Error + Send + Sync>> {
    let [role, rest @ ..] = arguments else { return Err("which role?".into()) };
    if role == "sweep" {
        sweep(Path::new(rest.first().ok_or("which folder?")?))?;
        std::process::exit(0);
    }
    // Kept over `exec`. Whoever started us may be killed, and then nobody else would stop this.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let backend = || -> Result<SocketAddr, Failure> {
        Ok(rest.first().and_then(|it| it.to_str()).ok_or("which backend?")?.parse()?)
    };
    match role.to_str() {
        Some("exec") => {
            let [program, rest @ ..] = rest else { return Err("which program?".into()) };
            Err(Command::new(program).args(rest).exec().into())
        }
        Some("sink") => listening(sink::serve),
        Some("pass-through") => {
            let backend = backend()?;
            listening(move |listener| pass::serve(listener, backend))
        }
        Some("seed-ctr") => {
            let backend = backend()?;
            listening(move |listener| seed::serve(listener, backend))
        }
        _ => Err("there is no such role".into()),
    }
}

fn listening<F: Future<Output = Result<Infallible, Failure>>>(
    serve: impl FnOnce(tokio::net::TcpListener) -> F,
) -> Result<Infallible, Failure> {
    listen::runtime()?.block_on(async {
        let listener = listen::bind().await?;
        listen::announce(&listener)?;
        serve(listener).await
    })
}
