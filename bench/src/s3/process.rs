//! Server processes of subjects, whose CPU time and memory are measured.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use super::listen::GREETING;
use crate::peer::process;
use crate::subject::Failure;

/// Time limit until a server listens.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server process. It is ended when this is dropped, or when this process ends.
#[derive(Debug)]
pub(crate) struct Process {
    process: process::Process,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a server that prints its address.
    pub(crate) fn announced(mut command: Command) -> Result<Self, Failure> {
        let process = process::Process::start(&mut command)?;
        let line = process.line(TIMEOUT)?;
        let address = line.strip_prefix(GREETING).ok_or("it does not listen")?.parse()?;
        Ok(Self { process, address })
    }

    /// Starts a server that was given its address, and waits until it listens there.
    pub(crate) fn listening(mut command: Command, address: SocketAddr) -> Result<Self, Failure> {
        let mut own = Self { process: process::Process::start(&mut command)?, address };
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
        self.process.lives()
    }

    pub(crate) fn clock(&self) -> CpuClock {
        CpuClock::of(self.process.id())
    }

    /// Returns the peak memory of the process in bytes.
    pub(crate) fn peak_memory(&self) -> Result<u64, Failure> {
        memory(self.process.id(), "VmHWM:")
    }
}

/// Returns the memory of a process in bytes, by the name of a line in its status file.
pub(crate) fn memory(process: u32, name: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.ok_or("the kernel does not report it")?.trim().trim_end_matches(" kB");
    Ok(kib.parse::<u64>()? * 1024)
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
        Ok(self.threads.values().sum::<u64>() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_takes_cpu_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 20"]);
        let process = process::Process::start(&mut command).unwrap();
        let mut clock = CpuClock::of(process.id());
        let start = Instant::now();
        while clock.read().unwrap() < 1e7 && start.elapsed() < TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
        let spent = clock.read().unwrap();
        assert!((1e7..30e9).contains(&spent), "{spent}");
        assert!(memory(process.id(), "VmHWM:").unwrap() > 100_000);
    }
}
