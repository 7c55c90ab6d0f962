//! A prepared case of the suite `codec`, with its inputs.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use crate::case::{failed, process_cpu_ns};
use crate::protocol::{Answer, Integer, Params, Refusal};
use crate::sample::{Size, sample};
use crate::subject::codec::{Codec, Decoder, Layer, Prepared};

/// Largest memory for the inputs of a case, in bytes.
const MEMORY_LIMIT: usize = 1 << 30;
/// Upper bound of the memory that a subject takes for each byte of an input: lists of numbers in
/// three layers make 32 bytes of one, and a check needs the layers below as well.
const GROWTH: usize = 64;
/// Upper bound of the bytes around the requested ones, which grow as well.
const AROUND: usize = 512;

/// Allowed sizes: large enough for the words that are mentioned, and with all other fields below
/// the maximum of a message.
const BYTES: std::ops::RangeInclusive<usize> = 1024..=1_000_000;
const BLOB_PERCENTS: [usize; 2] = [0, 75];

pub(crate) struct CodecCase {
    work: Work,
    /// True if a changed encoding must be refused.
    authenticated: bool,
    prepared: Box<dyn Prepared>,
    inputs: usize,
    /// Encodings, one for each input.
    encoded: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    /// Number of the next input.
    next: usize,
}

#[derive(Clone, Copy)]
enum Work {
    Encode,
    Decode,
    DecodeBorrowed,
    RoundTrip,
    /// Only the size is measured, so there is no work.
    WireSize,
}

impl CodecCase {
    pub(crate) fn prepare(
        subject: &Codec,
        case: &str,
        params: &Params,
        inputs: Integer,
    ) -> Result<Self, Refusal> {
        let work = match case {
            "encode" => Work::Encode,
            "decode" => Work::Decode,
            "decode_borrowed" => Work::DecodeBorrowed,
            "roundtrip" => Work::RoundTrip,
            "wire_size" => Work::WireSize,
            _ => return Err(Refusal::unsupported(format!("no case {case}"))),
        };
        if !subject.cases.contains(&case) {
            return Err(Refusal::unsupported(format!("{} has no case {case}", subject.name)));
        }
        let letter = params.has("letter");
        let [bytes, blob_percent, layer] = match letter {
            false => params.take(["bytes", "blob_percent", "layer"])?,
            true => match params.take(["bytes", "blob_percent", "layer", "letter"])? {
                [bytes, 0, layer, 1] => [bytes, 0, layer],
                _ => return Err(Refusal::unsupported("letter: 1, without a blob")),
            },
        };
        let layer = match layer {
            1 => Layer::Message,
            2 => Layer::Sealed,
            3 => Layer::Framed,
            layer => return Err(Refusal::unsupported(format!("no layer {layer}"))),
        };
        if !subject.layers.contains(&layer) {
            return Err(Refusal::unsupported(format!("{} has no such layer", subject.name)));
        }
        if !BYTES.contains(&bytes) {
            let (least, most) = (BYTES.start(), BYTES.end());
            return Err(Refusal::unsupported(format!("bytes: from {least} to {most}")));
        }
        if !BLOB_PERCENTS.contains(&blob_percent) {
            return Err(Refusal::unsupported("blob_percent: 0 or 75"));
        }
        let inputs = usize::try_from(inputs.value()).unwrap_or(usize::MAX);
        if inputs == 0 {
            return Err(Refusal::unsupported("inputs: at least 1"));
        }
        if inputs.saturating_mul((bytes + AROUND) * GROWTH) > MEMORY_LIMIT {
            return Err(Refusal::unsupported("the inputs do not fit into 1 GiB"));
        }

        let size = Size { bytes, blob_percent, letter };
        let messages = (0..inputs as u64).map(|index| sample(index, size)).collect();
        let mut prepared = (subject.prepare)(messages, layer).map_err(failed)?;
        let encode = |input| {
            let mut encoded = Vec::new();
            prepared.encode(input, &mut encoded).map(|()| encoded)
        };
        let encoded = (0..inputs).map(encode).collect::<Result<_, _>>().map_err(failed)?;
        // The properties of a subject hold for the layers above the first.
        let claimed = subject.properties.contains(&"authenticated");
        let authenticated = layer > Layer::Message && claimed;
        Ok(Self { work, authenticated, prepared, inputs, encoded, buffer: Vec::new(), next: 0 })
    }

    pub(crate) fn check(&mut self) -> Result<Answer, Refusal> {
        let decoder = match self.work {
            Work::DecodeBorrowed => Decoder::Borrowed,
            _ => Decoder::Owned,
        };
        let mut round_trip = true;
        for (input, encoded) in self.encoded.iter().enumerate() {
            round_trip &= self.prepared.is_input(input, encoded, decoder).map_err(failed)?;
        }
        let first = self.encoded.first().ok_or_else(|| Refusal::failed("no input"))?;
        let tamper_refused = self.authenticated.then(|| {
            // Positions far from both ends, where the bytes around the ciphertext are.
            [first.len() / 4, first.len() / 2, first.len() / 4 * 3].into_iter().all(|at| {
                let mut tampered = first.clone();
                tampered[at] ^= 1;
                self.prepared.is_input(0, &tampered, decoder).is_err()
            })
        });
        Ok(Answer::Checked { round_trip, tamper_refused, sealed_bytes: first.len() as u64 })
    }

    pub(crate) fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
        if iterations == 0 {
            return Err(Refusal::protocol("iterations: at least 1"));
        }
        let once = match self.work {
            Work::Encode => Self::encode,
            Work::Decode => Self::decode,
            Work::DecodeBorrowed => Self::decode_borrowed,
            Work::RoundTrip => Self::round_trip,
            Work::WireSize => return Err(Refusal::unsupported("a size takes no time")),
        };
        let cpu = process_cpu_ns();
        let wall = Instant::now();
        for _ in 0..iterations {
            once(self, self.next).map_err(failed)?;
            self.next = if self.next + 1 == self.inputs { 0 } else { self.next + 1 };
        }
        let wall_ns = wall.elapsed().as_nanos();
        let cpu_ns = process_cpu_ns() - cpu;

        let wall_ns = u64::try_from(wall_ns).map_err(|_| Refusal::failed("the clock"))?;
        Ok(Answer::Ran { iterations, wall_ns, cpu_ns })
    }

    fn encode(&mut self, input: usize) -> Result<(), Box<dyn Error>> {
        self.buffer.clear();
        self.prepared.encode(black_box(input), &mut self.buffer)?;
        black_box(self.buffer.as_slice());
        Ok(())
    }

    fn decode(&mut self, input: usize) -> Result<(), Box<dyn Error>> {
        self.prepared.decode(black_box(&self.encoded[input]))
    }

    fn decode_borrowed(&mut self, input: usize) -> Result<(), Box<dyn Error>> {
        self.prepared.decode_borrowed(black_box(&self.encoded[input]))
    }

    fn round_trip(&mut self, input: usize) -> Result<(), Box<dyn Error>> {
        self.encode(input)?;
        self.prepared.decode(black_box(&self.buffer))
    }
}
