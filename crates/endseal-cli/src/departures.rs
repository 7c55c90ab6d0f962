//! Members who have left groups.

use core::time::Duration;

use endseal_crypto::ed25519;
use endseal_keyring::{Name, Roster};
use endseal_node::Home;
use endseal_node::api::{CallError, Reply, Request};
use endseal_node::messages::{Conversation, Departure};

use crate::ctx::Ctx;
use crate::failure::Failure;
use crate::node_access::with_node;

/// Time for which the store is awaited.
const WAIT: Duration = Duration::from_secs(30);

/// Members who have left groups whose rosters still have them.
#[derive(Default)]
pub(crate) struct Departures(Vec<Departure>);

impl Departures {
    /// Reads them; none without a store.
    pub(crate) fn load(home: &Home, ctx: &mut Ctx) -> Result<Self, Failure> {
        if !home.store_path().exists() {
            return Ok(Self(Vec::new()));
        }
        match with_node(WAIT, ctx, |node, _| node.call(Request::Departures {}))? {
            Reply::Departures(page) => Ok(Self(page.rows)),
            _ => Err(CallError::Unexpected.into()),
        }
    }

    /// Returns true if this person has left the group of a roster, and the others do not know it.
    pub(crate) fn is_pending(&self, roster: &Roster) -> bool {
        let team = Conversation::Group(*roster.id());
        self.0.iter().any(|it| it.team == team && it.is_pending)
    }

    /// Returns true if a person has left the group of a roster.
    pub(crate) fn has(&self, roster: &Roster, person: &ed25519::PublicKey) -> bool {
        let team = Conversation::Group(*roster.id());
        self.0.iter().any(|it| it.team == team && it.person == *person)
    }
}

/// Part of this person in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnPart {
    Member,
    /// The person has left the group, and its roster may still have the name.
    HasLeft,
    /// Others removed the person: the newest roster that is here is the one of the removal.
    WasRemoved,
    /// No roster that is here has the person.
    NoMember,
}

impl OwnPart {
    /// Finds the part of `own` in a group, of which `roster` is the newest one that is here.
    pub(crate) fn of(
        own: &ed25519::PublicKey,
        group: &Name,
        roster: &Roster,
        departures: &Departures,
        home: &Home,
    ) -> Self {
        if departures.has(roster, own) {
            return Self::HasLeft;
        }
        if roster.member_of_key(own).is_some() {
            return Self::Member;
        }
        let groups = home.groups();
        let had =
            |epoch: u64| groups.epoch(group, epoch).is_ok_and(|it| it.member_of_key(own).is_some());
        match groups.epochs(group).unwrap_or_default().into_iter().rev().any(had) {
            true => Self::WasRemoved,
            false => Self::NoMember,
        }
    }

    /// Describes it behind the epoch of the group.
    pub(crate) const fn clause(self) -> &'static str {
        match self {
            Self::Member => "",
            Self::HasLeft => ", you have left",
            Self::WasRemoved => ", you were removed",
            Self::NoMember => ", you are no member",
        }
    }

    /// Describes it in a sentence, with the group behind it. `None` for a member.
    pub(crate) const fn sentence(self) -> Option<&'static str> {
        match self {
            Self::Member => None,
            Self::HasLeft => Some("you have left"),
            Self::WasRemoved => Some("you were removed from"),
            Self::NoMember => Some("you are no member of"),
        }
    }
}
