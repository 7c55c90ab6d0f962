//! Keys and rosters under which letters are written and opened.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use core::cell::RefCell;
use std::collections::HashMap;

use endseal_crypto::identity::Identity;
use endseal_keyring::roster::GroupId;
use endseal_keyring::{Contacts, Name, PersonRecord, Roster};

use crate::home::Home;
use crate::person::{PersonError, user_identity};

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

    /// Returns the state directory.
    pub(crate) fn home(&self) -> &'a Home {
        self.home
    }

    /// The device, which signs letters.
    pub(crate) fn device(&self) -> &'a Identity {
        self.device
    }

    /// User identities of this person. Records that this device cannot open are left out: it was
    /// not linked then.
    pub(super) fn users(&self) -> Users {
        let mut users = Users { identities: Vec::new(), epoch: 0, is_whole: true };
        let Ok(epochs) = self.home.person_epochs() else {
            users.is_whole = false;
            return users;
        };
        users.epoch = epochs.last().copied().unwrap_or_default();
        let mut known = self.users.borrow_mut();
        for epoch in epochs.into_iter().rev() {
            if let Some(user) = known.get(&epoch) {
                users.identities.push(Rc::clone(user));
                continue;
            }
            let record = self.home.person_in_epoch(epoch);
            match record.and_then(|record| user_identity(self.device, &record)) {
                Ok(user) => {
                    let user = Rc::new(user);
                    known.insert(epoch, Rc::clone(&user));
                    users.identities.push(user);
                }
                Err(PersonError::File(_)) => users.is_whole = false,
                Err(_) => {}
            }
        }
        users
    }

    /// Keeps a later record of this person.
    pub(super) fn keep_person(&self, record: &PersonRecord) -> Result<(), PersonError> {
        self.home.store_person(record, &self.home.lock()?)
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

/// User identities of a person.
pub(super) struct Users {
    /// The newest first.
    pub(super) identities: Vec<Rc<Identity>>,
    /// Epoch of the newest record of this person that is here; 0 if there is none.
    pub(super) epoch: u64,
    /// False if a file could not be read.
    pub(super) is_whole: bool,
}

/// A group with its rosters, as far as they were asked for.
pub(super) struct Group {
    name: Name,
    pub(super) current: Rc<Roster>,
    rosters: HashMap<u64, Option<Roster>>,
}
