//! The published messenger's three layers of JSON on a QUIC connection, with bytes counted at the
//! socket. It supports only the case `message_size`.

use bytes::Bytes;

use super::quinn::{CRATES, Quinn, SETTINGS};
use super::tls::Strength;
use crate::sample::{Size, sample};
use crate::subject::codec::{Codec, Layer, seed_json};
use crate::transport::work::{Duplex, Fault, Work, failed};
use crate::transport::{PINNED_POST_QUANTUM, Prepared, Transport};

pub(super) const ARRAY: Transport = Transport {
    name: "quinn-json-array",
    about: "three layers of JSON as published, over plain quinn, byte strings as lists of numbers",
    crates: CRATES,
    settings: SETTINGS,
    properties: PINNED_POST_QUANTUM,
    prepare: |work, inputs| carry(&seed_json::ARRAY, work, inputs),
};

pub(super) const BASE64: Transport = Transport {
    name: "quinn-json-base64",
    about: "three layers of JSON as published, over plain quinn, byte strings in Base64",
    prepare: |work, inputs| carry(&seed_json::BASE64, work, inputs),
    ..ARRAY
};

/// Largest number of inputs of a case.
const INPUTS_MAX: u64 = 4096;

fn carry(codec: &Codec, work: Work, inputs: u64) -> Result<Box<dyn Prepared>, Fault> {
    let Work::MessageSize { bytes } = work else {
        return Err(Fault::Unsupported("it carries messages of the suite codec alone".into()));
    };
    if !(1..=INPUTS_MAX).contains(&inputs) {
        return Err(Fault::Unsupported(format!("inputs: from 1 to {INPUTS_MAX}")));
    }
    let size = Size { bytes, blob_percent: 0, letter: true };
    let messages: Vec<_> = (0..inputs).map(|index| sample(index, size)).collect();
    let count = messages.len();
    let mut encoder = (codec.prepare)(messages, Layer::Framed).map_err(failed)?;
    let encode = |input| {
        let mut encoded = Vec::new();
        encoder.encode(input, &mut encoded).map(|()| Bytes::from(encoded)).map_err(failed)
    };
    let contents = (0..count).map(encode).collect::<Result<_, _>>()?;
    Ok(Box::new(Duplex::with_contents(Quinn::new(Strength::PostQuantum)?, work, contents)?))
}
