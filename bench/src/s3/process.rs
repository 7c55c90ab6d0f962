//! Processes of subjects, whose CPU time and memory are measured.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use super::Failure;
use super::listen::GREETING;

/// Time limit until a server listens.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server process. It is ended when this is dropped, or when this process ends.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a server that prints its address.
    pub(crate) fn announced(mut command: Command) -> Result<Self, Failure> {
        let mut child = quiet(&mut command).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or("it has no standard output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = String::new();
            // If the receiver no longer waits, the line is dropped.
            let _ = reader.read_line(&mut line).map(|_| sender.send(line));
            // All other output is read and dropped, so that the server never blocks on a full pipe.
            let mut rest = [0; 4096];
            while reader.read(&mut rest).is_ok_and(|read| read > 0) {}
        });
        let mut own = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let line = lines.recv_timeout(TIMEOUT).map_err(|_| "it did not say where it listens")?;
        own.address = line.trim().strip_prefix(GREETING).ok_or("it does not listen")?.parse()?;
        Ok(own)
    }

    /// Starts a server that was given its address, and waits until it listens there.
    pub(crate) fn listening(mut command: Command, address: SocketAddr) -> Result<Self, Failure> {
        let child = quiet(&mut command).stdout(Stdio::null()).spawn()?;
        let mut own = Self { child, address };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            if !own.lives() {
                return Err("it ended at once".into());
            }
            if start.elapsed() > TIMEOUT {
                return Err("it does not listen".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(own)
    }

    pub(crate) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn clock(&self) -> CpuClock {
        CpuClock::of(self.child.id())
    }

    /// Returns the peak memory of the process in bytes.
    pub(crate) fn peak_memory(&self) -> Result<u64, Failure> {
        memory(self.child.id(), "VmHWM:")
    }
}

/// Returns the memory of a process in bytes, by the name of a line in its status file.
pub(crate) fn memory(process: u32, name: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.ok_or("the kernel does not report it")?.trim().trim_end_matches(" kB");
    Ok(kib.parse::<u64>()? * 1024)
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _no_child = self.child.wait();
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stderr(Stdio::null())
}

/// Returns an address whose port is free now.
pub(crate) fn free_address() -> Result<SocketAddr, Failure> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

/// CPU time of another process, in user and system mode.
///
/// The scheduler counts in nanoseconds, by thread. The times of the whole process in `stat` are
/// rounded to hundredths of a second, which is more than an object of 10 MB costs. A thread that
/// has ended is no longer listed, so its last time is kept.
#[derive(Debug)]
pub(crate) struct CpuClock {
    folder: PathBuf,
    threads: HashMap<String, u64>,
}

impl CpuClock {
    /// Creates the clock of a process from its process id.
    pub(crate) fn of(process: u32) -> Self {
        let folder = PathBuf::from(format!("/proc/{process}"));
        Self { folder, threads: HashMap::new() }
    }

    /// Returns the CPU time so far, in ns.
    #[allow(clippy::cast_precision_loss, reason = "a process lives less than 2^53 ns")]
    pub(crate) fn read(&mut self) -> Result<f64, Failure> {
        for thread in fs::read_dir(self.folder.join("task"))? {
            let thread = thread?;
            // The thread may end between the two calls.
            let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            let spent = text.split(' ').next().ok_or("the kernel does not report it")?.parse()?;
            self.threads.insert(thread.file_name().to_string_lossy().into_owned(), spent);
        }
        let by_thread: u64 = self.threads.values().sum();
        if by_thread > 0 {
            return Ok(by_thread as f64);
        }
        // Fallback for a kernel without these files.
        let stat = fs::read_to_string(self.folder.join("stat"))?;
        // The name in brackets may contain any character.
        let (_, fields) = stat.rsplit_once(") ").ok_or("the kernel does not report it")?;
        let mut fields = fields.split(' ').skip(11);
        let mut next = || -> Result<u64, Failure> {
            Ok(fields.next().ok_or("the kernel does not report it")?.parse()?)
        };
        Ok((next()? + next()?) as f64 * 1e9 / ticks_a_second())
    }
}

/// Returns the number of clock ticks a second of the times in `stat`.
#[allow(clippy::cast_precision_loss, reason = "a hundred")]
fn ticks_a_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_takes_cpu_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 20"]);
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let process = Process { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let mut clock = process.clock();
        let start = Instant::now();
        while clock.read().unwrap() < 1e7 && start.elapsed() < TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
        let spent = clock.read().unwrap();
        assert!((1e7..30e9).contains(&spent), "{spent}");
        assert!(process.peak_memory().unwrap() > 100_000);
    }
}
