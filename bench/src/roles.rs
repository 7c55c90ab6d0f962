//! Roles that this program runs in processes of their own, started by [`program`](crate::program).

use core::convert::Infallible;
use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::case::{Case, INPUTS, parameters};
use crate::ours::node::server;
use crate::ours::sessions::drain;
use crate::s3::{listen, pass, seed, sink};
use crate::scratch::PREFIX;
use crate::subject::{Failure, Prepared};
use crate::{ours, suite};

/// Runs the role that `arguments` name. A server runs until the process that started it ends; the
/// other roles return the text for standard output.
///
/// # Errors
/// Fails if there is no such role, if its arguments are wrong, or if the role itself fails.
pub fn serve(arguments: &[OsString]) -> Result<String, Failure> {
    let [role, rest @ ..] = arguments else { return Err("which role?".into()) };
    if role == "sweep" {
        sweep(Path::new(rest.first().ok_or("which folder?")?))?;
        return Ok(String::new());
    }
    // This setting survives `exec`. If the parent process is killed, nothing else would stop this
    // one.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let backend = || -> Result<SocketAddr, Failure> {
        Ok(rest.first().and_then(|it| it.to_str()).ok_or("which backend?")?.parse()?)
    };
    let ended: Result<Infallible, Failure> = match role.to_str() {
        Some("drain") => return drain::serve(rest),
        Some("kernel") => return kernel(rest),
        Some("exec") => {
            let [program, rest @ ..] = rest else { return Err("which program?".into()) };
            Err(Command::new(program).args(rest).exec().into())
        }
        Some("hub") => server::serve(rest),
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
    };
    match ended {
        Err(why) => Err(why),
    }
}

/// Waits for the end of standard input, then removes `folder`, which must be one of the bench's
/// own.
fn sweep(folder: &Path) -> Result<(), Failure> {
    let name = folder.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(|name| name.starts_with(PREFIX)) {
        return Err(format!("{} is not the bench's own", folder.display()).into());
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    // Servers end at the same time and may write until then.
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

fn listening<F: Future<Output = Result<Infallible, Failure>>>(
    serve: impl FnOnce(tokio::net::TcpListener) -> F,
) -> Result<Infallible, Failure> {
    listen::runtime()?.block_on(async {
        let listener = listen::bind().await?;
        listen::announce(&listener)?;
        serve(listener).await
    })
}

/// Runs one case of one of our subjects for an instruction counter: `SUITE SUBJECT CASE PARAMS
/// ITERATIONS`, with parameters as `members=10,bytes=1024`. It is prepared, and then runs exactly
/// the given number of iterations.
fn kernel(arguments: &[OsString]) -> Result<String, Failure> {
    let texts: Option<Vec<&str>> = arguments.iter().map(|it| it.to_str()).collect();
    let Some([suite, subject, case, params, iterations]) = texts.as_deref() else {
        return Err("usage: SUITE SUBJECT CASE PARAMS ITERATIONS".into());
    };
    let suite = suite::Suite::find(suite).ok_or("there is no such suite")?;
    let mut subjects = ours::subjects(suite.name);
    let found = subjects.iter_mut().find(|it| it.info.subject == *subject);
    let found = found.ok_or("there is no such subject")?;
    let params = parameters(params.split(',').filter(|pair| !pair.is_empty()))?;
    let case = Case { suite: suite.name.into(), case: (*case).into(), params };
    let mut prepared = found.prepare(&case, INPUTS)?;
    let iterations: u32 = iterations.parse()?;
    // The first call creates what later calls share, so it is not counted.
    prepared.run(INPUTS)?;
    kernel_measured(&mut *prepared, iterations)?;
    Ok(String::new())
}

/// The only function in which callgrind counts instructions (xtask/src/gate.rs).
#[inline(never)]
fn kernel_measured(prepared: &mut dyn Prepared, iterations: u32) -> Result<(), Failure> {
    prepared.run(iterations)?;
    Ok(())
}
