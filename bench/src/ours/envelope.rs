//! The envelope as a subject, in each of its forms.

use std::thread;

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::random::{OsRandom, Random};
use endseal_crypto::{mlkem768, x25519};
use endseal_envelope::{Envelope as Sealed, Opener, Policy, Recipients, Sealer, Suite};

use super::{described, failed, param};
use crate::record::{Params, SubjectInfo};
use crate::subject::{Checked, Prepared, Subject, SubjectError};
use crate::suite::envelope::{HYBRID, OPEN_VIEW};

mod work;

use work::Work;

/// Form of the envelope that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// The classical suite, with which the published rows were measured.
    Default,
    /// The compact suite: 20 bytes for each member.
    Compact,
    /// The hybrid suite, with ML-KEM-768.
    Hybrid,
    /// The classical suite without the vector kernel, as on a CPU that cannot run it.
    Portable,
}

/// Largest number of envelopes of which views are cut. Each is sealed to the whole group.
const MOST_VIEWS: usize = 4;
/// Largest number of recipients with ML-KEM keys. The keys of more take hundreds of megabytes.
const MOST_HYBRID: usize = 10_000;

/// Context that all envelopes of the suite are bound to.
const CONTEXT: &[u8] = b"endseal/bench@v1";

/// The envelope in one of its forms, as a subject.
#[derive(Clone, Debug)]
pub struct Envelope {
    form: Form,
    info: SubjectInfo,
}

impl Envelope {
    /// Creates the subject of a form.
    #[must_use]
    pub fn new(form: Form) -> Self {
        let (subject, about) = match form {
            Form::Default => ("endseal", "the envelope, suite x25519, signed"),
            Form::Compact => ("endseal-compact", "suite x25519-compact, signed"),
            Form::Hybrid => (HYBRID, "suite x25519-mlkem768, signed"),
            Form::Portable => ("endseal-portable", "suite x25519 without the vector kernel"),
        };
        let mut properties = vec![
            "confidential",
            "authenticated",
            "sender",
            "insider",
            "sender-hidden",
            "recipients-hidden",
            "committing",
        ];
        if form == Form::Hybrid {
            properties.push("post-quantum");
        }
        let settings = "docs/spec/envelope.md";
        let info = described("envelope", subject, about, settings, &properties);
        Self { form, info }
    }

    /// Creates one subject for each form.
    #[must_use]
    pub fn all() -> Vec<Self> {
        [Form::Default, Form::Compact, Form::Hybrid, Form::Portable].map(Self::new).into()
    }
}

/// Returns all forms as subjects of the suite.
pub(crate) fn subjects() -> Vec<Box<dyn Subject>> {
    Envelope::all().into_iter().map(|own| Box::new(own) as Box<dyn Subject>).collect()
}

impl Subject for Envelope {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let many = matches!(case, "seal_many" | "open_many");
        let count = if many { param(params, "count")? } else { 1 };
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let threads = cpus.min(count.max(1));
        if self.form == Form::Hybrid && param(params, "members")? > MOST_HYBRID {
            return Err(SubjectError::Unsupported(format!("members: at most {MOST_HYBRID}")));
        }
        let material = Material::new(self.form, params, inputs as usize, count)?;
        let envelopes = match (case, self.form) {
            ("seal" | "seal_many", _) => Vec::new(),
            ("open" | "open_many", Form::Default | Form::Compact | Form::Hybrid) => {
                material.seal_all()?
            }
            (OPEN_VIEW, Form::Default | Form::Hybrid) => material.views(MOST_VIEWS)?,
            ("open" | "open_many" | OPEN_VIEW, _) => {
                return Err(SubjectError::Unsupported("it opens like the default form".into()));
            }
            _ => return Err(SubjectError::Unsupported(format!("there is no case {case}"))),
        };
        Ok(Box::new(Work { material, envelopes, count, threads, next: 0 }))
    }
}

/// Keys and contents of a case.
struct Material {
    form: Form,
    sender: Identity,
    recipients: Recipients,
    /// The recipient in the middle of the list.
    reader: Identity,
    contents: Vec<Vec<u8>>,
}

fn identity(i: usize) -> Identity {
    let (mut ed, mut kem) = ([0x5e; 32], [0x5e; 64]);
    ed[..8].copy_from_slice(&(i as u64).to_le_bytes());
    kem[..8].copy_from_slice(&(i as u64).to_le_bytes());
    Identity::from_seeds(Seed::from_bytes(&ed), mlkem768::Seed::from_bytes(&kem))
}

