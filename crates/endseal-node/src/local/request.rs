//! Requests of the local API.

use endseal_crypto::ed25519::PublicKey;
use serde::{Deserialize, Serialize};

use crate::messages::Conversation;
use crate::messages::conversation_text;
use crate::wire_text;

/// A request as it is sent over the socket.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum LocalRequest {
    /// Returns the counts of waiting messages.
    Status,
    /// Stores texts to be sent. The texts are the secret of the message.
    Say {
        /// The person or group that receives them.
        #[serde(with = "conversation_text")]
        to: Conversation,
        /// True if each line is a text.
        lines: bool,
    },
    /// Sends and receives everything that waits.
    Sync {
        /// Number of failed connections after which the request fails.
        attempts: u32,
    },
    /// Returns unread messages.
    Unread {
        /// Only messages with higher numbers are returned.
        after: u64,
    },
    /// Moves messages that were shown to the history.
    MarkRead {
        /// Numbers of the messages in the inbox.
        numbers: Vec<u64>,
    },
    /// Returns rows of a conversation.
    History {
        /// The conversation to read.
        #[serde(with = "conversation_text")]
        with: Conversation,
        /// Only rows with higher numbers are returned.
        after: u64,
        /// Limit on the number of rows.
        limit: usize,
    },
    /// Returns the stored problems.
    Problems,
    /// Deletes the problems up to a number.
    ForgetProblems {
        /// Highest number to delete.
        last: u64,
    },
    /// Devices of a person.
    Devices {
        /// The person.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
    },
    /// Changes of the devices of all persons that are not marked as seen.
    DeviceChanges,
    /// Notes that changes of devices were shown.
    MarkChangesSeen {
        /// Number of the last of them.
        last: u64,
    },
    /// Texts that were not read, and those that arrive, in one reply after the other.
    Follow {
        /// Only messages with higher numbers are sent.
        after: u64,
    },
}
