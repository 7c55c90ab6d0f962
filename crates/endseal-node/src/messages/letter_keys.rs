//! Keys and rosters under which letters are written and opened.

use std::collections::HashMap;

use endseal_crypto::identity::Identity;
use endseal_keyring::roster::GroupId;
use endseal_keyring::{Name, Roster};

use crate::groups::GroupError;
use crate::home::Home;
use crate::person::user_identity;

/// Keys and rosters of a state directory.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "refers to secrets")]
pub struct LetterKeys<'a> {
    home: &'a Home,
    device: &'a Identity,
}

impl<'a> LetterKeys<'a> {
    /// Those of a state directory and the device in it.
    #[must_use]
    pub const fn new(home: &'a Home, device: &'a Identity) -> Self {
        Self { home, device }
    }

    /// The device, which signs letters.
    pub(super) fn device(&self) -> &'a Identity {
        self.device
    }

    /// User identities of this person, the newest first. Records that this device cannot open are
    /// left out: it was not linked then.
    pub(super) fn users(&self) -> Vec<Identity> {
        let mut users = Vec::new();
        for epoch in self.home.person_epochs().unwrap_or_default().into_iter().rev() {
            let record = self.home.person_in_epoch(epoch);
            users.extend(record.and_then(|record| user_identity(self.device, &record)).ok());
        }
        users
    }

    /// A group by its id; `None` if it is not known here.
    ///
    /// # Errors
    /// [`GroupError`], if a newest roster cannot be read.
    pub(super) fn group(&self, id: &GroupId) -> Result<Option<Group>, GroupError> {
        let known = self.home.groups().known(id)?;
        Ok(known.map(|(name, current)| Group { name, current, rosters: HashMap::new() }))
    }

    /// The roster of a group in an epoch; `None` if it is not here.
    pub(super) fn roster<'g>(&self, group: &'g mut Group, epoch: u64) -> Option<&'g Roster> {
        if epoch == group.current.epoch() {
            return Some(&group.current);
        }
        let groups = self.home.groups();
        let roster = group.rosters.entry(epoch);
        roster.or_insert_with(|| groups.epoch(&group.name, epoch).ok()).as_ref()
    }
}

/// A group with its rosters, as far as they were asked for.
pub(super) struct Group {
    name: Name,
    pub(super) current: Roster,
    rosters: HashMap<u64, Option<Roster>>,
}
