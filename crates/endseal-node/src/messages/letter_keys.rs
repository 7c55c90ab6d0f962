//! Keys and rosters under which letters are written and opened.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use core::cell::RefCell;
use std::collections::HashMap;

use endseal_crypto::identity::Identity;
use endseal_keyring::roster::GroupId;
use endseal_keyring::{Contacts, Name, Roster};

use crate::home::Home;
use crate::person::user_identity;

/// Keys and rosters of a state directory.
#[allow(missing_debug_implementations, reason = "refers to secrets")]
pub struct LetterKeys<'a> {
    home: &'a Home,
    device: &'a Identity,
    /// Rosters that were read last.
    rosters: RefCell<BTreeMap<Name, Rc<Roster>>>,
    /// User identities by their epochs, of which none changes.
    users: RefCell<BTreeMap<u64, Rc<Identity>>>,
}

impl<'a> LetterKeys<'a> {
    /// Those of a state directory and the device in it.
    #[must_use]
    pub const fn new(home: &'a Home, device: &'a Identity) -> Self {
        let rosters = RefCell::new(BTreeMap::new());
        let users = RefCell::new(BTreeMap::new());
        Self { home, device, rosters, users }
    }

    /// The device, which signs letters.
    pub(super) fn device(&self) -> &'a Identity {
        self.device
    }

    /// Epoch of the newest record of this person that is here; 0 if there is none.
    pub(super) fn person_epoch(&self) -> u64 {
        self.home.person_epochs().unwrap_or_default().last().copied().unwrap_or_default()
    }

    /// User identities of this person, the newest first. Records that this device cannot open are
    /// left out: it was not linked then.
    pub(super) fn users(&self) -> Vec<Rc<Identity>> {
        let mut known = self.users.borrow_mut();
        let mut user = |epoch| {
            if let Some(user) = known.get(&epoch) {
                return Some(Rc::clone(user));
            }
            let record = self.home.person_in_epoch(epoch).ok()?;
            let user = Rc::new(user_identity(self.device, &record).ok()?);
            known.insert(epoch, Rc::clone(&user));
            Some(user)
        };
        let epochs = self.home.person_epochs().unwrap_or_default();
        epochs.into_iter().rev().filter_map(&mut user).collect()
    }

    /// The contacts; none if they cannot be read.
    pub(super) fn contacts(&self) -> Contacts {
        self.home.contacts().unwrap_or_default()
    }

    /// The groups that are known here. Those whose newest roster cannot be read are left out.
    pub(super) fn groups(&self) -> HashMap<GroupId, Group> {
        let groups = self.home.groups();
        let known = self.rosters.take();
        let (mut found, mut rosters) = (HashMap::new(), BTreeMap::new());
        for name in groups.list().unwrap_or_default() {
            if let Ok(current) = groups.renew(&name, known.get(&name)) {
                rosters.insert(name.clone(), Rc::clone(&current));
                found.insert(*current.id(), Group { name, current, rosters: HashMap::new() });
            }
        }
        self.rosters.replace(rosters);
        found
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
    pub(super) current: Rc<Roster>,
    rosters: HashMap<u64, Option<Roster>>,
}
