//! Sealing and opening of streams of any length.

use core::{error, fmt};
use std::io::{self, BufReader, BufWriter, Read, Write};

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{ed25519, label};
use endseal_envelope::{OpenError, OpenReader, Opener, Policy, SealError, Sealer, Suite};

/// The context of sealed files (docs/spec/envelope.md, "Header digest").
pub const FILE_CONTEXT: &[u8] = label::ENVELOPE_FILE.as_str().as_bytes();
/// Bytes of each buffer. Large enough to make the cost of system calls negligible, and small beside
/// the 4 MiB that a reader holds anyway.
const BUFFER_LEN: usize = 256 * 1024;

/// Callback that receives the number of content bytes processed so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// Reason why a stream was not sealed. The caller must discard the output written so far.
#[derive(Debug)]
#[non_exhaustive]
pub enum SealFileError {
    /// The content could not be read.
    Input(io::Error),
    /// The envelope could not be written.
    Output(io::Error),
    /// The sealer refused; [`SealError`] names the reason.
    Seal(SealError),
}

/// Reason why a stream was not opened. The output is a prefix of the content, and the caller must
/// discard it.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenFileError {
    /// The input is not an envelope, was altered, is not sealed to this identity, or the policy
    /// refused it.
    Envelope(OpenError),
    /// The envelope could not be read.
    Input(io::Error),
    /// The content could not be written.
    Output(io::Error),
}

/// Seals the content of `input` and writes the envelope to `output`, which is flushed. Returns the
/// length of the content in bytes.
///
/// # Errors
/// Returns [`SealFileError`] if reading, writing or sealing fails.
pub fn seal(
    sealer: &Sealer<'_>,
    mut input: impl Read,
    output: impl Write,
    progress: Progress<'_>,
) -> Result<u64, SealFileError> {
    let sealed = |error: io::Error| match error.get_ref().and_then(|e| e.downcast_ref()) {
        Some(error) => SealFileError::Seal(*error),
        None => SealFileError::Output(error),
    };
    let output = BufWriter::with_capacity(BUFFER_LEN, output);
    let mut writer = sealer.writer(output, &mut OsRandom).map_err(sealed)?;
    let mut buffer = Zeroizing::new(vec![0; BUFFER_LEN]);
    let mut total = 0;
    loop {
        let len = read_some(&mut input, &mut buffer).map_err(SealFileError::Input)?;
        if len == 0 {
            break;
        }
        writer.write_all(&buffer[..len]).map_err(sealed)?;
        total += len as u64;
        progress(total);
    }
    let mut output = writer.finish().map_err(SealFileError::Output)?;
    output.flush().map_err(SealFileError::Output)?;
    Ok(total)
}

/// An envelope whose sender is known and whose content was not read yet.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct Incoming<'p, R: Read>(OpenReader<'p, BufReader<R>>);

impl<'p, R: Read> Incoming<'p, R> {
    /// Finds the slot of `identity` and verifies the first block.
    ///
    /// # Errors
    /// Returns [`OpenFileError`] if the input cannot be read, is not sealed to `identity`, fails
    /// verification, or is refused by `policy`.
    pub fn open(identity: &Identity, policy: Policy<'p>, input: R) -> Result<Self, OpenFileError> {
        let input = BufReader::with_capacity(BUFFER_LEN, input);
        let opener = Opener::new(identity, FILE_CONTEXT);
        opener.reader(input, policy).map(Self).map_err(opened)
    }

    /// Returns the cipher suite of the envelope.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.0.suite()
    }

    /// Returns the key that sealed and signed the envelope. The caller MUST decide whether it
    /// trusts that key.
    #[must_use]
    pub fn sender(&self) -> &ed25519::PublicKey {
        self.0.sender()
    }

    /// Returns the time that the sender claims, in milliseconds since 1970-01-01T00:00:00Z; 0 if
    /// not stated.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.0.time()
    }

    /// Returns the random id of this message, which the sender chose.
    #[must_use]
    pub fn message_id(&self) -> &[u8; 16] {
        self.0.message_id()
    }

    /// Writes the content to `output`, each block after it was verified. Returns the length in
    /// bytes.
    ///
    /// # Errors
    /// Returns [`OpenFileError`] if reading, verification or writing fails. The output is then
    /// incomplete and must be discarded.
    pub fn copy_to(
        mut self,
        mut output: impl Write,
        progress: Progress<'_>,
    ) -> Result<u64, OpenFileError> {
        let mut buffer = Zeroizing::new(vec![0; BUFFER_LEN]);
        let mut total = 0;
        loop {
            let len = read_some(&mut self.0, &mut buffer).map_err(opened)?;
            if len == 0 {
                break;
            }
            output.write_all(&buffer[..len]).map_err(OpenFileError::Output)?;
            total += len as u64;
            progress(total);
        }
        output.flush().map_err(OpenFileError::Output)?;
        Ok(total)
    }
}

fn opened(error: io::Error) -> OpenFileError {
    match error.get_ref().and_then(|e| e.downcast_ref()) {
        Some(error) => OpenFileError::Envelope(*error),
        None => OpenFileError::Input(error),
    }
}

fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl fmt::Display for SealFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input(_) => "cannot read the input",
            Self::Output(_) => "cannot write the output",
            Self::Seal(_) => "cannot seal",
        })
    }
}

impl error::Error for SealFileError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Input(source) | Self::Output(source) => Some(source),
            Self::Seal(source) => Some(source),
        }
    }
}

impl fmt::Display for OpenFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Envelope(_) => "cannot open the envelope",
            Self::Input(_) => "cannot read the input",
            Self::Output(_) => "cannot write the output",
        })
    }
}

impl error::Error for OpenFileError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Envelope(source) => Some(source),
            Self::Input(source) | Self::Output(source) => Some(source),
        }
    }
}
