//! A prepared case of the suite `nostr`, with its keys and inputs.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use rand::Rng;
use rustix::time::{ClockId, clock_gettime};

use crate::peer::{Ready, Wanted};
use crate::protocol::{Answer, Refusal};
use crate::subject::SUBJECTS;

/// Longest text of all cases but `flow`, in bytes.
const LONGEST: usize = 1 << 20;
/// Longest content of `flow`: encoded as JSON twice, it must stay below 65,536 bytes, so that all
/// peers take it.
const LONGEST_CONTENT: usize = 60_000;
/// Length of the content that `sign` and `verify` have without the parameter.
const USUAL_CONTENT: usize = 100;
/// Total length of all texts of a case, in bytes.
const MEMORY_LIMIT: usize = 1 << 28;

/// Kind of work of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    AesEncrypt,
    AesDecrypt,
    Nip04Encrypt,
    Nip04Decrypt,
    Nip44Encrypt { cached: bool },
    Nip44Decrypt { cached: bool },
    ConversationKey,
    Sign,
    Verify,
    Flow,
}

/// A requested case with its texts: different random ASCII texts of the same length.
pub(crate) struct Asked {
    pub(crate) work: Work,
    pub(crate) texts: Vec<String>,
}

impl Asked {
    /// Returns the refusal of a case that the subject does not support.
    pub(crate) fn unsupported(&self) -> Refusal {
        Refusal::unsupported(format!("this subject does not do {:?}", self.work))
    }
}

/// Results of a check.
pub(crate) struct Checked {
    pub(crate) round_trip: bool,
    /// True if a change is refused; `None` if the case has nothing that could be changed, or does
    /// not claim to detect changes.
    pub(crate) tamper_refused: Option<bool>,
    /// Length of the result as it is sent, in bytes.
    pub(crate) sealed_bytes: Option<usize>,
}

/// The work of a case with input number `n`, and the check of its result.
pub(crate) struct Job {
    step: Box<dyn Fn(usize) -> Result<(), String>>,
    check: Box<dyn Fn() -> Result<Checked, String>>,
}

impl Job {
    /// Creates a job that runs `work` with each input, and checks the first input and its result by
    /// `check`.
    pub(crate) fn new<I: 'static, O: 'static>(
        inputs: Vec<I>,
        work: impl Fn(&I) -> Result<O, String> + 'static,
        check: impl Fn(&I, O) -> Result<Checked, String> + 'static,
    ) -> Self {
        let shared = Rc::new((inputs, work));
        let own = Rc::clone(&shared);
        let step = move |n: usize| {
            let (inputs, work) = &*own;
            let input = inputs.get(n).ok_or("no such input")?;
            // Freed here, within the timed part.
            drop(black_box(work(black_box(input))?));
            Ok(())
        };
        let check = move || {
            let (inputs, work) = &*shared;
            let input = inputs.first().ok_or("no input")?;
            check(input, work(input)?)
        };
        Self { step: Box::new(step), check: Box::new(check) }
    }
}

/// Prepares a case of one of the subjects.
pub(crate) fn prepare(wanted: &Wanted<'_>) -> Result<Box<dyn Ready>, Refusal> {
    let subject = SUBJECTS.iter().find(|it| it.name == wanted.subject);
    let subject = subject.ok_or_else(|| wanted.no_one())?;
    let (work, bytes) = parse(wanted)?;
    let inputs = usize::try_from(wanted.inputs.value()).unwrap_or(usize::MAX);
    if inputs == 0 || inputs.saturating_mul(bytes.max(1024)) > MEMORY_LIMIT {
        return Err(Refusal::unsupported("inputs: at least 1, and 256 MiB of text at most"));
    }
    let texts = (0..inputs).map(|_| text(bytes)).collect();
    let job = (subject.prepare)(Asked { work, texts })?;
    Ok(Box::new(Case { job, inputs, next: 0 }))
}

fn parse(wanted: &Wanted<'_>) -> Result<(Work, usize), Refusal> {
    let params = wanted.params;
    let bytes = |least, most| {
        let [bytes] = params.take(["bytes"])?;
        within("bytes", bytes, least, most)
    };
    let with_cached = || {
        let [bytes, cached] = params.take(["bytes", "cached"])?;
        Ok((within("bytes", bytes, 1, LONGEST)?, within("cached", cached, 0, 1)? == 1))
    };
    let content = || if params.has("bytes") { bytes(0, LONGEST) } else { Ok(USUAL_CONTENT) };
    Ok(match wanted.case {
        "aes_encrypt" => (Work::AesEncrypt, bytes(1, LONGEST)?),
        "aes_decrypt" => (Work::AesDecrypt, bytes(1, LONGEST)?),
        "nip04_encrypt" => (Work::Nip04Encrypt, bytes(1, LONGEST)?),
        "nip04_decrypt" => (Work::Nip04Decrypt, bytes(1, LONGEST)?),
        "nip44_encrypt" => {
            let (bytes, cached) = with_cached()?;
            (Work::Nip44Encrypt { cached }, bytes)
        }
        "nip44_decrypt" => {
            let (bytes, cached) = with_cached()?;
            (Work::Nip44Decrypt { cached }, bytes)
        }
        "conversation_key" => {
            let [] = params.take([])?;
            (Work::ConversationKey, 0)
        }
        "sign" => (Work::Sign, content()?),
        "verify" => (Work::Verify, content()?),
        "flow" => (Work::Flow, bytes(0, LONGEST_CONTENT)?),
        other => return Err(Refusal::unsupported(format!("no case {other}"))),
    })
}

