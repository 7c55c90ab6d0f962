//! Interface of a subject of the suite `codec`, and the list of these subjects.

use std::error::Error;

use crate::message::Message;

pub(crate) mod aead;
pub(crate) mod bincode2;
pub(crate) mod buffa;
mod layered;
pub(crate) mod memcpy;
pub(crate) mod minicbor;
pub(crate) mod postcard;
pub(crate) mod prost;
pub(crate) mod rkyv;
pub(crate) mod seed_json;

/// All subjects, in the order of `hello`.
pub(crate) const SUBJECTS: [Codec; 13] = [
    seed_json::ARRAY,
    seed_json::BASE64,
    prost::SUBJECT,
    buffa::SUBJECT,
    postcard::SUBJECT,
    bincode2::SUBJECT,
    rkyv::SUBJECT,
    minicbor::SUBJECT,
    memcpy::SUBJECT,
    prost::DIRECT,
    buffa::DIRECT,
    aead::AES_256_GCM,
    aead::CHACHA20_POLY1305,
];

/// One format in which messages are encoded.
pub(crate) struct Codec {
    pub(crate) name: &'static str,
    /// Description in one line, for the report.
    pub(crate) about: &'static str,
    /// Crates whose versions are reported, by their names in `Cargo.lock`.
    pub(crate) crates: &'static [&'static str],
    /// The document whose recommendation the settings follow.
    pub(crate) settings: &'static str,
    /// Properties from the list in the specification, for layers 2 and 3.
    pub(crate) properties: &'static [&'static str],
    /// Cases that the subject supports.
    pub(crate) cases: &'static [&'static str],
    /// Layers that the subject supports.
    pub(crate) layers: &'static [Layer],
    /// Prepares these messages as inputs at that layer.
    #[allow(clippy::type_complexity, reason = "written out once")]
    pub(crate) prepare: fn(Vec<Message>, Layer) -> Result<Box<dyn Prepared>, Box<dyn Error>>,
}

/// Cases of a subject whose decoder returns a message that owns its fields.
pub(crate) const OWNED: &[&str] = &["encode", "decode", "roundtrip", "wire_size"];
/// Cases of a subject whose decoder can also borrow the fields.
pub(crate) const BORROWED: &[&str] =
    &["encode", "decode", "decode_borrowed", "roundtrip", "wire_size"];

/// Layer of a message, numbered as in the specification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    Message = 1,
    Sealed = 2,
    Framed = 3,
}

/// Layers of a subject that seals messages.
pub(crate) const ALL_LAYERS: &[Layer] = &[Layer::Message, Layer::Sealed, Layer::Framed];

/// A subject at one layer, with its inputs.
pub(crate) trait Prepared {
    /// Appends the encoding of an input to `to`.
    fn encode(&mut self, input: usize, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>>;

    /// Decodes to a message that owns its fields, keeps the optimiser from removing the work, and
    /// drops the message.
    fn decode(&mut self, encoded: &[u8]) -> Result<(), Box<dyn Error>>;

    /// Decodes as [`decode`](Self::decode) does, but strings and byte strings are slices of
    /// `encoded` or, above the first layer, of the opened bytes.
    fn decode_borrowed(&mut self, _encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        Err(NOT_BORROWED.into())
    }

    /// Checks that an encoding decodes to an input, in every field.
    fn is_input(
        &mut self,
        input: usize,
        encoded: &[u8],
        decoder: Decoder,
    ) -> Result<bool, Box<dyn Error>>;
}

const NOT_BORROWED: &str = "no decoder that borrows";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoder {
    Owned,
    Borrowed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Size, sample};

    const SIZES: [Size; 4] = [
        Size { bytes: 1024, blob_percent: 0, letter: false },
        Size { bytes: 8192, blob_percent: 0, letter: false },
        Size { bytes: 8192, blob_percent: 75, letter: false },
        Size { bytes: 8192, blob_percent: 0, letter: true },
    ];
    const LAYERS: [Layer; 3] = [Layer::Message, Layer::Sealed, Layer::Framed];

