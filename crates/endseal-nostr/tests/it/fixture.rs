//! Vectors, fixed keys and fixed randomness for the tests.

use std::fs;
use std::path::Path;

use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secp256k1::{PublicKey, SecretKey};
use endseal_crypto::sha256;
pub(crate) use endseal_testing::hex;
use serde_json::Value;

/// Reads a file below `vectors/`.
pub(crate) fn vectors(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(path);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Returns the cases of one of our files. Each case must have a comment of its own.
pub(crate) fn cases(file: &str) -> Vec<Value> {
    let Value::Array(cases) = vectors(&format!("nostr/{file}")) else { panic!("{file}") };
    let mut comments: Vec<_> = cases.iter().map(|case| text(case, "comment")).collect();
    comments.sort_unstable();
    comments.dedup();
    assert_eq!(comments.len(), cases.len());
    cases
}

pub(crate) fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap_or_else(|| panic!("no {field} in {case}"))
}

pub(crate) fn bytes(case: &Value, field: &str) -> Vec<u8> {
    let digits = text(case, field);
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

pub(crate) fn array<const N: usize>(case: &Value, field: &str) -> [u8; N] {
    bytes(case, field).try_into().unwrap()
}

pub(crate) fn secret(case: &Value, field: &str) -> SecretKey {
    SecretKey::from_bytes(&array(case, field)).unwrap()
}

pub(crate) fn public(case: &Value, field: &str) -> PublicKey {
    PublicKey::from_bytes(&array(case, field)).unwrap()
}

/// Returns a secret key that is the same in each run.
pub(crate) fn key(label: &str) -> SecretKey {
    SecretKey::from_bytes(&sha256::digest(label.as_bytes())).unwrap()
}

/// A random source with the same bytes in each run. It fails after a number of reads.
pub(crate) struct FixedRandom(pub(crate) u8, pub(crate) usize);

impl FixedRandom {
    pub(crate) fn new(first: u8) -> Self {
        Self(first, usize::MAX)
    }
}

impl Random for FixedRandom {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        self.1 = self.1.checked_sub(1).ok_or_else(RandomError::default)?;
        for byte in buffer {
            *byte = self.0;
            self.0 = self.0.wrapping_mul(5).wrapping_add(0x3b);
        }
        Ok(())
    }
}
