//! Cost of a message on this machine, beside copying it: `cargo bench -p endseal-codec`. Medians of
//! interleaved rounds, single thread. Beside other libraries: `peers/rust-codec`.
#![allow(clippy::expect_used, reason = "a program that prints figures stops when it cannot")]
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use endseal_codec::{
    Attachment, Body, Codec, Content, Limits, Mention, Message, Metadata, Reaction, RichMessage,
    Source,
};

const ROUNDS: usize = 301;
const BATCH: Duration = Duration::from_micros(300);

fn main() {
    // `cargo test --benches` runs this too: then once is enough to see that it works.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    println!("medians of {rounds} rounds, microseconds");
    println!("{:14} {:>9} {:>9} {:>9} {:>9} {:>9}", "", "bytes", "copy", "encode", "owned", "view");
    for kilobytes in [8_usize, 64, 256] {
        for (shape, text) in [("text", kilobytes << 10), ("mixed", kilobytes << 8)] {
            let message = message(text, (kilobytes << 10) - text);
            row(&format!("{kilobytes} KB {shape}"), &message, rounds);
        }
    }
}

/// A body and an inline blob, and about 415 bytes of everything else.
fn message(text: usize, blob: usize) -> Message {
    let phrase = "All bytes are equal, but some are sealed. ";
    let text: String = phrase.chars().cycle().take(text).collect();
    let reaction =
        |n| Reaction { sender: [n; 32], emoji: "\u{1f44d}".into(), timestamp: 1_770_000_000_000 };
    let mut metadata = Metadata::default();
    metadata.insert("client", *b"endseal 0.1.0");
    metadata.insert("thread", [7; 16]);
    let mut rich = RichMessage {
        id: [1; 16],
        conversation: [2; 32].into(),
        sender: [3; 32],
        timestamp: 1_769_700_000_000,
        body: Some(Body::Text(text.into())),
        reactions: (0..3).map(reaction).collect(),
        mentions: vec![
            Mention { peer: [4; 32], start: 4, length: 5 },
            Mention { peer: [5; 32], start: 300, length: 5 },
        ],
        reply_to: Some([9; 16]),
        metadata,
        ..RichMessage::default()
    };
    if blob > 0 {
        rich.attachments.push(Attachment {
            name: "figure.png".into(),
            media_type: "image/png".into(),
            size: blob as u64,
            source: Source::Inline((0..=255).cycle().take(blob).collect()),
        });
    }
    Message::from(Content::Rich(rich))
}

struct Subject<'a> {
    run: Box<dyn FnMut() + 'a>,
    /// Runs between two looks at the clock.
    batch: u32,
    times: Vec<f64>,
}

impl<'a> Subject<'a> {
    fn new(run: impl FnMut() + 'a) -> Self {
        let mut own = Self { run: Box::new(run), batch: 0, times: Vec::new() };
        let start = Instant::now();
        while start.elapsed() < BATCH {
            (own.run)();
            own.batch += 1;
        }
        own
    }

    fn round(&mut self) {
        let start = Instant::now();
        for _ in 0..self.batch {
            (self.run)();
        }
        self.times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(self.batch));
    }

    fn median(mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }
}

fn row(name: &str, message: &Message, rounds: usize) {
    let limits = Limits::default();
    let bytes = message.to_vec(limits).expect("it is within the bounds");
    let mut subjects = [
        Subject::new(|| drop(black_box(black_box(&bytes).clone()))),
        Subject::new(|| drop(black_box(black_box(message).to_vec(limits)))),
        Subject::new(|| drop(black_box(Message::decode(black_box(&bytes), limits)))),
        Subject::new(|| {
            let _view = black_box(Message::view(black_box(&bytes), limits));
        }),
    ];
    for _ in 0..rounds {
        subjects.iter_mut().for_each(Subject::round);
    }
    print!("{name:14} {:9}", bytes.len());
    for subject in subjects {
        print!(" {:9.3}", subject.median());
    }
    println!();
}
