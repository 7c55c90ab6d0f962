//! Records of the lines of the audit log.

use endseal_crypto::secret::Zeroizing;
use endseal_crypto::sha256;
use endseal_nostr::connect::Method;

use crate::bytes::{Fields, RecordWriter, codes};
use crate::error::RecordError;
use crate::records::head::LogHead;
use crate::text::{BoundedText, MAX_TEXT};

codes! {
    /// Kind of a log line.
    pub enum Matter {
        /// A request was decided, or queued for a decision.
        Request = 1,
        /// An app was invited.
        AppInvited = 2,
        /// A client was paired.
        AppConnected = 3,
        /// A rule was added.
        RuleAdded = 4,
        /// A rule was removed.
        RuleRemoved = 5,
        /// An app was revoked by a command.
        AppRevoked = 6,
        /// An app was ended by its client.
        AppLoggedOut = 7,
        /// A user key was imported.
        UserImported = 8,
        /// The user keys were decrypted.
        Unlocked = 9,
        /// The user keys were wiped.
        Locked = 10,
        /// A person approved a request.
        Approved = 11,
        /// A person denied a request.
        Denied = 12,
        /// An app was given another name.
        AppRenamed = 13,
        /// An app was invited again, because its client has lost its key.
        AppReinvited = 14,
        /// A user key was removed.
        UserRemoved = 15,
        /// The client of an app asked for permissions, or for others than before.
        PermissionsAsked = 16,
        /// Lines were moved to a file; the text is the number of the last one.
        LogArchived = 17,
    }
}

codes! {
    /// Decision on a request, as it is logged.
    pub enum LogVerdict {
        /// The line is not about a decision.
        None = 0,
        /// The request was allowed and executed.
        Allowed = 1,
        /// A rule or a person denied the request, or no rule allows it.
        Denied = 2,
        /// A rule allows the request, but its uses are used up.
        Limit = 3,
        /// A person was asked.
        Asks = 4,
        /// No person decided before the timeout.
        Timeout = 5,
        /// The request was allowed, but its execution failed.
        Failed = 6,
    }
}

codes! {
    /// Method of a request, as it is logged.
    pub enum LogMethod {
        /// No method, or an unknown one.
        None = 0,
        /// `connect`
        Connect = 1,
        /// `sign_event`
        SignEvent = 2,
        /// `ping`
        Ping = 3,
        /// `get_public_key`
        GetPublicKey = 4,
        /// `nip04_encrypt`
        Nip04Encrypt = 5,
        /// `nip04_decrypt`
        Nip04Decrypt = 6,
        /// `nip44_encrypt`
        Nip44Encrypt = 7,
        /// `nip44_decrypt`
        Nip44Decrypt = 8,
        /// `switch_relays`
        SwitchRelays = 9,
        /// `logout`
        Logout = 10,
        /// `nip17_unwrap_batch`
        Nip17UnwrapBatch = 11,
    }
}

impl From<Method<'_>> for LogMethod {
    fn from(method: Method<'_>) -> Self {
        match method {
            Method::Connect => Self::Connect,
            Method::SignEvent => Self::SignEvent,
            Method::Ping => Self::Ping,
            Method::GetPublicKey => Self::GetPublicKey,
            Method::Nip04Encrypt => Self::Nip04Encrypt,
            Method::Nip04Decrypt => Self::Nip04Decrypt,
            Method::Nip44Encrypt => Self::Nip44Encrypt,
            Method::Nip44Decrypt => Self::Nip44Decrypt,
            Method::SwitchRelays => Self::SwitchRelays,
            Method::Logout => Self::Logout,
            Method::Other("nip17_unwrap_batch") => Self::Nip17UnwrapBatch,
            _ => Self::None,
        }
    }
}

/// Content of a log line. Numbers that do not apply are 0, and digests 32 zero bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// Time in seconds since 1970.
    pub time: u64,
    /// Kind of the line.
    pub matter: Matter,
    /// Number of the app, 0 if the line is not about one.
    pub app: u32,
    /// Number of the rule that decided, or that was added or removed.
    pub rule: u32,
    /// Decision on the request.
    pub verdict: LogVerdict,
    /// Method of the request.
    pub method: LogMethod,
    /// Kind of the event that was to be signed.
    pub kind: Option<u16>,
    /// Public key of the peer, the client or the imported user.
    pub peer: [u8; 32],
    /// Id of the event that was signed.
    pub signed: [u8; 32],
    /// Digest of the request (docs/spec/nostr-connect.md, "Repetitions").
    pub request: [u8; 32],
    /// Id of the event in which the request arrived.
    pub carrier: [u8; 32],
    /// `created_at` of that event.
    pub created_at: u64,
    /// Name of the app, text of the rule, label of the user, or what the client asked for.
    pub text: BoundedText<MAX_TEXT>,
}

