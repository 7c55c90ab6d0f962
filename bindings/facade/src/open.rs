//! Opening in memory.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity;
use endseal_envelope::{MessageInfo, OpenError, Opener, Policy, Suite};

use crate::error::Error;
use crate::identity::{Identity, PublicIdentity};

/// Time in milliseconds by which a sender's clock may be ahead: five minutes.
const MAX_AHEAD: u64 = 300_000;

/// Which envelopes are opened, and by whom.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "has a secret")]
pub struct OpenOptions {
    /// The reader.
    pub identity: Identity,
    /// The context under which it was sealed.
    pub context: Vec<u8>,
    /// Senders from whom envelopes are opened; `None` for all.
    pub senders: Option<Vec<PublicIdentity>>,
    /// Limit of the age. With it, envelopes without a time and those that are dated more than five
    /// minutes ahead are refused, too.
    pub age: Option<AgeLimit>,
    /// Refuses envelopes that are not post-quantum.
    pub requires_post_quantum: bool,
}

/// Limit of the age of an envelope. WebAssembly has no clock, so that the caller reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeLimit {
    /// The present, in milliseconds since 1970-01-01T00:00:00Z.
    pub now: u64,
    /// Greatest age in milliseconds.
    pub max: u64,
}

impl OpenOptions {
    pub(crate) fn policy(&self) -> Policy<'static> {
        let mut policy = Policy::new();
        if let Some(senders) = &self.senders {
            policy = policy.senders(senders.iter().map(|it| *it.0.ed25519()));
        }
        if let Some(AgeLimit { now, max }) = self.age {
            policy = policy.age(now, max, MAX_AHEAD);
        }
        if self.requires_post_quantum {
            policy = policy.suites([Suite::X25519MlKem768]);
        }
        policy
    }
}

/// An envelope that was opened. What it says is authentic.
#[derive(Clone, PartialEq, Eq)]
#[allow(missing_debug_implementations, reason = "has plaintext")]
pub struct Opened {
    /// The content.
    pub content: Vec<u8>,
    /// Facts about the message.
    pub info: Info,
}

/// Authentic facts about an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Identity that sealed and signed it, in the short form.
    pub sender: PublicIdentity,
    /// Random name of the message, which the sender chose.
    pub message_id: [u8; 16],
    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z.
    pub time: Option<u64>,
    /// Name of the suite.
    pub suite: &'static str,
}

impl Info {
    pub(crate) fn of(info: &MessageInfo) -> Self {
        Self::new(info.suite, info.sender, info.message_id, info.time)
    }

    fn new(suite: Suite, sender: PublicKey, message_id: [u8; 16], time: u64) -> Self {
        let sender = PublicIdentity(identity::PublicIdentity::short(sender));
        Self { sender, message_id, time: (time > 0).then_some(time), suite: suite.name() }
    }
}

/// Opens an envelope.
///
/// # Errors
/// One with the code of the reason.
pub fn open(envelope: &[u8], options: &OpenOptions) -> Result<Opened, Error> {
    let opener = Opener::new(&options.identity.0, &options.context);
    opened(opener.open(envelope, &mut options.policy()))
}

/// Opens many envelopes for one reader, which costs a fraction of opening each. The results are in
/// the order of the envelopes.
#[must_use]
pub fn open_many(envelopes: &[&[u8]], options: &OpenOptions) -> Vec<Result<Opened, Error>> {
    let opener = Opener::new(&options.identity.0, &options.context);
    let results = opener.open_many(envelopes, &mut options.policy());
    results.into_iter().map(opened).collect()
}

fn opened(result: Result<endseal_envelope::Opened, OpenError>) -> Result<Opened, Error> {
    let endseal_envelope::Opened { suite, sender, message_id, time, content, .. } = result?;
    Ok(Opened { content, info: Info::new(suite, sender, message_id, time) })
}
