//! Records of a session file, which carries group messages and welcomes between stores.

use core::fmt;

use alloc::vec::Vec;
use endseal_crypto::ed25519;
use endseal_crypto::hash;
use endseal_crypto::label::SESSION_FILE_ID;
use endseal_keyring::device::{Address, DeviceId};

use crate::MAX_MESSAGE_LEN;
use crate::fields::Fields;
use crate::group::{MAX_GROUP_ID_LEN, MAX_WELCOME_LEN};

const MAGIC: &[u8; 14] = b"endseal msgs v";
const VERSION: &[u8; 2] = b"1\n";
const GROUP: u8 = 2;
const WELCOME: u8 = 3;
const ADDRESS_LEN: usize = 36;
const ID_LEN: usize = 16;

/// A group message or welcome in a session file (docs/spec/session-file.md). Its fields are not
/// authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the format")]
pub struct FileRecord<'a> {
    /// Message id, which identifies the message if it is delivered again.
    pub id: &'a [u8; ID_LEN],
    /// Group, or sender and recipient.
    pub route: FileRoute<'a>,
    /// Message of 1 byte to [`MAX_MESSAGE_LEN`], or welcome of 1 byte to [`MAX_WELCOME_LEN`].
    pub body: &'a [u8],
}

/// Destination of a message in a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRoute<'a> {
    /// All members of a group, by its id of 1 to [`MAX_GROUP_ID_LEN`] bytes.
    Group(&'a [u8]),
    /// One device, which is invited into a group by a welcome.
    Welcome {
        /// Claimed address of the sender.
        sender: Address,
        /// Address of the recipient.
        recipient: Address,
    },
}

impl FileRoute<'_> {
    fn max_body_len(&self) -> usize {
        match self {
            Self::Welcome { .. } => MAX_WELCOME_LEN,
            Self::Group(_) => MAX_MESSAGE_LEN,
        }
    }
}

impl FileRecord<'_> {
    /// First bytes of a session file, with its version.
    pub const HEADER: &'static [u8; 16] = b"endseal msgs v1\n";
    /// Length of an id, in bytes.
    pub const ID_LEN: usize = ID_LEN;
    /// Length of the longest record, in bytes.
    pub const MAX_LEN: usize = 1 + ID_LEN + 2 * ADDRESS_LEN + 4 + MAX_WELCOME_LEN;

    /// Computes the id of a ciphertext: the first 16 bytes of
    /// `BLAKE3-derive("endseal/session-file@v1 message id", body)`.
    #[must_use]
    pub fn id_of(body: &[u8]) -> [u8; ID_LEN] {
        let mut id = [0; ID_LEN];
        hash::derive_into(SESSION_FILE_ID, &[body], &mut id);
        id
    }

    /// Appends the encoded record to `out`.
    ///
    /// # Errors
    /// [`FileRecordError::Group`] if the group id is not 1 to 63 bytes long,
    /// [`FileRecordError::Length`] if the body is empty or too long. Nothing is appended then.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<(), FileRecordError> {
        let len = u32::try_from(self.body.len()).map_err(|_| FileRecordError::Length)?;
        if !(1..=self.route.max_body_len()).contains(&self.body.len()) {
            return Err(FileRecordError::Length);
        }
        match self.route {
            FileRoute::Welcome { sender, recipient } => {
                out.push(WELCOME);
                out.extend_from_slice(self.id);
                for address in [sender, recipient] {
                    out.extend_from_slice(address.identity.as_bytes());
                    out.extend_from_slice(&address.device.number().to_le_bytes());
                }
            }
            FileRoute::Group(id) => {
                let n = u8::try_from(id.len()).map_err(|_| FileRecordError::Group)?;
                if !(1..=MAX_GROUP_ID_LEN).contains(&id.len()) {
                    return Err(FileRecordError::Group);
                }
                out.push(GROUP);
                out.extend_from_slice(self.id);
                out.push(n);
                out.extend_from_slice(id);
            }
        }
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(self.body);
        Ok(())
    }
}

/// Incremental decoder of the records of a session file.
#[derive(Clone, Debug, Default)]
pub struct FileRecords {
    started: bool,
}

