//! Opening in memory, one envelope or a backlog.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::{fmt, mem};

use endseal_crypto::identity::Identity;
use endseal_crypto::secret::{Zeroizing, declassify};
use endseal_crypto::segment::{ChunkKeys, RawKeys, SliceOpener};
use endseal_crypto::{ed25519, hash, x25519};

use crate::envelope::Envelope;
use crate::error::OpenError;
use crate::limits::MAX_CONTEXT_LEN;
use crate::message_info::MessageInfo;
use crate::policy::Policy;
use crate::prelude::{self, BLOCK_LEN, Claim, PRELUDE_LEN, Prelude, Transcript};
use crate::seal::PIECE_LEN;
use crate::slot::Unwrapper;
use crate::steps::{Step, unmarked};
use crate::suite::Suite;

/// An opened envelope: all of it is authentic. `Debug` prints the length of the content, not the
/// content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opened {
    /// Suite of the envelope. [`Policy::suites`] refuses others.
    pub suite: Suite,
    /// Key that sealed and signed it. The caller MUST decide whether it knows that key.
    pub sender: ed25519::PublicKey,
    /// Random name of this message, chosen by the sender.
    pub message_id: [u8; 16],
    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z; 0 if not stated.
    pub time: u64,
    /// The opened content, whole and authentic.
    pub content: Vec<u8>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("suite", &self.suite)
            .field("sender", &self.sender)
            .field("message_id", &self.message_id)
            .field("time", &self.time)
            .field("content", &format_args!("{} bytes", self.content.len()))
            .finish()
    }
}

/// Opens envelopes for one identity and context.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "refers to secrets")]
pub struct Opener<'a> {
    pub(crate) identity: &'a Identity,
    kem_digest: [u8; hash::LEN],
    pub(crate) context: &'a [u8],
}

impl<'a> Opener<'a> {
    /// For `identity`. `context` is the one that was given to [`Sealer::new`](crate::Sealer::new).
    #[must_use]
    pub fn new(identity: &'a Identity, context: &'a [u8]) -> Self {
        let kem_digest =
            identity.public().mlkem768().map_or([0; hash::LEN], |key| hash::digest(key.as_bytes()));
        Self { identity, kem_digest, context }
    }

    /// Opens one envelope that is whole in memory, and applies `policy` to it.
    ///
    /// # Errors
    /// [`OpenError`]; no content is released then.
    pub fn open(&self, envelope: &[u8], policy: &mut Policy<'_>) -> Result<Opened, OpenError> {
        self.open_marked(envelope, policy, &mut unmarked)
    }

    /// [`open`](Self::open), which calls `mark` at the end of each step.
    ///
    /// # Errors
    /// [`OpenError`].
    #[doc(hidden)]
    pub fn open_marked(
        &self,
        envelope: &[u8],
        policy: &mut Policy<'_>,
        mark: &mut impl FnMut(Step),
    ) -> Result<Opened, OpenError> {
        self.check_context()?;
        let envelope = Envelope::parse_accepted(envelope, policy)?;
        mark(Step::Lookup);
        let shared = self
            .identity
            .agreement()
            .agree(&envelope.header.ephemeral)
            .map_err(|_| OpenError::Authentication)?;
        mark(Step::Agreement);
        let body = self.decrypt(&envelope, shared.expose_secret(), mark)?;
        let sender = body.check()?;
        mark(Step::Signature);
        body.finish(sender, policy)
    }

    /// Opens many envelopes. The agreements go through the batch kernel, and the signatures are
    /// verified in one sum. Each envelope has its own result, the same as if [`open`](Self::open)
    /// were called for one after the other: of two copies of one envelope the second is
    /// [`OpenError::Replayed`], if the policy has a replay cache.
    pub fn open_many(
        &self,
        envelopes: &[&[u8]],
        policy: &mut Policy<'_>,
    ) -> Vec<Result<Opened, OpenError>> {
        if let Err(error) = self.check_context() {
            return envelopes.iter().map(|_| Err(error)).collect();
        }
        let parsed: Vec<_> =
            envelopes.iter().map(|bytes| Envelope::parse_accepted(bytes, policy)).collect();
        let ephemerals: Vec<_> =
            parsed.iter().flatten().map(|envelope| envelope.header.ephemeral).collect();
        let shared = self.identity.agreement().agree_many(&ephemerals);
        let mut shared = shared.expose_secrets();
        let bodies: Vec<Result<Body, OpenError>> = parsed
            .into_iter()
            .map(|envelope| {
                let envelope = envelope?;
                let shared = shared.next().and_then(Result::ok).ok_or(OpenError::Authentication)?;
                self.decrypt(&envelope, shared, &mut unmarked)
            })
            .collect();
        let verdicts = verify_bodies(&bodies);
        bodies
            .into_iter()
            .zip(verdicts)
            .map(|(body, verdict)| verdict.and_then(|sender| body?.finish(sender, policy)))
            .collect()
    }

    pub(crate) fn check_context(&self) -> Result<(), OpenError> {
        if self.context.len() > MAX_CONTEXT_LEN { Err(OpenError::ContextTooLong) } else { Ok(()) }
    }

