//! Questions on the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

use endseal_crypto::secret::Zeroizing;
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Limit on the length of a line in bytes.
const MAX_LEN: usize = 4096;
/// Character that ^C sends.
const INTERRUPT: u8 = 0x03;
/// Character that ^\ sends.
const QUIT: u8 = 0x1c;

/// The controlling terminal of this process, independent of standard input.
pub(crate) struct Terminal(File);

impl Terminal {
    pub(crate) fn open() -> io::Result<Self> {
        let opened = OpenOptions::new().read(true).write(true).open("/dev/tty");
        opened.map(Self).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NXIO | Errno::NOENT) => {
                io::Error::new(io::ErrorKind::NotFound, "there is no terminal to ask on")
            }
            _ => error,
        })
    }

    /// Asks for a line without showing the typed characters.
    pub(crate) fn ask(&self, prompt: &str) -> io::Result<Zeroizing<String>> {
        (&self.0).write_all(prompt.as_bytes())?;
        let silence = Silence::begin(&self.0)?;
        let line = self.line();
        drop(silence);
        // The user's line feed was not shown either.
        (&self.0).write_all(b"\n")?;
        line
    }

    /// Asks a question. Returns true if the answer is yes.
    pub(crate) fn confirm(&self, question: &str) -> io::Result<bool> {
        (&self.0).write_all(question.as_bytes())?;
        let answer = self.line()?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    fn line(&self) -> io::Result<Zeroizing<String>> {
        // The buffer is never reallocated, so that no copy stays in memory.
        let mut line = Zeroizing::new(Vec::with_capacity(MAX_LEN));
        let mut byte = Zeroizing::new([0]);
        loop {
            let len = (&self.0).read(&mut byte[..])?;
            match byte[0] {
                _ if len == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                b'\n' => break,
                INTERRUPT | QUIT => return Err(io::ErrorKind::Interrupted.into()),
                _ if line.len() == MAX_LEN => return Err(io::ErrorKind::InvalidInput.into()),
                byte => line.push(byte),
            }
        }
        let text = core::str::from_utf8(&line).map_err(|_| io::ErrorKind::InvalidData)?;
        let mut own = Zeroizing::new(String::with_capacity(text.len()));
        own.push_str(text);
        Ok(own)
    }
}

/// While it exists, the terminal does not show typed characters.
struct Silence<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Silence<'a> {
    fn begin(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        // Signals are disabled too: one that ends the process would leave the terminal silent. ^C
        // and ^\\ end the line instead.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        silent.special_codes[SpecialCodeIndex::VEOL2] = QUIT;
        // Input before the prompt was shown, and is discarded.
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Drain, &self.before);
    }
}