impl FileRecords {
    /// Makes a decoder for the start of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the next record from the start of `bytes` and removes it from there. `None` if more
    /// bytes are needed: the caller keeps `bytes` and appends to it. At the end of the file, call
    /// [`Self::finish`].
    ///
    /// # Errors
    /// [`FileRecordError`] as soon as a field is invalid. The rest of the file cannot be decoded
    /// then.
    pub fn next<'a>(
        &mut self,
        bytes: &mut &'a [u8],
    ) -> Result<Option<FileRecord<'a>>, FileRecordError> {
        if !self.started {
            let known = bytes.len().min(FileRecord::HEADER.len());
            let (magic, version) = bytes[..known].split_at(known.min(MAGIC.len()));
            if !MAGIC.starts_with(magic) {
                return Err(FileRecordError::Header);
            }
            if !VERSION.starts_with(version) {
                return Err(FileRecordError::Version);
            }
            if known < FileRecord::HEADER.len() {
                return Ok(None);
            }
            *bytes = &bytes[known..];
            self.started = true;
        }
        let mut fields = Fields::new(bytes);
        let record = record(&mut fields)?;
        if record.is_some() {
            *bytes = fields.rest();
        }
        Ok(record)
    }

    /// Checks the end of a file; `rest` are the bytes that were not decoded.
    ///
    /// # Errors
    /// [`FileRecordError::Truncated`] if the file ends within its header or a record.
    pub fn finish(&self, rest: &[u8]) -> Result<(), FileRecordError> {
        if self.started && rest.is_empty() { Ok(()) } else { Err(FileRecordError::Truncated) }
    }
}

fn record<'a>(fields: &mut Fields<'a>) -> Result<Option<FileRecord<'a>>, FileRecordError> {
    let Some(kind) = fields.byte() else { return Ok(None) };
    if ![GROUP, WELCOME].contains(&kind) {
        return Err(FileRecordError::Kind);
    }
    let Some(id) = fields.array() else { return Ok(None) };
    let route = if kind == WELCOME {
        let Some(sender) = address(fields)? else { return Ok(None) };
        let Some(recipient) = address(fields)? else { return Ok(None) };
        FileRoute::Welcome { sender, recipient }
    } else {
        let Some(len) = fields.byte() else { return Ok(None) };
        if !(1..=MAX_GROUP_ID_LEN).contains(&usize::from(len)) {
            return Err(FileRecordError::Group);
        }
        let Some(group) = fields.slice(usize::from(len)) else { return Ok(None) };
        FileRoute::Group(group)
    };
    let Some(len) = fields.array() else { return Ok(None) };
    let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
    if !(1..=route.max_body_len()).contains(&len) {
        return Err(FileRecordError::Length);
    }
    Ok(fields.slice(len).map(|body| FileRecord { id, route, body }))
}

fn address(fields: &mut Fields<'_>) -> Result<Option<Address>, FileRecordError> {
    let Some(key) = fields.array() else { return Ok(None) };
    let identity = ed25519::PublicKey::from_bytes(key).map_err(|_| FileRecordError::Key)?;
    let Some(device) = fields.array() else { return Ok(None) };
    let number = DeviceId::new(u32::from_le_bytes(*device));
    Ok(Some(Address { identity, device: number.ok_or(FileRecordError::Device)? }))
}

/// Error of encoding or decoding a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRecordError {
    /// The device number is 0.
    Device,
    /// The group id is not 1 to 63 bytes long.
    Group,
    /// The file does not start as a session file does: it is another kind of file.
    Header,
    /// An identity is not a valid key.
    Key,
    /// The kind of a record is unknown: the file is damaged.
    Kind,
    /// A message is empty or longer than 1 MiB, or a welcome is empty or longer than 16 MiB.
    Length,
    /// The file ends too early: it was truncated.
    Truncated,
    /// The version is unknown: the file was made by a newer program.
    Version,
}

impl fmt::Display for FileRecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "a record of the session file names device 0",
            Self::Group => "a record of the session file has an invalid group id",
            Self::Header => "it is not a session file",
            Self::Key => "a record of the session file names an invalid identity",
            Self::Kind => "a record of the session file has an unknown kind",
            Self::Length => "a record of the session file has an invalid message length",
            Self::Truncated => "the session file was cut short",
            Self::Version => "the version of the session file is unknown",
        })
    }
}

impl core::error::Error for FileRecordError {}