    /// Unwraps slots of this header, given the outcome of the agreement.
    pub(crate) fn unwrapper<'b>(
        &'b self,
        header: &'b crate::header::Header,
        shared: &'b [u8; 32],
    ) -> Unwrapper<'b> {
        let kem = (self.identity.kem(), &self.kem_digest);
        let u: &x25519::PublicKey = self.identity.agreement().public_key();
        Unwrapper::new(header, header.digest(self.context), u, shared, kem)
    }

    /// Finds the slot and decrypts; signatures are left to be checked.
    fn decrypt(
        &self,
        envelope: &Envelope<'_>,
        shared: &[u8; 32],
        mark: &mut impl FnMut(Step),
    ) -> Result<Body, OpenError> {
        let unwrapper = self.unwrapper(&envelope.header, shared);
        mark(Step::Wrap);
        let keys = find_keys(envelope, &unwrapper, mark)?;
        Body::decrypt(envelope, unwrapper.header_digest(), keys, mark)
    }
}

fn find_keys(
    envelope: &Envelope<'_>,
    unwrapper: &Unwrapper<'_>,
    mark: &mut impl FnMut(Step),
) -> Result<ChunkKeys, OpenError> {
    // The tag is in the envelope; the time of the search says about where.
    let tag = declassify(unwrapper.tag());
    let first = envelope.tags.partition_point(|other| *other < tag);
    let tags = envelope.tags[first..].iter().take_while(|other| **other == tag);
    let own = (first..).zip(tags).map(|(index, _)| envelope.body(index));
    mark(Step::Lookup);
    let keys = unwrapper.find(own, envelope.tries).ok_or(OpenError::Authentication);
    let keys = keys.map(RawKeys::open_keys);
    mark(Step::Wrap);
    keys
}

/// A decrypted envelope whose signatures have not been checked.
struct Body {
    suite: Suite,
    prelude: Prelude,
    content: Zeroizing<Vec<u8>>,
    claims: Vec<Claim>,
}

impl Body {
    fn decrypt(
        envelope: &Envelope<'_>,
        header_digest: &[u8; hash::LEN],
        keys: ChunkKeys,
        mark: &mut impl FnMut(Step),
    ) -> Result<Self, OpenError> {
        let mut opener = SliceOpener::new(keys, envelope.chunks)?;
        let content_len = prelude::content_len(opener.remaining() as u64)
            .and_then(|len| usize::try_from(len).ok())
            .ok_or(OpenError::Authentication)?;
        let mut encoded = [0; PRELUDE_LEN];
        opener.pull(&mut encoded)?;
        let prelude = Prelude::parse(&encoded);
        let transcript = Transcript::new(header_digest, &envelope.header.commitment, &encoded);
        let mut content = Zeroizing::new(vec![0; content_len]);
        let full = content_len / BLOCK_LEN;
        let mut claims = Vec::with_capacity(full + 1);
        let mut rest = &mut content[..];
        for index in 0..=full {
            let (block, tail) = rest.split_at_mut(rest.len().min(BLOCK_LEN));
            rest = tail;
            let mut digest = hash::Digest::new();
            for piece in block.chunks_mut(PIECE_LEN) {
                opener.pull(piece)?;
                mark(Step::Content);
                digest.update(piece);
                mark(Step::Signature);
            }
            let mut signature = [0; ed25519::Signature::LEN];
            opener.pull(&mut signature)?;
            let message = transcript.block(index as u64, index == full, &digest.finish());
            let signature = ed25519::Signature::from_bytes(&signature);
            claims.push(Claim { message, signature });
        }
        Ok(Self { suite: envelope.header.suite, prelude, content, claims })
    }

    /// Checks all signatures; gives the sender.
    fn check(&self) -> Result<ed25519::PublicKey, OpenError> {
        let (first, rest) = self.claims.split_first().ok_or(OpenError::Authentication)?;
        let sender = first.check_first(&self.prelude.sender)?;
        rest.iter().try_for_each(|claim| claim.check(&sender))?;
        Ok(sender)
    }

    /// Gives the content if the policy accepts it from `sender`, whose signatures were checked.
    fn finish(
        mut self,
        sender: ed25519::PublicKey,
        policy: &mut Policy<'_>,
    ) -> Result<Opened, OpenError> {
        let info = MessageInfo::new(self.suite, sender, &self.prelude);
        policy.judge(&info)?;
        policy.remember(&info)?;
        let MessageInfo { suite, message_id, time, .. } = info;
        let content = mem::take(&mut *self.content);
        Ok(Opened { suite, sender, message_id, time, content })
    }
}