impl LogEntry {
    /// Creates an entry with only a time and a kind. The caller sets the fields that apply.
    #[must_use]
    pub fn new(matter: Matter, time: u64) -> Self {
        Self {
            time,
            matter,
            app: 0,
            rule: 0,
            verdict: LogVerdict::None,
            method: LogMethod::None,
            kind: None,
            peer: [0; 32],
            signed: [0; 32],
            request: [0; 32],
            carrier: [0; 32],
            created_at: 0,
            text: BoundedText::default(),
        }
    }
}

/// Line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLine {
    /// Number, from 1, without gaps.
    pub number: u64,
    /// Hash of this line and all lines before it.
    pub hash: [u8; sha256::LEN],
    /// Content of the line.
    pub entry: LogEntry,
}

impl LogLine {
    pub(crate) const KIND: u32 = 5;

    /// Returns the record name of a line: its number in big-endian order.
    #[must_use]
    pub const fn record_name(number: u64) -> [u8; 8] {
        number.to_be_bytes()
    }

    /// Reads the record of a line. The hash is not verified.
    ///
    /// # Errors
    /// [`RecordError`] if the value is malformed or its number is not that of the name.
    pub fn from_bytes(record_name: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let name = super::name(record_name)?;
        let (hash, body) = Self::split(value)?;
        let (number, entry) = read_body(body)?;
        if number == 0 || number != u64::from_be_bytes(*name) {
            return Err(RecordError::Value);
        }
        Ok(Self { number, hash: *hash, entry })
    }

    /// Returns the head of a log that ends with this line, if it is the one behind `head`: number
    /// and hash continue it.
    #[must_use]
    pub fn follow(&self, head: &LogHead) -> Option<LogHead> {
        let next = head.after(&write_body(self.number, &self.entry));
        (next.number == self.number && next.hash == self.hash).then_some(next)
    }

    /// Encodes the value of the record.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let body = write_body(self.number, &self.entry);
        RecordWriter::new(sha256::LEN + MAX_BODY).bytes(&self.hash).bytes(&body).finish()
    }

    /// Splits a value into the hash and the body.
    pub(crate) fn split(value: &[u8]) -> Result<(&[u8; sha256::LEN], &[u8]), RecordError> {
        value.split_first_chunk().ok_or(RecordError::Length)
    }
}

/// Encodes the body of line `number`.
pub(crate) fn write_body(number: u64, entry: &LogEntry) -> Zeroizing<Vec<u8>> {
    RecordWriter::versioned(MAX_BODY)
        .u64(number)
        .u64(entry.time)
        .bytes(&[entry.matter.code()])
        .u32(entry.app)
        .u32(entry.rule)
        .bytes(&[entry.verdict.code(), entry.method.code()])
        .u32(entry.kind.map_or(NO_KIND, u32::from))
        .bytes(&entry.peer)
        .bytes(&entry.signed)
        .bytes(&entry.request)
        .bytes(&entry.carrier)
        .u64(entry.created_at)
        .text(&entry.text)
        .finish()
}

fn read_body(body: &[u8]) -> Result<(u64, LogEntry), RecordError> {
    let mut fields = Fields::versioned(body)?;
    let number = fields.u64()?;
    let entry = LogEntry {
        time: fields.u64()?,
        matter: fields.code(Matter::from_code)?,
        app: fields.u32()?,
        rule: fields.u32()?,
        verdict: fields.code(LogVerdict::from_code)?,
        method: fields.code(LogMethod::from_code)?,
        kind: match fields.u32()? {
            NO_KIND => None,
            kind => Some(u16::try_from(kind).map_err(|_| RecordError::Value)?),
        },
        peer: *fields.array()?,
        signed: *fields.array()?,
        request: *fields.array()?,
        carrier: *fields.array()?,
        created_at: fields.u64()?,
        text: fields.text()?,
    };
    fields.end()?;
    Ok((number, entry))
}

const NO_KIND: u32 = u32::MAX;
/// Maximum length of a body in bytes.
const MAX_BODY: usize = 169 + MAX_TEXT;
