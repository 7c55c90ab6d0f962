//! The Nostr core as a subject, in buffers that are made before anything is timed.

use endseal_crypto::random::{OsRandom, Random};
use endseal_nostr::key::{PublicKey, SecretKey};

use super::{described, failed, param};
use crate::case::OURS;
use crate::clock::{Elapsed, time};
use crate::record::{Better, Params, SubjectInfo};
use crate::subject::{Checked, Extra, Prepared, Subject, SubjectError};
use crate::suite::nostr::{BUNKER_IDLE, BUNKER_SIGN, FRAGMENTATION, MCU, POLICY};

mod cipher;
mod conversation;
mod event;
mod flow;
mod fragmentation;
mod mcu;
mod nip44;
mod signer;

/// The Nostr core, and the signer that is built of it, as a subject.
#[derive(Debug)]
pub struct Core {
    info: SubjectInfo,
    /// Started when it is first needed, and used for the whole run.
    signer: Option<signer::Signer>,
}

impl Core {
    fn new() -> Self {
        let about = "endseal-nostr: no allocation, HMAC states of a conversation are kept; endseal \
                     signer, a process of its own";
        let properties = ["confidential", "authenticated", "sender"];
        let info = described("nostr", OURS, about, "docs/spec/nostr.md", &properties);
        Self { info, signer: None }
    }
}

/// The core with the rules of an app, for the case of a whole answer only.
#[derive(Debug)]
struct Deciding(SubjectInfo);

impl Deciding {
    fn new() -> Self {
        let about = "endseal-nostr with a decision by the 16 rules of an app".into();
        Self(SubjectInfo { subject: POLICY.into(), about, ..Core::new().info })
    }
}

impl Subject for Deciding {
    fn info(&self) -> &SubjectInfo {
        &self.0
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        if case != "flow" {
            return Err(SubjectError::Unsupported("there is nothing to decide".into()));
        }
        Ok(ready(flow::Flow::new(param(params, "bytes")?, true)?, inputs.max(1) as usize))
    }
}

/// Returns the core and its variant as subjects of the suite.
pub(crate) fn subjects() -> Vec<Box<dyn Subject>> {
    vec![Box::new(Core::new()), Box::new(Deciding::new())]
}

impl Subject for Core {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let inputs = inputs.max(1) as usize;
        let bytes = || param(params, "bytes");
        Ok(match case {
            "aes_encrypt" => ready(cipher::Aes::new(bytes()?, true)?, inputs),
            "aes_decrypt" => ready(cipher::Aes::new(bytes()?, false)?, inputs),
            "nip44_encrypt" => {
                ready(nip44::Encrypt::new(bytes()?, param(params, "cached")? == 1)?, inputs)
            }
            "nip44_decrypt" => {
                ready(nip44::Decrypt::new(bytes()?, param(params, "cached")? == 1)?, inputs)
            }
            "full_decrypt" => ready(event::Full::new(bytes()?)?, inputs),
            "conversation_key" => ready(conversation::Derive::new(inputs)?, inputs),
            "sign" => ready(event::Sign::new(bytes()?)?, inputs),
            "verify" => ready(event::Verify::new(bytes()?)?, inputs),
            "flow" => ready(flow::Flow::new(bytes()?, false)?, inputs),
            BUNKER_SIGN => {
                let signer = match self.signer.take() {
                    Some(signer) => signer,
                    None => signer::Signer::start()?,
                };
                self.signer.insert(signer).signing(params)?
            }
            BUNKER_IDLE => Box::new(signer::Idle::new(params)?),
            FRAGMENTATION => ready(fragmentation::Rounds::new(param(params, "rounds")?)?, 1),
            MCU => Box::new(mcu::Chip::new(param(params, "isa")?, bytes()?)?),
            _ => return Err(SubjectError::Unsupported(format!("there is no case {case}"))),
        })
    }
}

/// Work that is timed.
trait Work {
    /// Does the work once, with the input of that index.
    fn once(&mut self, input: usize) -> Result<(), SubjectError>;

    /// Checks the result of the work.
    fn check(&mut self) -> Result<Checked, SubjectError>;
}

fn ready<'a>(work: impl Work + 'a, inputs: usize) -> Box<dyn Prepared + 'a> {
    Box::new(Ready { work, inputs, next: 0 })
}

/// Work with the index of the next input.
struct Ready<W> {
    work: W,
    inputs: usize,
    next: usize,
}

impl<W: Work> Prepared for Ready<W> {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.work.check()
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
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

fn count(metric: &'static str, unit: &'static str, value: u64) -> Extra {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    Extra { metric, unit, better: Better::Less, samples: vec![value as f64] }
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
    fn new() -> Result<Self, SubjectError> {
        let key = || SecretKey::generate(&mut OsRandom).map_err(failed);
        Ok(Self { own: key()?, peer: key()? })
    }

    fn peer_public(&self) -> PublicKey {
        self.peer.public_key()
    }
}

fn random<const N: usize>() -> Result<[u8; N], SubjectError> {
    let mut bytes = [0; N];
    OsRandom.fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
