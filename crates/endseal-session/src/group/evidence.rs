//! Justification of a commit of a conversation, which carries it: rosters and person records, or
//! the departure of the committer (docs/spec/conversation.md, "Evidence").

use endseal_keyring::{PersonRecord, Roster};

use super::membership_error::MembershipError;
use crate::fields::Fields;

/// Length limit of encoded evidence, in bytes: a commit and its notice are shorter than 1 MiB.
const MAX_EVIDENCE_LEN: usize = 512 << 10;
const VERSION: u8 = 1;
const DOCUMENTS: u8 = 1;
const DEPARTURE: u8 = 2;

/// Signed documents from which a later state of a conversation follows, all of them verified; or a
/// departure, for which the commit itself is the proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    roster: Option<Roster>,
    records: Vec<PersonRecord>,
    is_departure: bool,
}

impl Evidence {
    /// Makes evidence of a roster, which may be absent, and person records.
    #[must_use]
    pub const fn new(roster: Option<Roster>, records: Vec<PersonRecord>) -> Self {
        Self { roster, records, is_departure: false }
    }

    /// Makes the evidence by which the person of the committer leaves a team.
    #[must_use]
    pub const fn departure() -> Self {
        Self { roster: None, records: Vec::new(), is_departure: true }
    }

    /// Returns true if the person of the committer leaves the team.
    #[must_use]
    pub const fn is_departure(&self) -> bool {
        self.is_departure
    }

    /// Returns the new roster of a team.
    #[must_use]
    pub const fn roster(&self) -> Option<&Roster> {
        self.roster.as_ref()
    }

    /// Returns the new person records.
    #[must_use]
    pub fn records(&self) -> &[PersonRecord] {
        &self.records
    }

    /// Returns true if there is neither a roster, nor a record, nor a departure.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roster.is_none() && self.records.is_empty() && !self.is_departure
    }

    /// Encodes the evidence as the specification says.
    ///
    /// # Errors
    /// [`MembershipError::TooLong`] if it is longer than 512 KiB.
    pub fn to_bytes(&self) -> Result<Vec<u8>, MembershipError> {
        if self.is_departure {
            return Ok(vec![VERSION, DEPARTURE]);
        }
        let mut out = vec![VERSION, DOCUMENTS];
        put(&mut out, self.roster.as_ref().map_or(&[], Roster::as_bytes));
        self.records.iter().for_each(|it| put(&mut out, it.as_bytes()));
        if out.len() > MAX_EVIDENCE_LEN { Err(MembershipError::TooLong) } else { Ok(out) }
    }

    /// Decodes evidence, and verifies the signatures in it.
    ///
    /// # Errors
    /// [`MembershipError::Format`] if the bytes are no evidence, are too long or empty, or if a
    /// signature is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MembershipError> {
        Self::read(bytes).filter(|it| !it.is_empty()).ok_or(MembershipError::Format)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_EVIDENCE_LEN {
            return None;
        }
        let mut fields = Fields::new(bytes);
        if fields.byte()? != VERSION {
            return None;
        }
        match fields.byte()? {
            DOCUMENTS => {}
            DEPARTURE => return fields.rest().is_empty().then_some(Self::departure()),
            _ => return None,
        }
        let roster = match document(&mut fields)? {
            [] => None,
            bytes => Some(Roster::parse(bytes).ok()?),
        };
        let mut records = Vec::new();
        while !fields.rest().is_empty() {
            records.push(PersonRecord::parse(document(&mut fields)?).ok()?);
        }
        Some(Self::new(roster, records))
    }
}

/// Appends bytes after their length (4 bytes).
pub(super) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    // Rosters and records are far below 4 GiB.
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads a document after its length.
fn document<'a>(fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(u32::from_le_bytes(*fields.array()?)).ok()?;
    fields.slice(length)
}
