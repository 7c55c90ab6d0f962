//! From a line of the host to its answer.

use embedded_storage::nor_flash::NorFlash;
use endseal_crypto::secp256k1::{SecretKey, SigningKey};
use endseal_crypto::secret::{Zeroizing, wipe};
use endseal_nostr::connect::{
    Answer, Call, CallError, MAX_REFUSAL, Refusal, Request, execute, execute_len,
};
use endseal_nostr::key;
use endseal_nostr::nip44::Cache;
use endseal_nostr::output::Output;

use crate::board::Board;
use crate::button::{self, Decision};
use crate::error::DeviceError;
use crate::line::{Ended, LineReader};
use crate::request::Asked;
use crate::store::Store;

/// Longest line of the host and of the device in bytes, without its end.
pub const MAX_LINE: usize = 32_768;
/// Conversations whose keys are kept.
const CONVERSATIONS: usize = 4;

/// Memory of the program, which belongs in a static.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
pub struct Buffers {
    line: [u8; MAX_LINE],
    scratch: [u8; MAX_LINE],
    answer: [u8; MAX_LINE],
}

impl Buffers {
    /// Makes buffers of zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self { line: [0; MAX_LINE], scratch: [0; MAX_LINE], answer: [0; MAX_LINE] }
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new()
    }
}

/// The program of a signer device.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
pub struct Device<'b, B, F> {
    board: B,
    line: LineReader<'b>,
    work: Work<'b, F>,
    /// Byte with which the host withdrew a request: it begins the next line.
    pending: Option<u8>,
}

/// Everything but the line, which the request refers to.
struct Work<'b, F> {
    store: Store<F>,
    /// The key of the record in force.
    key: Option<SigningKey>,
    conversations: Cache<CONVERSATIONS>,
    scratch: &'b mut [u8],
    answer: &'b mut [u8],
}

impl<'b, B: Board, F: NorFlash> Device<'b, B, F> {
    /// Loads the state from two sectors that begin at offset `start` of the flash.
    pub fn new(board: B, flash: F, start: u32, buffers: &'b mut Buffers) -> Self {
        let Buffers { line, scratch, answer } = buffers;
        let work = Work {
            store: Store::load(flash, start),
            key: None,
            conversations: Cache::new(),
            scratch,
            answer,
        };
        let mut device = Self { board, line: LineReader::new(line), work, pending: None };
        device.work.load_key();
        device
    }

    /// Takes at most one byte of the host, and answers the line that it ends.
    pub fn poll(&mut self) {
        let byte = self.pending.take().or_else(|| self.board.read());
        let Some(byte) = byte else { return };
        let Some(ended) = self.line.push(byte) else { return };
        match ended {
            Ended::TooLong => self.work.refuse(&mut self.board, "", DeviceError::LineTooLong),
            Ended::Line(len) => {
                let line = self.line.bytes(len);
                self.pending = self.work.answer(&mut self.board, line);
            }
        }
        self.line.clear();
    }
}

