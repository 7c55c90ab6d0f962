//! The parameters of the suite's cases.

use endseal_session::BatchOptions;

use crate::record::Params;
use crate::subject::SubjectError;

/// Kind of sessions: between two devices, or of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Pairwise,
    Mls,
}

/// Size of the backlog, and the way in which it is decrypted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) messages: usize,
    pub(super) conversations: usize,
    pub(super) per_commit: usize,
    pub(super) engine: Engine,
    pub(super) threads: usize,
    pub(super) members: usize,
}

const NAMES: [&str; 6] =
    ["messages", "conversations", "per_commit", "engine", "threads", "members"];
/// Largest values, as the peers have them. An identity's number is a byte, and one of them is the
/// receiver's.
const MOST: [u64; 6] = [100_000, 250, 100_000, 2, 64, 1000];

impl Shape {
    /// Reads exactly the parameters of the case. Fails if one is missing, unknown or out of range.
    pub(super) fn new(params: &Params) -> Result<Self, SubjectError> {
        let unsupported = |why: &str| Err(SubjectError::Unsupported(why.into()));
        if params.keys().any(|name| !NAMES.contains(&name.as_str())) {
            return unsupported("this case has no such parameter");
        }
        let mut values = [0; 6];
        for ((name, most), value) in NAMES.iter().zip(MOST).zip(&mut values) {
            let given = params.get(*name).copied().unwrap_or_default();
            if !(1..=most).contains(&given) {
                return Err(SubjectError::Unsupported(format!("{name} must be from 1 to {most}")));
            }
            *value = usize::try_from(given).unwrap_or(usize::MAX);
        }
        let [messages, conversations, per_commit, engine, threads, members] = values;
        let engine = if engine == 1 { Engine::Pairwise } else { Engine::Mls };
        if members < 2 || (engine == Engine::Pairwise && members != 2) {
            return unsupported("members must be 2, or with MLS at least 2");
        }
        if per_commit > messages {
            return unsupported("per_commit must not be more than messages");
        }
        Ok(Self { messages, conversations, per_commit, engine, threads, members })
    }

    /// Returns the parameters as `name=value`, for another process.
    pub(super) fn arguments(&self) -> [String; 6] {
        let engine = if self.engine == Engine::Pairwise { 1 } else { 2 };
        let Self { messages, conversations, per_commit, threads, members, .. } = *self;
        let values = [messages, conversations, per_commit, engine, threads, members];
        core::array::from_fn(|i| format!("{}={}", NAMES[i], values[i]))
    }

    /// Returns true if all messages are decrypted in one transaction.
    pub(super) fn is_whole(&self) -> bool {
        self.per_commit == self.messages
    }

    /// Returns the options that divide the backlog into transactions.
    pub(super) fn options(&self) -> BatchOptions {
        BatchOptions::whole().max_messages(self.per_commit).threads(self.threads)
    }
}
