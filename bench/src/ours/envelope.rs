//! The envelope as a subject, in each of its forms.

use std::thread;

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_crypto::random::{OsRandom, Random};
use endseal_envelope::{Envelope as Sealed, Opener, Policy, Recipients, Sealer, Suite};

use super::described;
use crate::case::{Case, OURS};
use crate::subject::{Checked, Failure, Prepared, Subject, unsupported};

mod work;

use work::Work;

/// Form of the envelope that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The classical suite, with which the published rows were measured.
    Default,
    /// The compact suite: 20 bytes for each member.
    Compact,
    /// The hybrid suite, with ML-KEM-768.
    Hybrid,
}

/// Largest number of envelopes of which views are cut. Each is sealed to the whole group.
const MOST_VIEWS: usize = 4;
/// Largest number of recipients with ML-KEM keys. The keys of more take hundreds of megabytes.
const MOST_HYBRID: usize = 10_000;

/// Context that all envelopes of the suite are bound to.
const CONTEXT: &[u8] = b"endseal/bench@v1";

/// Returns all forms as subjects of the suite.
pub(crate) fn subjects() -> Vec<Subject> {
    let subject = |(form, name, about)| {
        let mut properties = vec![
            "confidential",
            "authenticated",
            "sender",
            "insider",
            "sender-hidden",
            "recipients-hidden",
            "committing",
        ];
        properties.extend((form == Form::Hybrid).then_some("post-quantum"));
        let info = described("envelope", name, about, "docs/spec/envelope.md", &properties);
        Subject::new(info, move |case, inputs| prepare(form, case, inputs))
    };
    [
        (Form::Default, OURS, "the envelope, suite x25519, signed"),
        (Form::Compact, "endseal-compact", "suite x25519-compact, signed"),
        (Form::Hybrid, "endseal-hybrid", "suite x25519-mlkem768, signed"),
    ]
    .map(subject)
    .into()
}

fn prepare(form: Form, case: &Case, inputs: u32) -> Result<Box<dyn Prepared>, Failure> {
    let count = if case.case.ends_with("_many") { case.number("count")? } else { 1 };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if form == Form::Hybrid && case.number("members")? > MOST_HYBRID {
        return Err(unsupported(format!("members: at most {MOST_HYBRID}")));
    }
    let material = Material::new(form, case, inputs as usize, count)?;
    let envelopes = match (case.case.as_str(), form) {
        ("seal" | "seal_many", _) => Vec::new(),
        ("open" | "open_many", _) => material.seal_all()?,
        ("open_view", Form::Default | Form::Hybrid) => material.views(MOST_VIEWS)?,
        (other, _) => return Err(unsupported(format!("it has no case {other} of its own"))),
    };
    Ok(Box::new(Work { material, envelopes, count, threads: cpus.min(count), next: 0 }))
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
    fn new(form: Form, case: &Case, inputs: usize, count: usize) -> Result<Self, Failure> {
        let (members, bytes) = (case.number("members")?, case.number("bytes")?);
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
        }?;
        let mut contents = vec![vec![0; bytes]; inputs.max(1) + count - 1];
        contents.iter_mut().try_for_each(|c| OsRandom.fill(c))?;
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
        }
    }

    fn seal_all(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let seal = |content: &Vec<u8>| self.sealer().seal(content, &mut OsRandom);
        Ok(self.contents.iter().map(seal).collect::<Result<_, _>>()?)
    }

    /// Returns the part of each envelope that a delivery service sends to its reader, for at most
    /// the first `most` envelopes.
    fn views(&self, most: usize) -> Result<Vec<Vec<u8>>, Failure> {
        let sealer = self.sealer();
        // `Recipients` has an order of its own, so the reader's position must be looked up.
        let reader = self.reader.public().ed25519();
        let index = self.recipients.keys().position(|key| key == reader);
        let index = index.ok_or("the reader is no recipient")?;
        let view = |content: &Vec<u8>| {
            let length = sealer.sealed_len(content.len() as u64)?;
            let mut envelope = vec![0; usize::try_from(length)?];
            let positions = sealer.seal_into(content, &mut envelope, &mut OsRandom)?;
            let position = positions.get(index).ok_or("the reader has no slot")?;
            let parsed = Sealed::parse(&envelope)?;
            parsed.view(*position as usize).ok_or_else(|| "there is no view".into())
        };
        self.contents.iter().take(most).map(view).collect()
    }

    fn opens(&self, reader: &Identity, envelope: &[u8], content: &[u8]) -> bool {
        Opener::new(reader, CONTEXT)
            .open(envelope, &mut Policy::new())
            .is_ok_and(|opened| opened.content == content)
    }

    fn check(&self) -> Result<Checked, Failure> {
        let content = &self.contents[0];
        let mut envelope = self.sealer().seal(content, &mut OsRandom)?;
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