impl Material {
    /// Creates `inputs` sets of `count` messages: set n consists of the messages from n on.
    fn new(form: Form, params: &Params, inputs: usize, count: usize) -> Result<Self, SubjectError> {
        let (members, bytes) = (param(params, "members")?, param(params, "bytes")?);
        if members == 0 || count == 0 {
            return Err(SubjectError::Unsupported("members and count are at least 1".into()));
        }
        let identities = (0..members).map(identity);
        let recipients = match form {
            Form::Hybrid => {
                let identities: Vec<_> = identities.collect();
                Recipients::from_identities(identities.iter().map(Identity::public))
            }
            // Each identity is dropped at once: 100,000 of them take hundreds of megabytes.
            _ => Recipients::from_ed25519(
                &identities.map(|i| *i.public().ed25519().as_bytes()).collect::<Vec<_>>(),
            ),
        }
        .map_err(failed)?;
        let mut contents = vec![vec![0; bytes]; inputs.max(1) + count - 1];
        contents.iter_mut().try_for_each(|c| OsRandom.fill(c)).map_err(failed)?;
        Ok(Self {
            form,
            sender: identity(usize::MAX),
            recipients,
            reader: identity(members / 2),
            contents,
        })
    }

    fn sealer(&self) -> Sealer<'_> {
        let sealer = Sealer::new(&self.sender, &self.recipients, CONTEXT);
        match self.form {
            Form::Default => sealer.suite(Suite::X25519),
            Form::Compact => sealer.suite(Suite::X25519Compact),
            Form::Hybrid => sealer.suite(Suite::X25519MlKem768),
            Form::Portable => sealer.suite(Suite::X25519).platform(x25519::Platform::Portable),
        }
    }

    fn seal_all(&self) -> Result<Vec<Vec<u8>>, SubjectError> {
        let seal = |content: &Vec<u8>| self.sealer().seal(content, &mut OsRandom);
        self.contents.iter().map(seal).collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns the part of each envelope that a delivery service sends to its reader, for at most
    /// the first `most` envelopes.
    fn views(&self, most: usize) -> Result<Vec<Vec<u8>>, SubjectError> {
        let sealer = self.sealer();
        // `Recipients` has an order of its own, so the reader's position must be looked up.
        let reader = self.reader.public().ed25519();
        let index = self.recipients.keys().position(|key| key == reader);
        let index = index.ok_or_else(|| failed("the reader is no recipient"))?;
        let view = |content: &Vec<u8>| {
            let length = sealer.sealed_len(content.len() as u64).map_err(failed)?;
            let mut envelope = vec![0; usize::try_from(length).map_err(failed)?];
            let positions =
                sealer.seal_into(content, &mut envelope, &mut OsRandom).map_err(failed)?;
            let position = positions.get(index).ok_or_else(|| failed("the reader has no slot"))?;
            let parsed = Sealed::parse(&envelope).map_err(failed)?;
            parsed.view(*position as usize).ok_or_else(|| failed("there is no view"))
        };
        self.contents.iter().take(most).map(view).collect()
    }

    fn opens(&self, reader: &Identity, envelope: &[u8], content: &[u8]) -> bool {
        Opener::new(reader, CONTEXT)
            .open(envelope, &mut Policy::new())
            .is_ok_and(|opened| opened.content == content)
    }

    fn check(&self) -> Result<Checked, SubjectError> {
        let content = &self.contents[0];
        let mut envelope = self.sealer().seal(content, &mut OsRandom).map_err(failed)?;
        let members = self.recipients.len();
        let round_trip = [0, members / 2, members - 1]
            .iter()
            .all(|&i| self.opens(&identity(i), &envelope, content));
        let sealed_bytes = Some(envelope.len() as u64);
        let mut refused = true;
        for back in [1, 20, envelope.len() - 70] {
            let at = envelope.len() - back;
            envelope[at] ^= 1;
            let opened = Opener::new(&self.reader, CONTEXT).open(&envelope, &mut Policy::new());
            refused &= opened.is_err();
            envelope[at] ^= 1;
        }
        Ok(Checked { round_trip, tamper_refused: Some(refused), sealed_bytes })
    }
}