impl<F: NorFlash> Work<'_, F> {
    /// Computes the public key of the record in force.
    fn load_key(&mut self) {
        self.conversations = Cache::new();
        let secret = self.store.state().key.as_ref().map(SecretKey::expose_secret);
        let secret = secret.and_then(|bytes| SecretKey::from_bytes(bytes).ok());
        self.key = secret.map(SigningKey::new);
    }

    /// Answers a line. Returns the byte with which the host withdrew the request.
    fn answer(&mut self, board: &mut impl Board, line: &mut [u8]) -> Option<u8> {
        let Ok(request) = Request::parse(line) else {
            self.refuse(board, "", DeviceError::NoRequest);
            return None;
        };
        let mut withdrawn = None;
        if let Err(error) = self.try_answer(board, &request, &mut withdrawn) {
            self.refuse(board, request.id, error);
        }
        wipe(self.scratch);
        wipe(self.answer);
        withdrawn
    }

    fn try_answer(
        &mut self,
        board: &mut impl Board,
        request: &Request<'_>,
        withdrawn: &mut Option<u8>,
    ) -> Result<(), DeviceError> {
        let asked = Asked::of(request)?;
        self.check(&asked)?;
        let flashes = asked.flashes(self.store.state().confirmation);
        if flashes > 0 {
            match button::ask(board, flashes) {
                Decision::Allowed => {}
                Decision::Refused => return Err(DeviceError::Refused(Refusal::Denied)),
                Decision::TimedOut => return Err(DeviceError::Refused(Refusal::Timeout)),
                Decision::Withdrawn(byte) => {
                    *withdrawn = Some(byte);
                    return Err(DeviceError::Withdrawn);
                }
            }
        }
        let mut hex = [0; key::HEX_LEN];
        let text = match &asked {
            Asked::Call(Call::Ping) => "pong",
            Asked::Call(call) => return self.execute(board, request.id, call),
            Asked::GetConfirmation => self.store.state().confirmation.name(),
            Asked::SetConfirmation(confirmation) => {
                self.store.set_confirmation(*confirmation)?;
                "ack"
            }
            Asked::EraseKey(_) => {
                let erased = self.store.erase_key();
                self.load_key();
                erased?;
                "ack"
            }
            Asked::CreateKey => self.set_key(created(board)?, &mut hex)?,
            Asked::ImportKey(text) => self.set_key(imported(text)?, &mut hex)?,
        };
        send(board, request.id, &Answer::Text(text), self.answer)
    }

    /// Stores a key. Returns its public key as text.
    fn set_key<'h>(
        &mut self,
        secret: SecretKey,
        hex: &'h mut [u8; key::HEX_LEN],
    ) -> Result<&'h str, DeviceError> {
        self.store.set_key(secret)?;
        self.load_key();
        let key = self.key.as_ref().ok_or(DeviceError::Flash)?;
        *hex = key::public_to_hex(key.public_key());
        Ok(str::from_utf8(hex).unwrap_or_default())
    }

    /// Refuses what cannot be done before a person is asked.
    fn check(&self, asked: &Asked<'_>) -> Result<(), DeviceError> {
        match (asked, &self.key) {
            (Asked::CreateKey | Asked::ImportKey(_), Some(_)) => Err(DeviceError::HasKey),
            (Asked::ImportKey(text), None) => imported(text).map(drop),
            (Asked::EraseKey(named), Some(key)) if key.public_key().to_bytes() != *named => {
                Err(DeviceError::OtherKey)
            }
            (Asked::EraseKey(_), None) => Err(DeviceError::NoKey),
            (Asked::Call(Call::Ping), _) => Ok(()),
            (Asked::Call(_), None) => Err(DeviceError::NoKey),
            (Asked::Call(call), Some(_)) => match execute_len(call)? {
                len if len > self.scratch.len() => Err(DeviceError::AnswerTooLong),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn execute(
        &mut self,
        board: &mut impl Board,
        id: &str,
        call: &Call<'_>,
    ) -> Result<(), DeviceError> {
        let Self { key, conversations, scratch, answer, .. } = self;
        let key = key.as_ref().ok_or(DeviceError::NoKey)?;
        let (mut aux, mut nonce) = (Zeroizing::new([0; 32]), Zeroizing::new([0; 32]));
        if !matches!(call, Call::GetPublicKey) {
            board.random(&mut aux).map_err(|_| DeviceError::Random)?;
            board.random(&mut nonce).map_err(|_| DeviceError::Random)?;
        }
        let outcome = execute(call, key, conversations, &aux, &nonce, scratch)?;
        send(board, id, &outcome.answer(), answer)
    }

    /// Answers with an error. An id that leaves no room for it is left out.
    fn refuse(&mut self, board: &mut impl Board, id: &str, error: DeviceError) {
        let mut buffer = [0; MAX_REFUSAL];
        let mut output = Output::new(&mut buffer);
        let written = core::fmt::write(&mut output, format_args!("{error}"));
        let text = written.ok().and_then(|()| output.finish().ok());
        let text = text.and_then(|text| str::from_utf8(text).ok()).unwrap_or("failed");
        for id in [id, ""] {
            if send(board, id, &Answer::Error(text), self.answer).is_ok() {
                break;
            }
        }
    }
}

fn send(
    board: &mut impl Board,
    id: &str,
    answer: &Answer<'_>,
    buffer: &mut [u8],
) -> Result<(), DeviceError> {
    let line = answer.write(id, buffer).map_err(|_| DeviceError::AnswerTooLong)?;
    board.write(line);
    board.write(b"\n");
    Ok(())
}

fn imported(text: &str) -> Result<SecretKey, DeviceError> {
    Ok(key::secret_from_hex(text).map_err(CallError::Key)?)
}

/// Draws a key from the random source of the chip.
fn created(board: &mut impl Board) -> Result<SecretKey, DeviceError> {
    let mut bytes = Zeroizing::new([0; 32]);
    board.random(&mut bytes).map_err(|_| DeviceError::Random)?;
    // A number that is no key comes with a probability below 2^-127.
    SecretKey::from_bytes(&bytes).map_err(|_| DeviceError::Random)
}
