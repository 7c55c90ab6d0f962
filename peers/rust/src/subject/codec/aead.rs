//! A cipher alone: it seals the raw bytes of all fields. This is the share of a layer that
//! encryption costs.
//!
//!     nonce (12) | raw bytes under the cipher | tag (16)
//!
//! Settings follow <https://docs.rs/aws-lc-rs/1.19.0/aws_lc_rs/aead/struct.LessSafeKey.html>.

use std::error::Error;
use std::hint::black_box;

use aws_lc_rs::aead::{self, Algorithm, NONCE_LEN};

use super::layered::SessionKey;
use super::{Codec, Decoder, Layer, Prepared};
use crate::message::Message;

pub(crate) const AES_256_GCM: Codec = Codec {
    name: "aes-256-gcm",
    about: "the raw bytes of all fields under AES-256-GCM, without a format: the cipher alone",
    crates: &["aws-lc-rs"],
    settings: "https://docs.rs/aws-lc-rs/1.19.0/aws_lc_rs/aead/struct.LessSafeKey.html",
    properties: &["confidential", "authenticated"],
    cases: &["encode", "decode", "wire_size"],
    layers: &[Layer::Sealed],
    prepare: |messages, _| Cipher::prepare(&messages, &aead::AES_256_GCM),
};

pub(crate) const CHACHA20_POLY1305: Codec = Codec {
    name: "chacha20-poly1305",
    about: "the raw bytes of all fields under ChaCha20-Poly1305, without a format: the cipher alone",
    prepare: |messages, _| Cipher::prepare(&messages, &aead::CHACHA20_POLY1305),
    ..AES_256_GCM
};

struct Cipher {
    inputs: Vec<Vec<u8>>,
    key: SessionKey,
}

impl Cipher {
    fn prepare(
        messages: &[Message],
        algorithm: &'static Algorithm,
    ) -> Result<Box<dyn Prepared>, Box<dyn Error>> {
        let inputs = messages.iter().map(Message::raw).collect();
        Ok(Box::new(Self { inputs, key: SessionKey::new(algorithm)? }))
    }
}

impl Prepared for Cipher {
    fn encode(&mut self, input: usize, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        let nonce = SessionKey::nonce()?;
        let start = to.len();
        to.extend_from_slice(&nonce);
        to.extend_from_slice(self.inputs.get(input).ok_or("no such input")?);
        Ok(self.key.seal_in_place(nonce, to, start + NONCE_LEN)?)
    }

    fn decode(&mut self, encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut opened = Vec::new();
        self.key.open(encoded, &mut opened)?;
        drop(black_box(opened));
        Ok(())
    }

    fn is_input(
        &mut self,
        input: usize,
        encoded: &[u8],
        _: Decoder,
    ) -> Result<bool, Box<dyn Error>> {
        let mut opened = Vec::new();
        self.key.open(encoded, &mut opened)?;
        Ok(self.inputs.get(input) == Some(&opened))
    }
}
