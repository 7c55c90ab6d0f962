//! Roles that this program runs in processes of their own, started by [`program`](crate::program).

use core::convert::Infallible;
use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::kernel;
use crate::ours::node::hub_role;
use crate::ours::sessions::drain;
use crate::s3::{Failure, listen, pass, seed, sink};
use crate::scratch::PREFIX;

/// Runs the role that `arguments` name. A server runs until the process that started it ends; the
/// other roles return the text for standard output.
///
/// # Errors
/// Fails if there is no such role, if its arguments are wrong, or if the role itself fails.
pub fn serve(arguments: &[OsString]) -> Result<String, Box<dyn core::error::Error + Send + Sync>> {
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
        Some("kernel") => return kernel::run(rest),
        Some("exec") => {
            let [program, rest @ ..] = rest else { return Err("which program?".into()) };
            Err(Command::new(program).args(rest).exec().into())
        }
        Some("hub") => hub_role::serve(rest),
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
