//! Replies, and the lines that carry them.

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_service::control::to_line;
use serde::{Deserialize, Serialize};

use super::{Error, Id, MemberRow, Request, SecretText, TeamRow};
use crate::messages::{
    Confirmed, Conversation, Departure, DeviceChange, Devices, PersonRules, Problem, Status,
    SyncReport, TextDelivery, conversation_text,
};
use crate::wire_text;

/// Result of a request.
#[derive(Serialize)]
#[serde(untagged)]
#[allow(missing_debug_implementations, reason = "it holds texts")]
#[non_exhaustive]
pub enum Reply {
    /// The request succeeded and has no result.
    Done {},
    /// Result of `version`.
    Version(Version),
    /// Result of `status`.
    Status(NodeStatus),
    /// Result of `say` and `answer`.
    Said(Said),
    /// Result of `unsend`, `unsend_all`, `delete_texts`, `delete_texts_before`, `block`, `unblock`
    /// and `leave`.
    Forgotten(Forgotten),
    /// Result of `unsent`.
    Unsent(Page<UnsentRow>),
    /// Result of `persons`, in the order of identities.
    Persons(Page<PersonRules>),
    /// Result of `teams`, in the order of names.
    Teams(Page<TeamRow>),
    /// Result of `members`.
    Members(Page<MemberRow>),
    /// Result of `departures`.
    Departures(Page<Departure>),
    /// Result of `sync`.
    Report(Box<SyncReport>),
    /// Result of `unread`, `history` and `requests`.
    Texts(Page<TextRow>),
    /// Result of `problems`, the oldest first.
    Problems(Page<Problem>),
    /// Result of `devices`.
    Devices(Devices),
    /// Result of `device_changes`, the oldest first.
    DeviceChanges(Page<DeviceChange>),
    /// Result of `backup`.
    Backup(Backup),
}

/// Version of the interface and of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Version {
    /// Version of the interface.
    pub api: u32,
    /// Name and version of the program.
    pub program: String,
}

/// State of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeStatus {
    /// Identity of this node's person.
    #[serde(with = "wire_text::identity")]
    pub identity: PublicKey,
    /// Number of this device.
    pub device: u32,
    /// Registration and counts of waiting messages.
    #[serde(flatten)]
    pub status: Status,
    /// True if `endseal up` is connected to the hub; `None` if it is not running.
    pub connected: Option<bool>,
    /// Reason why the hub does not serve `endseal up`, in one line.
    pub cause: Option<String>,
}

/// Texts that were stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Said {
    /// Their number.
    pub texts: u64,
    /// Numbers of the texts in the history, in their order.
    pub numbers: Vec<u64>,
}

/// A backup that was written into the state directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Backup {
    /// Name of the file in the state directory. The next backup replaces it; the caller moves it to
    /// another place.
    pub file: String,
    /// Number of texts in it.
    pub texts: u64,
}

/// Number of texts that were cancelled or deleted, or dropped while their writer was blocked.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Forgotten {
    /// The number.
    pub texts: u64,
}

/// A text that waits unencrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsentRow {
    /// Number in the history.
    pub number: u64,
    /// The person or group to which it was written.
    #[serde(with = "conversation_text")]
    pub conversation: Conversation,
    /// True if the text has not left this device, so that it can be cancelled.
    pub can_unsend: bool,
}

/// Some rows of a longer list.
#[derive(Serialize, Deserialize)]
#[allow(missing_debug_implementations, reason = "it holds texts")]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The number after which the next page starts; `None` at the end of the list.
    pub next: Option<u64>,
}

