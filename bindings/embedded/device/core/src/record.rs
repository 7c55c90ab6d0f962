//! The record in which the state lies in flash.

use endseal_crypto::secp256k1::SecretKey;
use endseal_crypto::secret::{Zeroizing, wipe};
use endseal_crypto::sha256::Digest;

const MAGIC: &[u8; 8] = b"ESDEVICE";
const VERSION: u32 = 1;
/// Bytes that the digest covers.
const COVERED: usize = 64;
const LABEL: &[u8] = b"endseal device record 1";

/// Setting that says which methods need the button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the specification has these")]
pub enum Confirmation {
    /// Each method that uses the secret key.
    #[default]
    All,
    /// Signatures and changes, but neither encryption nor decryption.
    Signatures,
}

impl Confirmation {
    /// Text of the setting in requests and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Signatures => "signatures",
        }
    }

    /// Parses the text of the setting.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::All, Self::Signatures].into_iter().find(|it| it.name() == name)
    }
}

/// State of the device in one sector of the flash.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
#[allow(clippy::exhaustive_structs, reason = "the specification has these fields")]
pub struct Record {
    /// Number of the record, from 1. The greater of two is in force.
    pub sequence: u32,
    /// Setting that says which methods need the button.
    pub confirmation: Confirmation,
    /// The secret key, if the device has one.
    pub key: Option<SecretKey>,
}

impl Record {
    /// Length of a record, which is one page of flash.
    pub const LEN: usize = 256;

    /// Writes the record, which the caller MUST wipe.
    pub fn write(&self, out: &mut [u8; Self::LEN]) {
        out.fill(0xff);
        let (covered, rest) = out.split_at_mut(COVERED);
        covered.fill(0);
        put(covered, 0, MAGIC);
        put(covered, 8, &VERSION.to_le_bytes());
        put(covered, 12, &self.sequence.to_le_bytes());
        put(covered, 16, &[u8::from(self.confirmation == Confirmation::Signatures)]);
        put(covered, 17, &[u8::from(self.key.is_some())]);
        if let Some(key) = &self.key {
            put(covered, 32, key.expose_secret());
        }
        put(rest, 0, &digest(covered));
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`InvalidRecord`] if it was not written whole, or no device writes it.
    pub fn read(bytes: &[u8; Self::LEN]) -> Result<Self, InvalidRecord> {
        let (covered, rest) = bytes.split_at(COVERED);
        let (stored, filler) = rest.split_at(32);
        if digest(covered) != stored || filler.iter().any(|byte| *byte != 0xff) {
            return Err(InvalidRecord);
        }
        let number = |at: usize| {
            let bytes = covered.get(at..at + 4).and_then(|it| it.first_chunk());
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let is_zero = |bytes: Option<&[u8]>| bytes.is_some_and(|it| it.iter().all(|it| *it == 0));
        let has_magic = covered.starts_with(MAGIC) && number(8) == VERSION;
        if !has_magic || number(12) == 0 || !is_zero(covered.get(18..32)) {
            return Err(InvalidRecord);
        }
        let confirmation = match covered.get(16) {
            Some(0) => Confirmation::All,
            Some(1) => Confirmation::Signatures,
            _ => return Err(InvalidRecord),
        };
        let secret = covered.last_chunk::<32>().ok_or(InvalidRecord)?;
        let key = match covered.get(17) {
            Some(0) if is_zero(Some(secret)) => None,
            Some(1) => Some(SecretKey::from_bytes(secret).map_err(|_| InvalidRecord)?),
            _ => return Err(InvalidRecord),
        };
        Ok(Self { sequence: number(12), confirmation, key })
    }
}

/// The bytes are no record: they were not written whole, or no device writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "there is nothing to add")]
pub struct InvalidRecord;

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn digest(covered: &[u8]) -> [u8; 32] {
    let mut hash = Digest::new();
    hash.update(LABEL);
    hash.update(covered);
    hash.finish()
}

/// A page that is wiped when it is dropped.
pub(crate) fn page() -> Zeroizing<[u8; Record::LEN]> {
    Zeroizing::new([0; Record::LEN])
}

/// Compares two pages without a branch that depends on their bytes.
pub(crate) fn is_equal(a: &[u8; Record::LEN], b: &[u8; Record::LEN]) -> bool {
    let mut difference = [0; Record::LEN];
    for (place, (a, b)) in difference.iter_mut().zip(a.iter().zip(b)) {
        *place = a ^ b;
    }
    let all = difference.iter().fold(0, |all, it| all | it);
    wipe(&mut difference);
    all == 0
}