/// The sender of each body, if its signatures are right; those that failed before have their
/// verdict already.
fn verify_bodies(bodies: &[Result<Body, OpenError>]) -> Vec<Result<ed25519::PublicKey, OpenError>> {
    // Each sender is decoded once, however many envelopes it sent.
    let mut senders = BTreeMap::new();
    for body in bodies.iter().flatten() {
        let bytes = &body.prelude.sender;
        senders.entry(bytes).or_insert_with(|| ed25519::VerifyingKey::from_bytes(bytes).ok());
    }
    let sender_of = |body: &Body| senders.get(&body.prelude.sender).and_then(Option::as_ref);
    let signed: Vec<_> = bodies
        .iter()
        .flatten()
        .filter_map(|body| sender_of(body).map(|key| (body, key)))
        .flat_map(|(body, key)| {
            body.claims.iter().map(move |claim| ed25519::Signed {
                key,
                message: &claim.message,
                signature: &claim.signature,
            })
        })
        .collect();
    let mut verdicts = ed25519::verify_each(&signed).into_iter();
    bodies
        .iter()
        .map(|body| {
            let body = body.as_ref().map_err(|error| *error)?;
            let sender = sender_of(body).ok_or(OpenError::Authentication)?;
            // All claims of the body are taken, also behind a wrong one.
            let right = verdicts.by_ref().take(body.claims.len()).filter(|right| *right).count();
            let all_right = right == body.claims.len();
            if all_right { Ok(*sender.public_key()) } else { Err(OpenError::Authentication) }
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use endseal_crypto::ed25519::Seed;
    use endseal_crypto::mlkem768;

    use super::*;
    use crate::hazmat::{Derandomized, seal};
    use crate::recipients::Recipients;
    use crate::seal::Sealer;
    use crate::slot::Work;

    pub(crate) const CONTEXT: &[u8] = b"endseal/tests@v1";

    pub(crate) fn identity(i: u8) -> Identity {
        Identity::from_seeds(Seed::from_bytes(&[i; 32]), mlkem768::Seed::from_bytes(&[i; 64]))
    }

    /// An envelope to one recipient.
    pub(crate) fn sealed(suite: Suite, reader: &Identity) -> Vec<u8> {
        let values = Derandomized {
            ephemeral: &[1; 32],
            material: &[2; 32],
            salt: &[3; 24],
            message_id: &[4; 16],
            stream: &[5; 32],
        };
        let list = Recipients::from_identities([reader.public()]).expect("a key");
        let sender = identity(1);
        let sealer = Sealer::new(&sender, &list, CONTEXT).suite(suite);
        seal(&sealer, b"content", &values).expect("it can be sealed")
    }

    /// An envelope to one recipient in which each bit of the last byte of its slot is changed.
    pub(crate) fn with_changed_body(suite: Suite, reader: &Identity) -> Vec<u8> {
        let mut envelope = sealed(suite, reader);
        envelope[100 + suite.slot_len() - 1] ^= 0xff;
        envelope
    }

    fn work(reader: &Identity, envelope: &[u8]) -> Work {
        let opener = Opener::new(reader, CONTEXT);
        let envelope = Envelope::parse(envelope).expect("an envelope");
        let shared = reader.agreement().agree(&envelope.header.ephemeral).expect("a secret");
        let unwrapper = opener.unwrapper(&envelope.header, shared.expose_secret());
        drop(find_keys(&envelope, &unwrapper, &mut unmarked));
        unwrapper.work.get()
    }

    /// Expected work of trying `tries` slots in this suite.
    pub(crate) fn expected(suite: Suite, tries: u32) -> Work {
        let hybrid = if suite == Suite::X25519MlKem768 { tries } else { 0 };
        Work { decapsulations: hybrid, hybrid_pads: hybrid, commitments: tries }
    }

    /// The envelope, with `total` slots that carry the tag of its only one, which is at `own`.
    pub(crate) fn with_added_slots(envelope: &[u8], suite: Suite, total: u32, own: u32) -> Vec<u8> {
        let slot_end = 100 + suite.slot_len();
        let (tag, body) = (&envelope[100..104], &envelope[104..slot_end]);
        let mut out = [&envelope[..96], &total.to_le_bytes()].concat();
        (0..total).for_each(|_| out.extend(tag));
        let random = vec![7; body.len()];
        (0..total).for_each(|i| out.extend(if i == own { body } else { &random }));
        out.extend(&envelope[slot_end..]);
        out
    }

    pub(crate) const SUITES: [Suite; 3] =
        [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768];

    #[test]
    fn a_reader_without_a_slot_works_as_one_whose_slot_was_changed() {
        for suite in SUITES {
            let envelope = with_changed_body(suite, &identity(2));
            for reader in [identity(2), identity(3)] {
                assert_eq!(work(&reader, &envelope), expected(suite, 1), "{suite:?}");
            }
        }
    }

    #[test]
    fn slots_added_by_a_relay_cost_every_reader_the_same() {
        for suite in SUITES {
            let envelope = sealed(suite, &identity(2));
            for (total, own) in [(1, 0), (2, 0), (2, 1), (16, 0), (16, 15), (17, 16), (40, 3)] {
                let added = with_added_slots(&envelope, suite, total, own);
                for reader in [identity(2), identity(3)] {
                    let tries = expected(suite, total.min(16));
                    assert_eq!(work(&reader, &added), tries, "{suite:?} {own} of {total}");
                }
            }
        }
    }
}
