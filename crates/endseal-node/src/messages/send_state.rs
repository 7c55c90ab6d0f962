//! State of the sending over one connection: groups that are ahead at the hub, and persons about
//! whom it was asked.

use core::cell::RefCell;
use core::time::Duration;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::Certificate;
use endseal_session::EngineError;
use tokio::time::Instant;

use super::conversation::Conversation;
use super::payload::HubGroupId;
use super::shared_engine::SharedEngine;

/// Time after which the hub is asked again for the members of a team.
const ASKED: Duration = Duration::from_secs(3600);
/// Time after which a change of a group is tried again that was not possible.
const TRIED: Duration = Duration::from_secs(60);
/// Time within which commits that the hub has must arrive. After it, a group that is still behind
/// is given up: the hub does not deliver them.
const PATIENT: Duration = Duration::from_secs(20);

/// A group that is behind: the hub refused a frame, because the group is in another epoch there.
#[derive(Clone, Copy)]
struct Behind {
    /// Epoch of the frame.
    epoch: u64,
    since: Instant,
}

/// State of the sending of one connection.
#[derive(Default)]
pub(super) struct SendState {
    behind: RefCell<HashMap<HubGroupId, Behind>>,
    /// Persons about whom the hub was asked, with their devices there.
    asked: RefCell<HashMap<PublicKey, (Instant, Vec<Certificate>)>>,
    tried: RefCell<HashMap<Conversation, Instant>>,
    /// Members that the hub named after it refused a frame because it has others.
    at_hub: RefCell<HashMap<HubGroupId, Vec<PeerId>>>,
    /// Members whose mailboxes do not exist at the hub any more.
    gone: RefCell<HashMap<HubGroupId, HashSet<PeerId>>>,
}

impl SendState {
    /// Notes that a frame of a group, made in `epoch`, was refused because of it.
    pub(super) fn note_behind(&self, group: HubGroupId, epoch: u64) {
        let behind = Behind { epoch, since: Instant::now() };
        self.behind.borrow_mut().entry(group).or_insert(behind);
    }

    /// Returns true if commits of a group are missing that the hub has. `epoch` is the present one.
    pub(super) fn is_behind(&self, group: &HubGroupId, epoch: u64) -> bool {
        let mut behind = self.behind.borrow_mut();
        let is_behind = behind.get(group).is_some_and(|it| it.epoch >= epoch);
        if !is_behind {
            behind.remove(group);
        }
        is_behind
    }

    /// Returns the groups that are behind, with the epochs of the frames that were refused.
    pub(super) fn all_behind(
        &self,
        engine: &SharedEngine<'_>,
    ) -> Result<Vec<(HubGroupId, u64)>, EngineError> {
        let groups: Vec<_> = self.behind.borrow().iter().map(|(id, it)| (*id, it.epoch)).collect();
        let mut found = Vec::new();
        for (group, epoch) in groups {
            let present = engine.transaction(|transaction| transaction.group_epoch(&group))?;
            if present.is_some_and(|present| self.is_behind(&group, present)) {
                found.push((group, epoch));
            } else {
                self.forget(&group);
            }
        }
        Ok(found)
    }

    /// Returns true if a group is behind, or was when a frame was refused.
    pub(super) fn has_behind(&self) -> bool {
        !self.behind.borrow().is_empty()
    }

    /// Returns the groups that have been behind for so long that they must be given up.
    pub(super) fn stuck(&self, engine: &SharedEngine<'_>) -> Result<Vec<HubGroupId>, EngineError> {
        let mut groups: Vec<_> = self.all_behind(engine)?.into_iter().map(|(id, _)| id).collect();
        let behind = self.behind.borrow();
        groups.retain(|id| behind.get(id).is_some_and(|it| it.since.elapsed() > PATIENT));
        Ok(groups)
    }

    pub(super) fn forget(&self, group: &HubGroupId) {
        self.behind.borrow_mut().remove(group);
    }

    /// Returns true if the hub is to be asked for a member of a team now.
    pub(super) fn is_due(&self, person: &PublicKey) -> bool {
        let asked = self.asked.borrow();
        asked.get(person).is_none_or(|(asked, _)| asked.elapsed() > ASKED)
    }

    pub(super) fn note_asked(&self, person: &PublicKey, devices: Vec<Certificate>) {
        self.asked.borrow_mut().insert(*person, (Instant::now(), devices));
    }

    /// Returns the devices of a person that were at the hub when it was asked.
    pub(super) fn devices(&self, person: &PublicKey) -> Vec<Certificate> {
        self.asked.borrow().get(person).map_or(Vec::new(), |(_, devices)| devices.clone())
    }

    /// Makes the hub be asked again for all persons: one of their devices does not exist any more.
    pub(super) fn ask_again(&self) {
        self.asked.borrow_mut().clear();
    }

    /// Notes members of a group whose mailboxes do not exist at the hub. If no record tells that
    /// they were revoked, what is sent goes to the others.
    pub(super) fn note_gone(&self, group: HubGroupId, members: impl Iterator<Item = PeerId>) {
        self.gone.borrow_mut().entry(group).or_default().extend(members);
        self.ask_again();
    }

    /// Returns true if the mailbox of a member does not exist at the hub.
    pub(super) fn is_gone(&self, group: &HubGroupId, member: &PeerId) -> bool {
        self.gone.borrow().get(group).is_some_and(|gone| gone.contains(member))
    }

    /// Returns true if the mailbox of a member of a group does not exist at the hub.
    pub(super) fn has_gone(&self, group: &HubGroupId) -> bool {
        self.gone.borrow().contains_key(group)
    }

    /// Returns true if a change of a conversation's group was not tried within the last minute.
    pub(super) fn may_try(&self, conversation: &Conversation) -> bool {
        let mut tried = self.tried.borrow_mut();
        let may_try = tried.get(conversation).is_none_or(|it| it.elapsed() > TRIED);
        if may_try {
            tried.insert(*conversation, Instant::now());
        }
        may_try
    }

    /// Notes the members of a group that the hub has, in the place of those of this device.
    pub(super) fn note_at_hub(&self, group: HubGroupId, mut members: Vec<PeerId>) {
        members.sort_unstable();
        self.at_hub.borrow_mut().insert(group, members);
    }

    /// Returns the members that the hub has, if they are others than those of this device.
    pub(super) fn at_hub(&self, group: &HubGroupId) -> Option<Vec<PeerId>> {
        self.at_hub.borrow().get(group).cloned()
    }

    pub(super) fn forget_at_hub(&self, group: &HubGroupId) {
        self.at_hub.borrow_mut().remove(group);
    }
}