    fn prepared(subject: &Codec, layer: Layer, size: Size) -> (Box<dyn Prepared>, Vec<Vec<u8>>) {
        let messages = (0..3).map(|index| sample(index, size)).collect();
        let mut prepared = (subject.prepare)(messages, layer).unwrap();
        let encode = |input| {
            let mut encoded = Vec::new();
            prepared.encode(input, &mut encoded).unwrap();
            encoded
        };
        let encoded = (0..3).map(encode).collect();
        (prepared, encoded)
    }

    fn decoders(subject: &Codec) -> &'static [Decoder] {
        let borrows = subject.cases.contains(&"decode_borrowed");
        if borrows { &[Decoder::Owned, Decoder::Borrowed] } else { &[Decoder::Owned] }
    }

    #[test]
    fn every_encoding_is_its_input_and_no_other() {
        for subject in &SUBJECTS {
            for layer in subject.layers.iter().copied() {
                for size in SIZES {
                    let (mut prepared, encoded) = prepared(subject, layer, size);
                    for decoder in decoders(subject) {
                        let mut is = |input: usize, of: usize| {
                            prepared.is_input(input, &encoded[of], *decoder).unwrap()
                        };
                        assert!((0..3).all(|input| is(input, input)), "{}", subject.name);
                        assert!(!is(0, 1) && !is(2, 1), "{}", subject.name);
                    }
                }
            }
        }
    }

    /// `memcpy` is left out, because it is no format.
    #[test]
    fn no_part_of_an_encoding_decodes() {
        for subject in SUBJECTS.iter().filter(|subject| subject.name != "memcpy") {
            for layer in subject.layers.iter().copied() {
                let (mut prepared, encoded) = prepared(subject, layer, SIZES[0]);
                for decoder in decoders(subject) {
                    for length in 0..encoded[0].len() {
                        let part = &encoded[0][..length];
                        let read = prepared.is_input(0, part, *decoder);
                        assert!(!read.is_ok_and(|same| same), "{}, {length}", subject.name);
                    }
                }
            }
        }
    }

    #[test]
    fn no_change_of_what_is_sealed_goes_unnoticed() {
        for subject in SUBJECTS.iter().filter(|it| it.properties.contains(&"authenticated")) {
            for layer in subject.layers.iter().copied().filter(|it| *it > Layer::Message) {
                let (mut prepared, encoded) = prepared(subject, layer, SIZES[0]);
                let length = encoded[0].len();
                for decoder in decoders(subject) {
                    for at in (length / 4)..(length / 4 * 3) {
                        let mut changed = encoded[0].clone();
                        changed[at] ^= 1;
                        let read = prepared.is_input(0, &changed, *decoder);
                        assert!(read.is_err(), "{}, byte {at}", subject.name);
                    }
                }
            }
        }
    }

    #[test]
    fn both_libraries_of_the_contract_write_the_same() {
        for size in SIZES {
            let [prost, buffa] = [&prost::SUBJECT, &buffa::SUBJECT]
                .map(|subject| prepared(subject, Layer::Message, size).1);
            assert!(prost == buffa);
        }
    }

    /// Each layer contains the one below: in Base64 it is about four thirds as long, as lists of
    /// numbers about three times.
    #[test]
    fn layers_of_the_seed_grow_as_their_encodings_of_bytes_do() {
        let length = |subject, layer| prepared(subject, layer, SIZES[2]).1[0].len();
        for (subject, least, most) in
            [(&seed_json::BASE64, 133, 140), (&seed_json::ARRAY, 290, 370)]
        {
            let lengths = LAYERS.map(|layer| length(subject, layer));
            for pair in lengths.windows(2) {
                let percent = pair[1] * 100 / pair[0];
                assert!((least..=most).contains(&percent), "{}: {lengths:?}", subject.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names = SUBJECTS.iter().map(|subject| subject.name);
        let others = crate::subject::SUBJECTS.iter().map(|subject| subject.name);
        let mut all: Vec<&str> = names.chain(others).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }
}
