//! Entries of the plaintext: tag (1) || length of the name (2) || length of the value (4) || name
//! || value, numbers in little-endian.

use std::io::{self, Read, Write};

use endseal_crypto::secret::Zeroizing;

use super::error::ReadArchiveError;

/// Limit on the length of a name in bytes.
const MAX_NAME: usize = 1_024;
/// Limit on the length of a value in bytes: that of an address book and of a roster.
const MAX_VALUE: usize = 64 << 20;

/// Kinds of entries. They are in ascending order in an archive.
pub(super) mod tag {
    /// Version, purpose and time. The first entry, once.
    pub(in super::super) const HEAD: u8 = 1;
    /// A person record, by its epoch. At least one.
    pub(in super::super) const PERSON: u8 = 2;
    /// Root of the person, in a link.
    pub(in super::super) const ROOT: u8 = 3;
    /// Secret of the link text and certificate, in a link.
    pub(in super::super) const LINK: u8 = 4;
    /// Registration at a hub.
    pub(in super::super) const HUB: u8 = 5;
    /// The contacts.
    pub(in super::super) const CONTACTS: u8 = 6;
    /// The peers that may connect.
    pub(in super::super) const PEERS: u8 = 7;
    /// A roster, by its epoch and the local name of the group.
    pub(in super::super) const ROSTER: u8 = 8;
    /// An unread text, by its number in the inbox.
    pub(in super::super) const UNREAD: u8 = 9;
    /// A record of the store, by its kind and name.
    pub(in super::super) const RECORD: u8 = 10;
}

/// An entry whose content was not interpreted.
pub(super) struct Entry {
    pub(super) tag: u8,
    pub(super) name: Vec<u8>,
    pub(super) value: Zeroizing<Vec<u8>>,
}

impl Entry {
    /// Reads the next entry. `None` at the end.
    pub(super) fn read(input: &mut impl Read) -> Result<Option<Self>, ReadArchiveError> {
        let mut head = [0; 7];
        match read_up_to(input, &mut head)? {
            0 => return Ok(None),
            7 => {}
            _ => return Err(ReadArchiveError::Damaged("entry")),
        }
        let [tag, n0, n1, v0, v1, v2, v3] = head;
        let name_len = usize::from(u16::from_le_bytes([n0, n1]));
        let value_len = u32::from_le_bytes([v0, v1, v2, v3]) as usize;
        if name_len > MAX_NAME || value_len > MAX_VALUE {
            return Err(ReadArchiveError::Damaged("length of an entry"));
        }
        let (mut name, mut value) = (vec![0; name_len], Zeroizing::new(vec![0; value_len]));
        if read_up_to(input, &mut name)? < name_len || read_up_to(input, &mut value)? < value_len {
            return Err(ReadArchiveError::Damaged("entry"));
        }
        Ok(Some(Self { tag, name, value }))
    }
}

/// Writes an entry. Fails with [`io::ErrorKind::InvalidInput`] if it is longer than the limits.
pub(super) fn write(output: &mut impl Write, tag: u8, name: &[u8], value: &[u8]) -> io::Result<()> {
    let name_len = u16::try_from(name.len()).ok().filter(|_| name.len() <= MAX_NAME);
    let value_len = u32::try_from(value.len()).ok().filter(|_| value.len() <= MAX_VALUE);
    let (Some(name_len), Some(value_len)) = (name_len, value_len) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut head = [tag, 0, 0, 0, 0, 0, 0];
    head[1..3].copy_from_slice(&name_len.to_le_bytes());
    head[3..].copy_from_slice(&value_len.to_le_bytes());
    output.write_all(&head)?;
    output.write_all(name)?;
    output.write_all(value)
}

/// Fills `buffer` as far as the input reaches. Returns the number of bytes.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ReadArchiveError> {
    let mut len = 0;
    while len < buffer.len() {
        match input.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(len)
}
