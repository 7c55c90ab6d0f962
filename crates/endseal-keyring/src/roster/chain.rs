//! Checks that one roster may follow another.

use super::appointment::Appointment;
use super::head::Head;
use super::{MAX_ADMIN_STEP, Roster, RosterChainError};

pub(super) fn follows(new: &Roster, previous: &Roster) -> Result<(), RosterChainError> {
    let (held, offered) = (previous.epoch(), new.epoch());
    supersedes(new, previous)?;
    if offered - held > 1 {
        return Err(RosterChainError::Gap { held, offered });
    }
    Ok(())
}

pub(super) fn supersedes(new: &Roster, known: &Roster) -> Result<(), RosterChainError> {
    if new.id() != known.id() {
        return Err(RosterChainError::OtherGroup);
    }
    let (held, offered) = (known.epoch(), new.epoch());
    let is_older = offered < held;
    let (later, earlier) = if is_older { (known, new) } else { (new, known) };
    if !continues(&later.head, &earlier.head) {
        return Err(RosterChainError::OtherOwner);
    }
    if is_older {
        return Err(RosterChainError::Rollback { held, offered });
    }
    if new.as_bytes() == known.as_bytes() {
        return Err(RosterChainError::Same);
    }
    if new.head.signer.is_some() {
        within_rights_of_admin(new, known)?;
    }
    if offered == held || (offered - held == 1 && new.previous() != Some(&known.digest())) {
        return Err(RosterChainError::Fork);
    }
    Ok(())
}

pub(super) fn precedes(old: &Roster, later: &Roster) -> bool {
    let is_old = matches!(supersedes(old, later), Err(RosterChainError::Rollback { .. }));
    let is_next = is_old && later.epoch() - old.epoch() == 1;
    is_old && (!is_next || later.previous() == Some(&old.digest()))
}

/// Returns true if the owners of `later` begin with those of `earlier`: the group has the same
/// owner, or the earlier owner handed it on after that epoch.
fn continues(later: &Head, earlier: &Head) -> bool {
    match later.transfers.strip_prefix(&*earlier.transfers) {
        None => false,
        Some([]) => later.owner == earlier.owner,
        Some([next, ..]) => next.former_owner == earlier.owner && next.epoch > earlier.epoch,
    }
}

/// Checks that a roster signed by an admin changes only what admins may change. Each appointment,
/// also that of the signer, must be one of the roster held, or belong to an epoch between the two:
/// then the reader missed the owner's roster that has it first.
fn within_rights_of_admin(new: &Roster, known: &Roster) -> Result<(), RosterChainError> {
    let (held, offered) = (known.epoch(), new.epoch());
    let is_held = |it: &Appointment| known.head.appointment(it.admin.as_str()) == Some(it);
    let is_missed = |it: &Appointment| held < it.epoch && it.epoch < offered;
    if !new.head.appointments.iter().all(|it| is_held(it) || is_missed(it)) {
        return Err(RosterChainError::Admin);
    }
    let owner = known.member_of_key(new.owner());
    if owner.is_some_and(|owner| new.member(owner.name().as_str()) != Some(owner)) {
        return Err(RosterChainError::Admin);
    }
    if offered - held > MAX_ADMIN_STEP {
        return Err(RosterChainError::Gap { held, offered });
    }
    Ok(())
}
