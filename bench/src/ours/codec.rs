//! The codec as a subject: messages that are sealed end to end, and messages that only the
//! connection encrypts.

use core::hint::black_box;

use super::described;
use crate::case::{Case, OURS};
use crate::clock::{Elapsed, time};
use crate::subject::{Checked, Failure, Prepared, Subject, unsupported};

mod layer;
mod sample;

use layer::{Layer, Pipeline};
use sample::Size;

/// Returns the subject whose messages only the two ends can read, and the one whose messages the
/// party can read that terminates the connection.
pub(crate) fn subjects() -> Vec<Subject> {
    let settings = "docs/spec/codec.md, docs/spec/frame.md";
    let sealed = described(
        "codec",
        OURS,
        "Protocol Buffers, strict; layer 2: Sealed, in segments of AES-256-GCM (C2SP \
         chunked-encryption) under a key derived for each message, with a commitment: more than \
         one call of AES-256-GCM; layer 3: a live frame",
        settings,
        &["confidential", "authenticated", "committing"],
    );
    let direct = described(
        "codec",
        "endseal-direct",
        "layer 3 without an AEAD of its own: Direct, a message in a live frame, for a connection \
         that encrypts",
        settings,
        &[],
    );
    let of_sealed = |case: &Case, inputs| match case.number("layer")? {
        1 => prepare(case, Layer::Message, inputs),
        2 => prepare(case, Layer::Sealed, inputs),
        _ => prepare(case, Layer::Framed, inputs),
    };
    let of_direct = |case: &Case, inputs| match case.number("layer")? {
        3 => prepare(case, Layer::Direct, inputs),
        _ => Err(unsupported("it differs at layer 3 alone")),
    };
    vec![Subject::new(sealed, of_sealed), Subject::new(direct, of_direct)]
}

/// Encodes sample messages whose text is one letter, repeated `bytes` times: the payload of a
/// connection that encrypts.
pub(crate) fn encoded_letters(bytes: usize, inputs: u32) -> Result<Vec<Vec<u8>>, Failure> {
    let size = Size { bytes, blob: 0, letter: true };
    Pipeline::new(Layer::Message, size, inputs)?.encode_all()
}

fn prepare(case: &Case, layer: Layer, inputs: u32) -> Result<Box<dyn Prepared>, Failure> {
    let job = match case.case.as_str() {
        "encode" => Job::Encode,
        "decode" => Job::Decode,
        "roundtrip" => Job::RoundTrip,
        "wire_size" => Job::WireSize,
        other => return Err(unsupported(format!("there is no case {other}"))),
    };
    let bytes = case.number("bytes")?;
    let blob = bytes * case.number("blob_percent")? / 100;
    let size = Size { bytes, blob, letter: case.params.contains_key("letter") };
    let pipeline = Pipeline::new(layer, size, inputs)?;
    let encodings = pipeline.encode_all()?;
    Ok(Box::new(Work { job, pipeline, encodings, out: Vec::new(), next: 0 }))
}

/// The work of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Encode,
    Decode,
    RoundTrip,
    WireSize,
}

/// A case that is ready to run.
struct Work {
    job: Job,
    pipeline: Pipeline,
    /// Encodings of all inputs.
    encodings: Vec<Vec<u8>>,
    /// Output of the encoder; its memory is reused.
    out: Vec<u8>,
    next: usize,
}

impl Prepared for Work {
    fn check(&mut self) -> Result<Checked, Failure> {
        let mut round_trip = true;
        for (input, encoding) in self.encodings.iter().enumerate() {
            round_trip &= self.pipeline.decode(input, encoding)? == *self.pipeline.message(input);
        }
        let sealed_bytes = Some(self.encodings[0].len() as u64);
        let tamper_refused = self.pipeline.is_sealed().then(|| self.refuses_changes());
        Ok(Checked { round_trip, tamper_refused, sealed_bytes })
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
        if self.job == Job::WireSize {
            return Err(unsupported("a size takes no time"));
        }
        let (start, inputs) = (self.next, self.encodings.len());
        let mut outcome = Ok(());
        let elapsed = time(|| {
            outcome = (0..iterations as usize).try_for_each(|i| self.iterate((start + i) % inputs));
        });
        self.next = (start + iterations as usize) % inputs;
        outcome.map(|()| elapsed)
    }
}

impl Work {
    fn iterate(&mut self, input: usize) -> Result<(), Failure> {
        let Self { pipeline, encodings, out, .. } = self;
        match self.job {
            Job::Encode => {
                pipeline.encode(input, out)?;
                black_box(&*out);
            }
            Job::Decode => drop(black_box(pipeline.decode(input, black_box(&encodings[input]))?)),
            Job::RoundTrip => {
                pipeline.encode(input, out)?;
                drop(black_box(pipeline.decode(input, black_box(out))?));
            }
            Job::WireSize => {}
        }
        Ok(())
    }

    /// Returns true if the decoder refuses one changed bit at a quarter, at the half and at three
    /// quarters of an encoding.
    fn refuses_changes(&self) -> bool {
        [1, 2, 3].into_iter().all(|quarter| {
            let mut changed = self.encodings[0].clone();
            let at = changed.len() * quarter / 4;
            changed[at] ^= 1;
            self.pipeline.decode(0, &changed).is_err()
        })
    }
}
