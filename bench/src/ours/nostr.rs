//! The Nostr core as a subject, in buffers that are made before anything is timed.

use endseal_crypto::random::{OsRandom, Random};
use endseal_nostr::key::{PublicKey, SecretKey};

use super::described;
use crate::case::{Case, OURS};
use crate::clock::{Elapsed, time};
use crate::record::SubjectInfo;
use crate::subject::{Checked, Failure, Prepared, Subject, unsupported};

mod cipher;
mod conversation;
mod event;
mod flow;
mod fragmentation;
mod mcu;
mod nip44;
mod signer;

/// Returns the Nostr core with the signer that is built of it, and the core with the rules of an
/// app, for the case of a whole answer only.
pub(crate) fn subjects() -> Vec<Subject> {
    let about = "endseal-nostr: no allocation, HMAC states of a conversation are kept; endseal \
                 signer, a process of its own";
    let properties = ["confidential", "authenticated", "sender"];
    let core = described("nostr", OURS, about, "docs/spec/nostr.md", &properties);
    let deciding = SubjectInfo {
        subject: "endseal-policy".into(),
        about: "endseal-nostr with a decision by the 16 rules of an app".into(),
        ..core.clone()
    };
    // Started when it is first needed, and used for the whole run.
    let mut signer = None;
    vec![
        Subject::new(core, move |case, inputs| prepare(case, inputs, &mut signer)),
        Subject::new(deciding, |case, inputs| match case.case.as_str() {
            "flow" => Ok(ready(flow::Flow::new(case.number("bytes")?, true)?, inputs)),
            _ => Err(unsupported("there is nothing to decide")),
        }),
    ]
}

fn prepare(
    case: &Case,
    inputs: u32,
    signer: &mut Option<signer::Signer>,
) -> Result<Box<dyn Prepared>, Failure> {
    let bytes = || case.number("bytes");
    let is_kept = || Ok::<_, Failure>(case.number("cached")? == 1);
    Ok(match case.case.as_str() {
        "aes_encrypt" => ready(cipher::Aes::new(bytes()?, true)?, inputs),
        "aes_decrypt" => ready(cipher::Aes::new(bytes()?, false)?, inputs),
        "nip44_encrypt" => ready(nip44::Nip44::new(bytes()?, is_kept()?, true)?, inputs),
        "nip44_decrypt" => ready(nip44::Nip44::new(bytes()?, is_kept()?, false)?, inputs),
        "full_decrypt" => ready(event::Full::new(bytes()?)?, inputs),
        "conversation_key" => ready(conversation::Derive::new(inputs)?, inputs),
        "sign" => ready(event::Sign::new(bytes()?)?, inputs),
        "verify" => ready(event::Verify::new(bytes()?)?, inputs),
        "flow" => ready(flow::Flow::new(bytes()?, false)?, inputs),
        "bunker_sign" => {
            let running = match signer.take() {
                Some(running) => running,
                None => signer::Signer::start()?,
            };
            signer.insert(running).signing(case)?
        }
        "bunker_idle" => Box::new(signer::Idle::new(case.number("apps")?)?),
        "fragmentation" => ready(fragmentation::Rounds::new(case.number("rounds")?)?, 1),
        "mcu" => Box::new(mcu::Chip::new(case.number("isa")?, bytes()?)?),
        other => return Err(unsupported(format!("there is no case {other}"))),
    })
}

/// Work that is timed.
trait Work {
    /// Does the work once, with the input of that index.
    fn once(&mut self, input: usize) -> Result<(), Failure>;

    /// Checks the result of the work.
    fn check(&mut self) -> Result<Checked, Failure>;
}

fn ready(work: impl Work + 'static, inputs: u32) -> Box<dyn Prepared> {
    Box::new(Ready { work, inputs: inputs as usize, next: 0 })
}

/// Work with the index of the next input.
struct Ready<W> {
    work: W,
    inputs: usize,
    next: usize,
}

impl<W: Work> Prepared for Ready<W> {
    fn check(&mut self) -> Result<Checked, Failure> {
        self.work.check()
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
        let Self { work, inputs, next } = self;
        let mut outcome = Ok(());
        let elapsed = time(|| {
            for _ in 0..iterations {
                outcome = work.once(*next);
                if outcome.is_err() {
                    break;
                }
                *next = (*next + 1) % *inputs;
            }
        });
        outcome.map(|()| elapsed)
    }
}

/// Reports a check: a sealed content was opened, and a changed one refused.
fn checked(round_trip: bool, tamper_refused: Option<bool>, sealed: Option<usize>) -> Checked {
    Checked { round_trip, tamper_refused, sealed_bytes: sealed.map(|len| len as u64) }
}

/// Returns the letters of the alphabet, repeated: the published suite encrypts text, too.
fn text(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}

/// Keys of two people.
struct Pair {
    own: SecretKey,
    peer: SecretKey,
}

impl Pair {
    fn new() -> Result<Self, Failure> {
        let key = || SecretKey::generate(&mut OsRandom);
        Ok(Self { own: key()?, peer: key()? })
    }

    fn peer_public(&self) -> PublicKey {
        self.peer.public_key()
    }
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    OsRandom.fill(&mut bytes)?;
    Ok(bytes)
}
