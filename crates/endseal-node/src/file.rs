//! Sealing and opening of streams: the same code for commands and groups.

use core::{error, fmt};
use std::io::{self, BufReader, BufWriter, Read, Write};

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{ed25519, label};
use endseal_envelope::{OpenError, OpenReader, Opener, Policy, SealError, Sealer, Suite};

/// The context of sealed files (docs/spec/envelope.md, "Header digest").
pub const FILE_CONTEXT: &[u8] = label::ENVELOPE_FILE.as_str().as_bytes();
/// Bytes of each buffer: large enough that system calls cost nothing, small beside the 4 MiB that a
/// reader holds anyway.
const BUFFER_LEN: usize = 256 * 1024;

/// Is told how many bytes of content have passed.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// Why a stream was not sealed. What was written is to be thrown away.
#[derive(Debug)]
#[non_exhaustive]
pub enum SealFileError {
    /// The content could not be read.
    Input(io::Error),
    /// The envelope could not be written.
    Output(io::Error),
    /// It cannot be sealed so.
    Seal(SealError),
}

/// Why a stream was not opened. What was written is a prefix of the content, and is to be thrown
/// away.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenFileError {
    /// It is no envelope, not for this identity, changed, or refused.
    Envelope(OpenError),
    /// The envelope could not be read.
    Input(io::Error),
    /// The content could not be written.
    Output(io::Error),
}

/// Seals all that `input` gives onto `output`, which is flushed. Gives the length of the content.
///
/// # Errors
/// [`SealFileError`].
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

/// An envelope whose sender is known and whose content has not been given yet.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct Incoming<'p, R: Read>(OpenReader<'p, BufReader<R>>);

impl<'p, R: Read> Incoming<'p, R> {
    /// Finds the slot of `identity` and verifies the first block.
    ///
    /// # Errors
    /// [`OpenFileError`].
    pub fn open(identity: &Identity, policy: Policy<'p>, input: R) -> Result<Self, OpenFileError> {
        let input = BufReader::with_capacity(BUFFER_LEN, input);
        let opener = Opener::new(identity, FILE_CONTEXT);
        opener.reader(input, policy).map(Self).map_err(opened)
    }

    /// Suite of the envelope.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.0.suite()
    }

    /// Key that sealed and signed it. The caller MUST decide whether it knows that key.
    #[must_use]
    pub fn sender(&self) -> &ed25519::PublicKey {
        self.0.sender()
    }

    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z; 0 if not stated.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.0.time()
    }

    /// Random name of this message, chosen by the sender.
    #[must_use]
    pub fn message_id(&self) -> &[u8; 16] {
        self.0.message_id()
    }

    /// Writes the content to `output`, each block after it was verified. Gives its length.
    ///
    /// # Errors
    /// [`OpenFileError`]: what was written then is not the whole content.
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
