//! Times what the packages are compared with: the crate itself. Prints a line for each figure, as
//! `node/bench/main.js` does.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use endseal_crypto::identity::Identity;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_envelope::{Opener, Policy, Recipients, Sealer, Suite};

const SIZES: [usize; 3] = [5, 100, 1_000];
const BYTES: usize = 1_024;
const TIME: Duration = Duration::from_millis(700);
const CONTEXT: &[u8] = b"example.org/bench";

/// Prints the least time of a call.
fn time(case: &str, members: usize, work: impl Fn() -> usize) {
    let (start, mut best, mut calls) = (Instant::now(), Duration::MAX, 0);
    while start.elapsed() < TIME || calls < 5 {
        let before = Instant::now();
        black_box(work());
        best = best.min(before.elapsed());
        calls += 1;
    }
    println!("Rust\trust\t{case}\t{members}\t{}", best.as_secs_f64() * 1e3);
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut content = [0; BYTES];
    OsRandom.fill(&mut content)?;
    for members in SIZES {
        let all = (0..members).map(|_| Identity::generate(&mut OsRandom));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let recipients = Recipients::from_identities(all.iter().map(Identity::public))?;
        let (from, reader) = (&all[0], &all[members / 2]);
        for (suite, name) in [(Suite::X25519, ""), (Suite::X25519MlKem768, ", post-quantum")] {
            let sealer = Sealer::new(from, &recipients, CONTEXT).suite(suite);
            let seal = || sealer.seal(&content, &mut OsRandom);
            let envelope = seal()?;
            let open = || Opener::new(reader, CONTEXT).open(&envelope, &mut Policy::new());
            open()?;
            time(&format!("seal{name}"), members, || seal().map_or(0, |it| it.len()));
            time(&format!("open{name}"), members, || open().map_or(0, |it| it.content.len()));
        }
    }
    Ok(())
}