/// A text of the inbox or of the history.
#[derive(Serialize, Deserialize)]
#[allow(missing_debug_implementations, reason = "it holds a text")]
#[non_exhaustive]
pub struct TextRow {
    /// Number in the inbox, or in the history. Later texts have higher numbers.
    pub number: u64,
    /// The remote person, or the group.
    #[serde(with = "conversation_text")]
    pub conversation: Conversation,
    /// Identity of the author, authenticated by a session or a signature.
    #[serde(with = "wire_text::identity")]
    pub from: PublicKey,
    /// Number of the author's device.
    pub device: u32,
    /// True if the text was written on this device.
    pub is_sent: bool,
    /// Time at which it was written, in milliseconds since 1970, as its author claims. `None` if
    /// the message cannot be shown.
    pub time: Option<u64>,
    /// The text. `None` if the message cannot be shown.
    pub text: Option<SecretText>,
    /// True if the text is unread and its author is muted.
    pub is_muted: bool,
    /// Delivery of a text that was written here. `None` if it is not known: for texts that arrived,
    /// and for notes to oneself.
    pub delivery: Option<TextDelivery>,
    /// Number of the persons who have confirmed a text that was written here.
    pub confirmed: Option<Confirmed>,
}

impl<T> Page<T> {
    /// Makes the only page of a list.
    pub(super) fn only(rows: Vec<T>) -> Self {
        Self { rows, next: None }
    }
}

impl Reply {
    /// Reads the result of a request.
    pub(super) fn read(to: &Request, json: &str) -> Result<Self, serde_json::Error> {
        use serde_json::from_str;
        Ok(match to {
            Request::Version {} => Self::Version(from_str(json)?),
            Request::Status {} => Self::Status(from_str(json)?),
            Request::Say { .. } | Request::Answer { .. } => Self::Said(from_str(json)?),
            Request::Sync { .. } => Self::Report(from_str(json)?),
            Request::Unread { .. } | Request::History { .. } | Request::Requests { .. } => {
                Self::Texts(from_str(json)?)
            }
            Request::Unsent { .. } => Self::Unsent(from_str(json)?),
            Request::Unsend { .. }
            | Request::UnsendAll { .. }
            | Request::DeleteTexts { .. }
            | Request::DeleteTextsBefore { .. }
            | Request::Block { .. }
            | Request::Unblock { .. }
            | Request::Leave { .. } => Self::Forgotten(from_str(json)?),
            Request::Persons {} => Self::Persons(from_str(json)?),
            Request::Teams {} => Self::Teams(from_str(json)?),
            Request::Members { .. } => Self::Members(from_str(json)?),
            Request::Departures {} => Self::Departures(from_str(json)?),
            Request::Problems {} => Self::Problems(from_str(json)?),
            Request::Devices { .. } => Self::Devices(from_str(json)?),
            Request::DeviceChanges {} => Self::DeviceChanges(from_str(json)?),
            Request::Backup {} => Self::Backup(from_str(json)?),
            Request::MarkRead { .. }
            | Request::Accept { .. }
            | Request::Mute { .. }
            | Request::Verify { .. }
            | Request::NameDevice { .. }
            | Request::ForgetProblems { .. }
            | Request::MarkChangesSeen { .. }
            | Request::Follow { .. } => Self::Done {},
        })
    }
}

/// A line that answers a request.
#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'a str,
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Reply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Error>,
}

/// A line that no request is answered by.
#[derive(Serialize)]
struct Notification<'a, T> {
    jsonrpc: &'a str,
    method: &'a str,
    params: &'a T,
}

/// Encodes the answer to a request, or an error of a request whose id is not known.
pub(crate) fn answer(id: Option<&Id>, reply: &Result<Reply, Error>) -> Zeroizing<Vec<u8>> {
    let (result, error) = (reply.as_ref().ok(), reply.as_ref().err());
    // It is shorter than a line may be: ids and the rows of replies have limits.
    to_line(&Answer { jsonrpc: "2.0", id, result, error }).unwrap_or_default()
}

/// Encodes texts that arrived (`unread`), or an error that ends the subscription (`ended`).
pub(crate) fn notification(reply: &Result<Reply, Error>) -> Zeroizing<Vec<u8>> {
    let jsonrpc = "2.0";
    let line = match reply {
        Ok(params) => to_line(&Notification { jsonrpc, method: "unread", params }),
        Err(params) => to_line(&Notification { jsonrpc, method: "ended", params }),
    };
    line.unwrap_or_default()
}
