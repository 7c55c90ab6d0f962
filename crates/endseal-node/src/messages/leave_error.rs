//! Errors of leaving a team.

use core::{error, fmt};

use endseal_session::EngineError;

use crate::groups::GroupError;

/// Reason why a team was not left.
#[derive(Debug)]
#[non_exhaustive]
pub enum LeaveError {
    /// No roster of the team is known.
    NoGroup,
    /// This person is no member of the team.
    NotMember,
    /// This person is the owner of the team.
    Owner,
    /// The rosters cannot be read.
    Group(GroupError),
    /// The store failed.
    Engine(EngineError),
}

impl From<EngineError> for LeaveError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<GroupError> for LeaveError {
    fn from(error: GroupError) -> Self {
        Self::Group(error)
    }
}

impl fmt::Display for LeaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGroup => f.write_str("no roster of this group is here"),
            Self::NotMember => f.write_str("you are no member of this group"),
            Self::Owner => f.write_str("you own this group"),
            Self::Group(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl error::Error for LeaveError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::NoGroup | Self::NotMember | Self::Owner => None,
            Self::Group(error) => error.source(),
            Self::Engine(error) => error.source(),
        }
    }
}