fn within(name: &str, value: usize, least: usize, most: usize) -> Result<usize, Refusal> {
    let why = || Refusal::unsupported(format!("{name}: from {least} to {most}, not {value}"));
    (least..=most).contains(&value).then_some(value).ok_or_else(why)
}

/// Returns random text of letters, digits, blanks and full stops.
fn text(bytes: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";
    let mut random = vec![0; bytes];
    rand::rng().fill_bytes(&mut random);
    random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect()
}

struct Case {
    job: Job,
    inputs: usize,
    /// Number of the next input.
    next: usize,
}

impl Ready for Case {
    fn check(&mut self) -> Result<Answer, Refusal> {
        let Checked { round_trip, tamper_refused, sealed_bytes } =
            (self.job.check)().map_err(Refusal::failed)?;
        let sealed_bytes = sealed_bytes.map(|bytes| bytes as u64);
        let figures = BTreeMap::new();
        Ok(Answer::CheckedOnTheWire { round_trip, tamper_refused, sealed_bytes, figures })
    }

    fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
        if iterations == 0 {
            return Err(Refusal::protocol("iterations: at least 1"));
        }
        let cpu = process_cpu_ns();
        let wall = Instant::now();
        for _ in 0..iterations {
            (self.job.step)(self.next).map_err(Refusal::failed)?;
            self.next = (self.next + 1) % self.inputs;
        }
        let wall = wall.elapsed().as_nanos();
        let cpu_ns = process_cpu_ns() - cpu;
        let wall_ns = u64::try_from(wall).map_err(|_| Refusal::failed("the clock"))?;
        Ok(Answer::Ran { iterations, wall_ns, cpu_ns })
    }
}

fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Returns the payload or event with another character in its middle, which changes one bit of the
/// decoded Base64.
pub(crate) fn changed(sealed: &str) -> String {
    let middle = sealed.len() / 2;
    let other = |c| if c == 'A' { 'B' } else { 'A' };
    sealed.char_indices().map(|(at, c)| if at == middle { other(c) } else { c }).collect()
}

/// Values of the official test vectors that every check uses.
pub(crate) mod vector {
    /// From NIP-44: the secret keys 1 and 2, their conversation key, and "a" under the nonce 1.
    pub(crate) const SECRETS: [&str; 2] = [
        "0000000000000000000000000000000000000000000000000000000000000001",
        "0000000000000000000000000000000000000000000000000000000000000002",
    ];
    pub(crate) const CONVERSATION_KEY: &str =
        "c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d";
    pub(crate) const NONCE: [u8; 32] = {
        let mut nonce = [0; 32];
        nonce[31] = 1;
        nonce
    };
    pub(crate) const TEXT: &str = "a";
    pub(crate) const PAYLOAD: &str = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlC\
         WZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb";

    /// From NIST SP 800-38A, F.2.5: CBC-AES256, the first block.
    pub(crate) const AES_KEY: [u8; 32] = [
        0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77,
        0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14,
        0xdf, 0xf4,
    ];
    pub(crate) const AES_IV: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    pub(crate) const AES_TEXT: [u8; 16] = [
        0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17,
        0x2a,
    ];
    pub(crate) const AES_SEALED: [u8; 16] = [
        0xf5, 0x8c, 0x4c, 0x04, 0xd6, 0xe5, 0xf1, 0xba, 0x77, 0x9e, 0xab, 0xfb, 0x5f, 0x7b, 0xfb,
        0xd6,
    ];

    /// From the tests of nostr-tools: a NIP-04 message that go-nostr wrote, with keys, payload and
    /// text.
    pub(crate) const LEGACY_SECRETS: [&str; 2] = [
        "91ba716fa9e7ea2fcbad360cf4f8e0d312f73984da63d90f524ad61a6a1e7dbe",
        "96f6fa197aa07477ab88f6981118466ae3a982faab8ad5db9d5426870c73d220",
    ];
    pub(crate) const LEGACY_PAYLOAD: &str = "zJxfaJ32rN5Dg1ODjOlEew==?iv=EV5bUjcc4OX2Km/zPp4ndQ==";
    pub(crate) const LEGACY_TEXT: &str = "nanana";
}
