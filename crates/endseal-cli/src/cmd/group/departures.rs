//! Members who have left groups.

use core::time::Duration;

use endseal_crypto::ed25519;
use endseal_keyring::Roster;
use endseal_node::Home;
use endseal_node::api::{CallError, Reply, Request};
use endseal_node::messages::{Conversation, Departure};

use crate::ctx::Ctx;
use crate::failure::Failure;
use crate::node_access::with_node;

/// Time for which the store is awaited.
const WAIT: Duration = Duration::from_secs(30);

/// Members who have left groups whose rosters still have them.
pub(super) struct Departures(Vec<Departure>);

impl Departures {
    /// Reads them; none without a store.
    pub(super) fn load(home: &Home, ctx: &mut Ctx) -> Result<Self, Failure> {
        if !home.store_path().exists() {
            return Ok(Self(Vec::new()));
        }
        match with_node(WAIT, ctx, |node, _| node.call(Request::Departures {}))? {
            Reply::Departures(page) => Ok(Self(page.rows)),
            _ => Err(CallError::Unexpected.into()),
        }
    }

    /// Returns true if this person has left the group of a roster, and the others do not know it.
    pub(super) fn is_pending(&self, roster: &Roster) -> bool {
        let team = Conversation::Group(*roster.id());
        self.0.iter().any(|it| it.team == team && it.is_pending)
    }

    /// Returns true if a person has left the group of a roster.
    pub(super) fn has(&self, roster: &Roster, person: &ed25519::PublicKey) -> bool {
        let team = Conversation::Group(*roster.id());
        self.0.iter().any(|it| it.team == team && it.person == *person)
    }
}
