//! Checks that one roster may follow another.

use super::{Roster, RosterChainError};

pub(super) fn follows(new: &Roster, previous: &Roster) -> Result<(), RosterChainError> {
    let (held, offered) = (previous.epoch(), new.epoch());
    supersedes(new, previous)?;
    if offered - held > 1 {
        return Err(RosterChainError::Gap { held, offered });
    }
    Ok(())
}

pub(super) fn supersedes(new: &Roster, known: &Roster) -> Result<(), RosterChainError> {
    if new.id() != known.id() || new.group() != known.group() {
        return Err(RosterChainError::OtherGroup);
    }
    if new.owner() != known.owner() {
        return Err(RosterChainError::OtherOwner);
    }
    let (held, offered) = (known.epoch(), new.epoch());
    if offered == held {
        let same = new.as_bytes() == known.as_bytes();
        return Err(if same { RosterChainError::Same } else { RosterChainError::Fork });
    }
    if offered < held {
        return Err(RosterChainError::Rollback { held, offered });
    }
    if offered - held == 1 && new.previous() != Some(&known.digest()) {
        return Err(RosterChainError::Fork);
    }
    Ok(())
}
