//! The parameters of the suite's cases.

use endseal_session::BatchOptions;

use crate::case::Case;
use crate::subject::Failure;

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

impl Shape {
    pub(super) fn new(case: &Case) -> Result<Self, Failure> {
        Ok(Self {
            messages: case.number("messages")?,
            conversations: case.number("conversations")?,
            per_commit: case.number("per_commit")?,
            engine: if case.number("engine")? == 1 { Engine::Pairwise } else { Engine::Mls },
            threads: case.number("threads")?,
            members: case.number("members")?,
        })
    }

    /// Returns the parameters as `name=value`, for another process.
    pub(super) fn arguments(&self) -> [String; 6] {
        let engine = if self.engine == Engine::Pairwise { 1 } else { 2 };
        let Self { messages, conversations, per_commit, threads, members, .. } = *self;
        [
            format!("messages={messages}"),
            format!("conversations={conversations}"),
            format!("per_commit={per_commit}"),
            format!("engine={engine}"),
            format!("threads={threads}"),
            format!("members={members}"),
        ]
    }

    /// Returns the options that divide the backlog into transactions.
    pub(super) fn options(&self) -> BatchOptions {
        BatchOptions::whole().max_messages(self.per_commit).threads(self.threads)
    }
}
