//! Serial ports: 115,200 baud, 8 data bits, no parity, one stop bit, lines of bounded length.

use core::time::Duration;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Instant;

use endseal_crypto::secret::{Zeroizing, wipe};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, isatty, tcflush, tcgetattr, tcsetattr,
};

const BAUD: u32 = 115_200;
/// Longest line of a device in bytes, with its end.
const MAX_LINE: usize = 32_769;
/// Longest wait for the port to take a piece of a line.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Open serial port, which no other program uses that locks it, too.
pub struct Port {
    file: File,
    /// Bytes behind the last line.
    received: Zeroizing<Vec<u8>>,
    len: usize,
    /// True while the bytes of a line that is too long are dropped.
    is_too_long: bool,
}

/// Reason why a serial port cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// There is no such port, or it cannot be opened or set.
    #[error("{0}")]
    Open(io::Error),
    /// The file is not a terminal, so that it is no serial port.
    #[error("it is no serial port")]
    NoTerminal,
    /// Another program has locked the port: a signer that runs, for example.
    #[error("another program uses it")]
    Busy,
    /// The port is gone, or its driver failed.
    #[error("it was disconnected")]
    Disconnected,
    /// The port takes no bytes.
    #[error("it takes no bytes")]
    Stuck,
}

impl Port {
    /// Opens the port and sets its mode.
    ///
    /// # Errors
    /// [`PortError`] if it cannot be opened, is no terminal or is in use.
    pub fn open(path: &Path) -> Result<Self, PortError> {
        let failed = |error: rustix::io::Errno| PortError::Open(error.into());
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open(path, flags, Mode::empty()).map_err(failed)?);
        if !isatty(&file) {
            return Err(PortError::NoTerminal);
        }
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| PortError::Busy)?;
        let mut mode = tcgetattr(&file).map_err(failed)?;
        mode.make_raw();
        mode.set_speed(BAUD).map_err(failed)?;
        mode.control_modes.remove(ControlModes::CSTOPB | ControlModes::CRTSCTS);
        // Without HUPCL, a close does not lower the line that resets some boards.
        mode.control_modes.remove(ControlModes::HUPCL);
        mode.control_modes.insert(ControlModes::CLOCAL | ControlModes::CREAD);
        tcsetattr(&file, OptionalActions::Now, &mode).map_err(failed)?;
        tcflush(&file, QueueSelector::IOFlush).map_err(failed)?;
        let received = Zeroizing::new(vec![0; MAX_LINE]);
        Ok(Self { file, received, len: 0, is_too_long: false })
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// [`PortError::Disconnected`], [`PortError::Stuck`].
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), PortError> {
        while !bytes.is_empty() {
            match rustix::io::write(&self.file, bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(rustix::io::Errno::AGAIN) => {
                    if !self.wait(PollFlags::OUT, WRITE_TIMEOUT)? {
                        return Err(PortError::Stuck);
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(PortError::Disconnected),
            }
        }
        Ok(())
    }

    /// Waits for the next line. Returns `None` when the time is over. Lines that are too long are
    /// dropped.
    ///
    /// # Errors
    /// [`PortError::Disconnected`].
    pub fn line(&mut self, timeout: Duration) -> Result<Option<Zeroizing<Vec<u8>>>, PortError> {
        let until = Instant::now() + timeout;
        loop {
            let received = self.received.get(..self.len).unwrap_or_default();
            if let Some(end) = received.iter().position(|byte| *byte == b'\n') {
                let line = Zeroizing::new(received[..end].to_vec());
                self.received.copy_within(end + 1..self.len, 0);
                wipe(&mut self.received[self.len - end - 1..self.len]);
                self.len -= end + 1;
                if !core::mem::take(&mut self.is_too_long) {
                    return Ok(Some(line));
                }
                continue;
            }
            if self.len == MAX_LINE {
                self.is_too_long = true;
                self.len = 0;
            }
            let left = until.saturating_duration_since(Instant::now());
            if !self.wait(PollFlags::IN, left)? {
                return Ok(None);
            }
            match rustix::io::read(&self.file, &mut self.received[self.len..]) {
                Ok(0) => return Err(PortError::Disconnected),
                Ok(read) => self.len += read,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(_) => return Err(PortError::Disconnected),
            }
        }
    }

    /// Waits until the port is ready. Returns false when the time is over.
    fn wait(&self, flags: PollFlags, timeout: Duration) -> Result<bool, PortError> {
        let timeout = Timespec::try_from(timeout).map_err(|_| PortError::Disconnected)?;
        let mut ports = [PollFd::new(&self.file, flags)];
        match poll(&mut ports, Some(&timeout)) {
            Ok(0) => Ok(false),
            Ok(_) if ports[0].revents().intersects(flags) => Ok(true),
            Err(rustix::io::Errno::INTR) => Ok(true),
            // Hung up.
            _ => Err(PortError::Disconnected),
        }
    }
}

impl core::fmt::Debug for Port {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}
