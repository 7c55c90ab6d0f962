//! Errors of the states of conversations.

use core::fmt;

use endseal_keyring::roster::RosterChainError;

/// Reason why a state of a conversation, or a change of it, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MembershipError {
    /// The bytes are not the encoding of a state or of evidence.
    Format,
    /// The state or the evidence is too long.
    TooLong,
    /// A member has no person record.
    NoRecord,
    /// A person record is of someone who is not a member.
    NoMember,
    /// Two person records are of one person.
    RecordTwice,
    /// A person record does not follow the one that the conversation has.
    Record,
    /// A roster does not follow the one that the conversation has.
    Roster(RosterChainError),
    /// There is a roster for a conversation of one or two persons, or a person leaves it.
    NoTeam,
    /// The owner of a team leaves it, or a person who is no member.
    Departure,
}

impl fmt::Display for MembershipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "the bytes are no state of a conversation",
            Self::TooLong => "the state of the conversation is too long",
            Self::NoRecord => "a member of the conversation has no person record",
            Self::NoMember => "a person record is of someone who is not a member",
            Self::RecordTwice => "two person records are of one person",
            Self::Record => "a person record does not follow the one before",
            Self::Roster(_) => "the roster does not follow the one before",
            Self::NoTeam => "only a team has a roster, and members who leave",
            Self::Departure => "only a member who is not the owner leaves a team",
        })
    }
}

impl core::error::Error for MembershipError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Roster(error) => Some(error),
            _ => None,
        }
    }
}
