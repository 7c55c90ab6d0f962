//! Times of encoding and decoding in each library, and of copying for comparison.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use buffa::{Message as _, MessageView as _};
use endseal_codec::{Codec, Limits};
use prost::Message as _;

use crate::generated;
use crate::sample::{Shape, message};

const ROUNDS: usize = 301;
const BATCH: Duration = Duration::from_micros(300);

type Work<'a> = (&'static str, Box<dyn FnMut() + 'a>);

pub(crate) fn run() -> ExitCode {
    let cells = [
        ("8 KB text", Shape::Text, 8),
        ("8 KB scripts", Shape::Scripts, 8),
        ("8 KB mixed", Shape::Mixed, 8),
        ("64 KB text", Shape::Text, 64),
        ("64 KB mixed", Shape::Mixed, 64),
        ("256 KB text", Shape::Text, 256),
        ("256 KB scripts", Shape::Scripts, 256),
        ("256 KB mixed", Shape::Mixed, 256),
    ];
    println!("medians of {ROUNDS} interleaved rounds, microseconds; ratio: ours / buffa, paired");
    let mut lost = 0;
    for (name, shape, kilobytes) in cells {
        lost += cell(name, &message(shape, kilobytes << 10));
    }
    println!("cells lost to buffa: {lost}");
    if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a cell of the table. Returns the number of its three rows that are slower than buffa's.
fn cell(name: &str, ours: &endseal_codec::Message) -> usize {
    let limits = Limits::default();
    let bytes = ours.to_vec(limits).expect("the sample is within the bounds");
    let of_buffa = generated::buffa::Message::decode_from_slice(&bytes).expect("it is a message");
    let of_prost = generated::prost::Message::decode(&*bytes).expect("it is a message");
    println!("\n{name}: {} bytes", bytes.len());
    let rows: [(&str, Vec<Work<'_>>); 3] = [
        (
            "encode",
            vec![
                ("endseal", Box::new(|| drop(black_box(black_box(ours).to_vec(limits))))),
                ("buffa", Box::new(|| drop(black_box(black_box(&of_buffa).encode_to_vec())))),
                ("prost", Box::new(|| drop(black_box(black_box(&of_prost).encode_to_vec())))),
                ("copy", Box::new(|| drop(black_box(black_box(&bytes).clone())))),
            ],
        ),
        (
            "decode owned",
            vec![
                (
                    "endseal",
                    Box::new(|| {
                        drop(black_box(endseal_codec::Message::decode(black_box(&bytes), limits)));
                    }),
                ),
                (
                    "buffa",
                    Box::new(|| {
                        drop(black_box(generated::buffa::Message::decode_from_slice(black_box(
                            &bytes,
                        ))));
                    }),
                ),
                (
                    "prost",
                    Box::new(|| {
                        drop(black_box(generated::prost::Message::decode(&**black_box(&bytes))));
                    }),
                ),
            ],
        ),
        (
            "decode borrowed",
            vec![
                (
                    "endseal",
                    Box::new(|| {
                        let _ = black_box(endseal_codec::Message::view(black_box(&bytes), limits));
                    }),
                ),
                (
                    "buffa",
                    Box::new(|| {
                        drop(black_box(generated::buffa::MessageView::decode_view(black_box(
                            &bytes,
                        ))));
                    }),
                ),
            ],
        ),
    ];
    let mut lost = 0;
    for (row, subjects) in rows {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.0).collect();
        let (medians, ratio) = medians(subjects);
        let cells: Vec<String> =
            names.iter().zip(&medians).map(|(name, time)| format!("{name} {time:.3}")).collect();
        println!("  {row:16} {}   ratio {ratio:.2}", cells.join(", "));
        // A ratio within the noise of a busy machine is a draw.
        lost += usize::from(ratio > 1.03);
    }
    lost
}

/// Returns the medians in microseconds, and the median of the ratios of the first two subjects.
fn medians(mut subjects: Vec<Work<'_>>) -> (Vec<f64>, f64) {
    let batches: Vec<u32> = subjects.iter_mut().map(|subject| batch(&mut *subject.1)).collect();
    let mut times = vec![Vec::with_capacity(ROUNDS); subjects.len()];
    for round in 0..ROUNDS {
        for turn in 0..subjects.len() {
            let index = (turn + round) % subjects.len();
            let start = Instant::now();
            for _ in 0..batches[index] {
                (subjects[index].1)();
            }
            times[index].push(start.elapsed().as_secs_f64() * 1e6 / f64::from(batches[index]));
        }
    }
    let ratios = times[0].iter().zip(&times[1]).map(|(ours, theirs)| ours / theirs).collect();
    (times.into_iter().map(median).collect(), median(ratios))
}

/// Returns the number of runs of `work` that fit into a batch.
fn batch(work: &mut dyn FnMut()) -> u32 {
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < BATCH {
        work();
        count += 1;
    }
    count
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
