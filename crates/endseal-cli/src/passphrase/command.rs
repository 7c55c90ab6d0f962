//! Commands that print a passphrase, as password managers have.

use core::time::Duration;
use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use endseal_crypto::secret::Zeroizing;

use crate::duration;
use crate::failure::{Failure, Kind};

/// Time that a command has. A person may have to answer it.
pub(super) const TIMEOUT: Duration = duration::MINUTE.saturating_mul(2);
/// Limit on the output of a command in bytes.
const MAX_OUTPUT: usize = 64 << 10;

/// Runs a command in the shell and returns what it printed. Its standard input is empty, and its
/// standard error is that of this process.
///
/// # Errors
/// Fails if it cannot be run, does not end in `timeout`, ends with a failure, or prints nothing or
/// too much.
pub(super) fn output(command: &str, timeout: Duration) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = || {
        Failure::new(Kind::Environment, "the passphrase command failed").hint(
            "try it in a shell: --passphrase-command, or passphrase_command in the configuration, \
             prints the passphrase as its first line",
        )
    };
    let spawned = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|error| failed().because(&error))?;
    let Some(mut stdout) = child.stdout.take() else { return Err(failed()) };
    let (sent, received) = mpsc::channel();
    let reader = move || {
        // Never reallocated, so that no copy stays in memory.
        let mut output = Zeroizing::new(vec![0; MAX_OUTPUT + 1]);
        let mut len = 0;
        while len < output.len() {
            match stdout.read(&mut output[len..]) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return drop(sent.send(Err(error))),
            }
        }
        output.truncate(len);
        // The receiver is gone after the timeout.
        drop(sent.send(Ok(output)));
    };
    let reader = thread::Builder::new().name("passphrase".into()).spawn(reader);
    reader.map_err(|error| failed().because(&error))?;
    let read = received.recv_timeout(timeout);
    if !matches!(&read, Ok(Ok(output)) if output.len() <= MAX_OUTPUT) {
        // If it has ended by itself, there is nothing to kill.
        let _ = child.kill();
    }
    // The shell has ended, or has closed its output.
    let status = child.wait().map_err(|error| failed().because(&error))?;
    match read {
        Err(_) => {
            let limit = duration::text(timeout);
            Err(failed().because_text(format!("it did not end in {limit}")))
        }
        Ok(Err(error)) => Err(failed().because(&error)),
        Ok(Ok(output)) if output.len() > MAX_OUTPUT => {
            Err(failed().because_text(format!("it printed more than {MAX_OUTPUT} bytes")))
        }
        Ok(Ok(_)) if !status.success() => Err(failed().because_text(status.to_string())),
        Ok(Ok(output)) if output.is_empty() => {
            Err(failed().because_text("it printed nothing".to_owned()))
        }
        Ok(Ok(output)) => Ok(output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(command: &str, timeout: Duration) -> String {
        output(command, timeout).err().unwrap().line()
    }

    #[test]
    fn commands_are_bounded_in_time_and_output() {
        let seconds = duration::SECOND * 30;
        assert_eq!(*output("echo a; echo b", seconds).unwrap(), b"a\nb\n");
        let late = cause("exec tail -f /dev/null", duration::SECOND);
        assert!(late.ends_with("it did not end in 1s"), "{late}");
        let long = cause("exec cat /dev/zero", seconds);
        assert!(long.ends_with("it printed more than 65536 bytes"), "{long}");
        let failed = cause("echo a; exit 3", seconds);
        assert!(failed.ends_with("exit status: 3"), "{failed}");
        assert!(cause("true", seconds).ends_with("it printed nothing"));
    }
}
