//! Checks agreement: every encoding that endseal-codec reads must give the same value in both
//! libraries, and endseal-codec must read every encoding that they write, unless a bound of the
//! contract forbids it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use buffa::Message as _;
use endseal_codec::{Codec, Content, DecodeError, Limits, Message, Unknown};
use prost::Message as _;

use crate::generated;
use crate::random::Random;

#[derive(Default)]
struct Counts {
    messages: u64,
    mutants: u64,
    read_by_all: u64,
    refused_by_all: u64,
    /// Number of encodings that a library reads and endseal-codec refuses, by error class.
    stricter: BTreeMap<&'static str, u64>,
    /// The same after the library has written the value again, which leaves only errors of bounds.
    out_of_bounds: BTreeMap<&'static str, u64>,
    disagreements: u64,
}

pub(crate) fn run(messages: u64, mutants: u64) -> ExitCode {
    let limits = Limits::with_maximum(Limits::LARGEST_MAXIMUM).expect("it is the largest");
    let mut random = Random::new(7);
    let mut counts = Counts::default();
    let mut other = Vec::new();
    for _ in 0..messages {
        let message = random.message();
        let bytes = message.to_vec(limits).expect("random messages are within the bounds");
        counts.messages += 1;
        counts.check(&bytes, limits);
        let content = inside(&bytes);
        for index in 0..mutants {
            counts.mutants += 1;
            let mutant = if index % 2 == 0 {
                random.mutant(&bytes, &other)
            } else {
                // Changed inside, with the right lengths outside, so that readers do not stop
                // early.
                wrap(bytes[0], &random.mutant(content, &other))
            };
            counts.check(&mutant, limits);
        }
        other = bytes;
    }
    println!("messages {}, mutants {}", counts.messages, counts.mutants);
    println!(
        "read by all three {}, refused by all three {}",
        counts.read_by_all, counts.refused_by_all
    );
    println!("refused by endseal-codec alone, by class {:?}", counts.stricter);
    println!("of these still refused when prost has written them anew {:?}", counts.out_of_bounds);
    println!("disagreements {}", counts.disagreements);
    if counts.disagreements == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the content of the only field of a message, after its tag and length.
fn inside(bytes: &[u8]) -> &[u8] {
    let len = bytes[1..].iter().position(|byte| *byte < 0x80).expect("a varint ends") + 1;
    &bytes[1 + len..]
}

fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

impl Counts {
    fn check(&mut self, bytes: &[u8], limits: Limits) {
        let ours = Message::decode(bytes, limits);
        let of_prost = generated::prost::Message::decode(bytes);
        let of_buffa = generated::buffa::Message::decode_from_slice(bytes);
        match ours {
            Ok(ours) => {
                self.read_by_all += 1;
                let ours = without_unknown(ours);
                let by_prost = of_prost.map(|message| message.encode_to_vec());
                self.compare(bytes, "prost", &ours, by_prost.ok(), limits);
                let by_buffa = of_buffa.map(|message| message.encode_to_vec());
                self.compare(bytes, "buffa", &ours, by_buffa.ok(), limits);
            }
            Err(error) => {
                if of_prost.is_err() && of_buffa.is_err() {
                    self.refused_by_all += 1;
                    return;
                }
                *self.stricter.entry(error.class()).or_default() += 1;
                if let Ok(message) = of_prost {
                    self.written_anew(bytes, &message.encode_to_vec(), limits);
                }
            }
        }
    }

    /// Checks that a library's value equals ours.
    fn compare(
        &mut self,
        bytes: &[u8],
        library: &str,
        ours: &Message,
        theirs: Option<Vec<u8>>,
        limits: Limits,
    ) {
        let Some(theirs) = theirs else {
            self.disagree(bytes, &format!("{library} refuses it"));
            return;
        };
        if ours.content.is_none() {
            // The message has only unknown fields, which prost drops.
            return;
        }
        match Message::decode(&theirs, limits).map(without_unknown) {
            Ok(read) if read == *ours => {}
            Ok(_) => self.disagree(bytes, &format!("{library} reads another value")),
            Err(error) => {
                self.disagree(bytes, &format!("{library} writes what is refused: {error}"))
            }
        }
    }

    /// Checks that an encoding which a library writes is refused only because of bounds.
    fn written_anew(&mut self, bytes: &[u8], written: &[u8], limits: Limits) {
        let Err(error) = Message::decode(written, limits) else { return };
        *self.out_of_bounds.entry(error.class()).or_default() += 1;
        use DecodeError::{Count, Length, Missing, Range};
        if !matches!(error, Count | Length | Missing | Range) {
            self.disagree(bytes, &format!("prost writes what is refused: {error}"));
        }
    }

    fn disagree(&mut self, bytes: &[u8], what: &str) {
        self.disagreements += 1;
        if self.disagreements <= 5 {
            let hex: String = bytes.iter().take(200).map(|byte| format!("{byte:02x}")).collect();
            println!("{what}: {hex}");
        }
    }
}

/// Removes unknown fields, which prost drops, so that known fields can be compared.
fn without_unknown(mut message: Message) -> Message {
    message.unknown = Unknown::default();
    match &mut message.content {
        Some(Content::Rich(content)) => content.unknown = Unknown::default(),
        Some(Content::Receipt(content)) => content.unknown = Unknown::default(),
        Some(Content::Typing(content)) => content.unknown = Unknown::default(),
        Some(Content::Share(content)) => content.unknown = Unknown::default(),
        Some(Content::Revoke(content)) => content.unknown = Unknown::default(),
        Some(Content::FileOffer(content)) => content.unknown = Unknown::default(),
        Some(Content::FileAnswer(content)) => content.unknown = Unknown::default(),
        Some(Content::FileEnd(content)) => content.unknown = Unknown::default(),
        _ => {}
    }
    message
}
