//! The codec as a subject: messages that are sealed end to end, and messages that only the
//! connection encrypts.

use core::hint::black_box;

use super::{described, failed, param};
use crate::case::OURS;
use crate::clock::{Elapsed, time};
use crate::record::{Params, SubjectInfo};
use crate::subject::{Checked, Prepared, Subject, SubjectError};
use crate::suite::codec::DIRECT;

mod layer;
mod sample;

use layer::{Layer, Pipeline};
use sample::Size;

/// The parties that can read an encoded message, which decides the form of the codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Only the two ends can read it: `Sealed`.
    Sealed,
    /// The party that terminates the connection can read it, too: `Direct`.
    Direct,
}

/// The codec in one of its forms, as a subject.
#[derive(Clone, Debug)]
pub struct Codec {
    form: Form,
    info: SubjectInfo,
}

impl Codec {
    /// Creates the subject of a form.
    #[must_use]
    pub fn new(form: Form) -> Self {
        let (subject, about, properties): (_, _, &[&str]) = match form {
            Form::Sealed => (
                OURS,
                "Protocol Buffers, strict; layer 2: Sealed, in segments of AES-256-GCM (C2SP \
                 chunked-encryption) under a key derived for each message, with a commitment: more than \
                 one call of AES-256-GCM; layer 3: a live frame",
                &["confidential", "authenticated", "committing"],
            ),
            Form::Direct => (
                DIRECT,
                "layer 3 without an AEAD of its own: Direct, a message in a live frame, for a \
                 connection that encrypts",
                &[],
            ),
        };
        let settings = "docs/spec/codec.md, docs/spec/frame.md";
        let info = described("codec", subject, about, settings, properties);
        Self { form, info }
    }

    /// Creates one subject for each form.
    #[must_use]
    pub fn all() -> Vec<Self> {
        [Form::Sealed, Form::Direct].map(Self::new).into()
    }

    fn layer(&self, params: &Params) -> Result<Layer, SubjectError> {
        match (self.form, param(params, "layer")?) {
            (Form::Sealed, 1) => Ok(Layer::Message),
            (Form::Sealed, 2) => Ok(Layer::Sealed),
            (Form::Sealed, 3) => Ok(Layer::Framed),
            (Form::Direct, 3) => Ok(Layer::Direct),
            (Form::Direct, 1 | 2) => {
                Err(SubjectError::Unsupported("it differs at layer 3 alone".into()))
            }
            _ => Err(SubjectError::Unsupported("there are three layers".into())),
        }
    }
}

/// Encodes sample messages whose text is one letter, repeated `bytes` times: the payload of a
/// connection that encrypts.
pub(crate) fn encoded_letters(bytes: usize, inputs: u32) -> Result<Vec<Vec<u8>>, SubjectError> {
    let pipeline = Pipeline::new(Layer::Message, Size { bytes, blob: 0, letter: true }, inputs)?;
    let encoded = |input| {
        let mut out = Vec::new();
        pipeline.encode(input, &mut out).map(|()| out)
    };
    (0..pipeline.len()).map(encoded).collect()
}

/// Returns all forms as subjects of the suite.
pub(crate) fn subjects() -> Vec<Box<dyn Subject>> {
    Codec::all().into_iter().map(|own| Box::new(own) as Box<dyn Subject>).collect()
}

impl Subject for Codec {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let job = match case {
            "encode" => Job::Encode,
            "decode" => Job::Decode,
            "roundtrip" => Job::RoundTrip,
            "wire_size" => Job::WireSize,
            _ => return Err(SubjectError::Unsupported(format!("there is no case {case}"))),
        };
        let pipeline = Pipeline::new(self.layer(params)?, size(params)?, inputs)?;
        let mut encodings = vec![Vec::new(); pipeline.len()];
        for (input, encoding) in encodings.iter_mut().enumerate() {
            pipeline.encode(input, encoding)?;
        }
        Ok(Box::new(Work { job, pipeline, encodings, out: Vec::new(), next: 0 }))
    }
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
    fn check(&mut self) -> Result<Checked, SubjectError> {
        let mut round_trip = true;
        for input in 0..self.pipeline.len() {
            let decoded = self.pipeline.decode(input, &self.encodings[input])?;
            round_trip &= decoded == *self.pipeline.message(input);
        }
        let sealed_bytes = Some(self.encodings[0].len() as u64);
        let sealed = matches!(self.pipeline.layer(), Layer::Sealed | Layer::Framed);
        let tamper_refused = if sealed { Some(self.refuses_changes()) } else { None };
        Ok(Checked { round_trip, tamper_refused, sealed_bytes })
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        if self.job == Job::WireSize {
            return Err(SubjectError::Unsupported("a size takes no time".into()));
        }
        let (start, inputs) = (self.next, self.pipeline.len());
        let mut outcome = Ok(());
        let elapsed = time(|| {
            outcome = (0..iterations as usize).try_for_each(|i| self.once((start + i) % inputs));
        });
        self.next = (start + iterations as usize) % inputs;
        outcome?;
        Ok(elapsed)
    }
}

impl Work {
    fn once(&mut self, input: usize) -> Result<(), SubjectError> {
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
    fn refuses_changes(&mut self) -> bool {
        let encoded = self.encodings[0].clone();
        [1, 2, 3].into_iter().all(|quarter| {
            let mut changed = encoded.clone();
            changed[encoded.len() * quarter / 4] ^= 1;
            self.pipeline.decode(0, &changed).is_err()
        })
    }
}

fn size(params: &Params) -> Result<Size, SubjectError> {
    let (bytes, blob_percent) = (param(params, "bytes")?, param(params, "blob_percent")?);
    let letter = match params.get("letter") {
        None => false,
        Some(1) if blob_percent == 0 => true,
        Some(_) => return Err(SubjectError::Unsupported("there is no such text".into())),
    };
    if params.len() != 3 + usize::from(letter) {
        return Err(SubjectError::Unsupported(
            "a case has three parameters, or a letter too".into(),
        ));
    }
    if !(1024..=1_000_000).contains(&bytes) || ![0, 75].contains(&blob_percent) {
        return Err(SubjectError::Unsupported("there is no sample message of that size".into()));
    }
    Ok(Size { bytes, blob: bytes * blob_percent / 100, letter })
}
