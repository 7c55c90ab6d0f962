//! Requests, and the lines that carry them.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_service::control::{ControlLineError, to_line};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Error, ErrorKind, SecretText};
use crate::messages::{Conversation, DeviceName, conversation_text};
use crate::wire_text;

/// Names of all requests on the socket.
const METHODS: [&str; 32] = [
    "version",
    "status",
    "say",
    "answer",
    "sync",
    "unread",
    "mark_read",
    "history",
    "unsent",
    "unsend",
    "unsend_all",
    "delete_texts",
    "delete_texts_before",
    "requests",
    "accept",
    "block",
    "unblock",
    "mute",
    "verify",
    "persons",
    "teams",
    "members",
    "leave",
    "departures",
    "problems",
    "forget_problems",
    "devices",
    "name_device",
    "device_changes",
    "mark_changes_seen",
    "follow",
    "backup",
];
/// Limit on the length of an id that is a text, in bytes.
const MAX_ID_LEN: usize = 1_024;
/// Version of JSON-RPC.
const JSONRPC: &str = "2.0";

/// An operation and its parameters.
#[derive(Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_debug_implementations, reason = "it holds texts")]
#[non_exhaustive]
pub enum Request {
    /// Returns the version of the interface and of the program.
    Version {},
    /// Returns the registration at a hub and the counts of waiting messages.
    Status {},
    /// Stores texts to be sent: all of them, or none.
    Say {
        /// The person or group that receives them.
        #[serde(with = "conversation_text")]
        to: Conversation,
        /// The texts, each of at most 800,000 bytes.
        texts: Vec<SecretText>,
    },
    /// Stores texts to the conversation of a text in the inbox, and moves that text to the history:
    /// both, or neither. Nothing is done if the inbox does not have the text.
    Answer {
        /// Number of the text in the inbox.
        number: u64,
        /// The texts, each of at most 800,000 bytes.
        texts: Vec<SecretText>,
    },
    /// Sends and receives everything that waits. Only `endseal up` executes it.
    Sync {
        /// Number of failed attempts after which the request fails.
        attempts: u32,
    },
    /// Returns unread texts.
    Unread {
        /// Only texts with higher numbers are returned.
        after: u64,
    },
    /// Moves texts that were shown from the inbox to the history. Texts that are no longer in the
    /// inbox are skipped.
    MarkRead {
        /// Numbers of the texts in the inbox.
        numbers: Vec<u64>,
    },
    /// Returns texts of a conversation that were written here or read, in ascending order.
    History {
        /// The person or group.
        #[serde(with = "conversation_text")]
        with: Conversation,
        /// Only texts with higher numbers are returned.
        after: u64,
        /// Limit on the number of texts. A page may have fewer texts, but has at least one if any
        /// exists. Not 0.
        limit: u64,
    },
    /// Returns texts that wait unencrypted, in ascending order.
    Unsent {
        /// Only texts with higher numbers are returned.
        after: u64,
    },
    /// Cancels texts that have not left this device: all of them, or none.
    Unsend {
        /// The person or group to which they were written.
        #[serde(with = "conversation_text")]
        to: Conversation,
        /// Numbers of the texts in the history.
        numbers: Vec<u64>,
    },
    /// Cancels all texts to a person or group that have not left this device.
    UnsendAll {
        /// The person or group.
        #[serde(with = "conversation_text")]
        to: Conversation,
    },
    /// Deletes texts from the history: all of them, or none. Those that are unsent are not sent.
    DeleteTexts {
        /// The person or group.
        #[serde(with = "conversation_text")]
        with: Conversation,
        /// Numbers of the texts in the history.
        numbers: Vec<u64>,
    },
    /// Deletes texts that were written or read on this device before a time. Unsent ones stay.
    DeleteTextsBefore {
        /// The person or group.
        #[serde(with = "conversation_text")]
        with: Conversation,
        /// Milliseconds since 1970.
        time: u64,
    },
    /// Returns texts of unknown senders that wait to be accepted, in ascending order.
    Requests {
        /// Only texts with higher numbers are returned.
        after: u64,
    },
    /// Accepts a person: texts of the person's request, and later ones, go to the inbox.
    Accept {
        /// The identity of the person.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
    },
    /// Blocks a person: texts are dropped when they arrive. A request of the person is deleted.
    Block {
        /// The identity of the person.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
    },
    /// Unblocks a person.
    Unblock {
        /// The identity of the person.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
    },
    /// Mutes or unmutes a person: `follow` leaves out texts of muted persons.
    Mute {
        /// The identity of the person.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
        /// True to mute, false to unmute.
        is_muted: bool,
    },
    /// Records that the safety number of a person was compared, or removes that record.
    Verify {
        /// The identity of the person.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
        /// True to record the comparison, false to remove the record.
        is_verified: bool,
    },
    /// Returns persons who are blocked, muted or verified, or whose requests wait.
    Persons {},
    /// Returns the teams of which a roster is known.
    Teams {},
    /// Returns the members of a team, in the order of its roster.
    Members {
        /// The team.
        #[serde(with = "conversation_text")]
        team: Conversation,
        /// Only members with higher numbers are returned.
        after: u64,
    },
    /// Leaves a team. Its unsent texts are cancelled.
    Leave {
        /// The team.
        #[serde(with = "conversation_text")]
        team: Conversation,
    },
    /// Returns the members who have left teams whose rosters still have them, and the teams that
    /// this person has left.
    Departures {},
    /// Returns the stored problems.
    Problems {},
    /// Deletes the problems up to a number.
    ForgetProblems {
        /// Highest number to delete.
        last: u64,
    },
    /// Returns the devices of a person.
    Devices {
        /// The identity of the person.
        #[serde(with = "wire_text::identity")]
        person: PublicKey,
    },
    /// Names a device of this person, on this device alone.
    NameDevice {
        /// Number of the device.
        device: u32,
        /// Name of the device.
        name: DeviceName,
    },
    /// Returns the changes of devices that are not marked as seen.
    DeviceChanges {},
    /// Marks changes of devices as seen.
    MarkChangesSeen {
        /// Highest number to mark.
        last: u64,
    },
    /// Returns unread texts now, and later those that arrive. Only `endseal up` executes it.
    Follow {
        /// Only texts with higher numbers are returned.
        after: u64,
    },
    /// Writes a backup into the state directory. Only `endseal up` executes it: without it,
    /// programs write one themselves.
    Backup {},
}

