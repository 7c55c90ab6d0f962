//! Requests.

use serde::{Deserialize, Serialize};

use crate::messages::Conversation;
use crate::messages::conversation_text;

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum LocalRequest {
    /// Numbers of what waits.
    Status,
    /// Keeps texts, which are the secret of the message.
    Say {
        /// The person or group to whom they are written.
        #[serde(with = "conversation_text")]
        to: Conversation,
        /// Each line is a text.
        lines: bool,
    },
    /// Sends and receives all that waits.
    Sync {
        /// Failed attempts after which the failure is the reply.
        attempts: u32,
    },
    /// Texts that were not read.
    Unread {
        /// Number behind which they are.
        after: u64,
    },
    /// Moves texts that were shown to the history.
    MarkRead {
        /// Their numbers.
        numbers: Vec<u64>,
    },
    /// Rows of a conversation.
    History {
        /// The conversation.
        #[serde(with = "conversation_text")]
        with: Conversation,
        /// Number behind which they are.
        after: u64,
        /// Rows at most.
        limit: usize,
    },
    /// Problems that are kept.
    Problems,
    /// Forgets the problems up to a number.
    ForgetProblems {
        /// The number.
        last: u64,
    },
    /// Texts that were not read, and those that arrive, in one reply after the other.
    Follow {
        /// Number behind which they are.
        after: u64,
    },
}