/// Id of a request, which its reply repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::exhaustive_enums, reason = "these are the ids of the specification")]
pub enum Id {
    /// A number without fraction.
    Number(u64),
    /// A text.
    Text(String),
}

/// A line with a request.
#[derive(Serialize)]
struct Line<'a> {
    jsonrpc: &'a str,
    id: &'a Id,
    #[serde(flatten)]
    request: &'a Request,
}

/// A line with a request whose parameters were not read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLine<'a> {
    jsonrpc: String,
    id: Id,
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl Request {
    /// Reads a line, with or without its end.
    ///
    /// # Errors
    /// Returns the error that the caller gets, and the id of the request if it could be read.
    pub fn read(line: &[u8]) -> Result<(Id, Self), (Option<Id>, Error)> {
        let parsed = serde_json::from_slice::<&RawValue>(line);
        // Messages of the parser repeat what was sent: texts, and characters of a terminal.
        let parse = |error: serde_json::Error| {
            let message = format!("the line is not JSON from column {} on", error.column());
            (None, Error::new(ErrorKind::Parse, &message))
        };
        let json = parsed.map_err(parse)?.get();
        let invalid = ErrorKind::InvalidRequest;
        if !json.starts_with('{') {
            return Err((None, Error::new(invalid, &"a request is an object")));
        }
        let line = serde_json::from_str::<RawLine<'_>>(json);
        let members = "a request has jsonrpc, id, method and perhaps params";
        let RawLine { jsonrpc, id, method, params } =
            line.map_err(|_| (None, Error::new(invalid.clone(), members)))?;
        if matches!(&id, Id::Text(text) if text.len() > MAX_ID_LEN) {
            return Err((None, Error::new(invalid, "the id is too long")));
        }
        if jsonrpc != JSONRPC {
            return Err((None, Error::new(invalid, &"jsonrpc is not 2.0")));
        }
        if !METHODS.contains(&&*method) {
            return Err((Some(id), Error::new(ErrorKind::UnknownMethod, &"unknown method")));
        }
        let params = params.map_or("{}", RawValue::get);
        if !params.starts_with('{') {
            let error = Error::new(ErrorKind::InvalidParams, &"params is not an object");
            return Err((Some(id), error));
        }
        // With the name first the parameters are read without another copy of their texts.
        let mut json = Zeroizing::new(String::with_capacity(64 + params.len()));
        for part in ["{\"method\":\"", &method, "\",\"params\":", params, "}"] {
            json.push_str(part);
        }
        match serde_json::from_str(&json) {
            // No page would have a row, and none would be the last.
            Ok(Self::History { limit: 0, .. }) | Err(_) => {
                let message = format!("these are not the parameters of {method}");
                Err((Some(id), Error::new(ErrorKind::InvalidParams, &message)))
            }
            Ok(request) => Ok((id, request)),
        }
    }

    /// Encodes the line of this request, with its end.
    ///
    /// # Errors
    /// Returns [`ControlLineError::Length`] if it is longer than [`MAX_LINE`](super::MAX_LINE).
    pub fn to_line(&self, id: &Id) -> Result<Zeroizing<Vec<u8>>, ControlLineError> {
        to_line(&Line { jsonrpc: JSONRPC, id, request: self })
    }
}
