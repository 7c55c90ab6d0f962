//! The peers that may connect to a running listener, as the list of peers has them now.

use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use endseal_keyring::Peers;
use endseal_node::{AddressBookError, Home};
use endseal_transport::{Accept, PeerId};

/// The list of peers. It is read again when a peer connects after the file has changed, so that a
/// peer that was added just now is accepted, and one that was removed is refused.
#[derive(Clone)]
pub(crate) struct KnownPeers(Arc<Mutex<State>>);

struct State {
    home: Home,
    peers: Peers,
    /// Inode and time of change of the file; `None` if there was no file.
    stamp: Option<[i64; 3]>,
}

impl KnownPeers {
    /// Reads the list.
    ///
    /// # Errors
    /// Returns [`AddressBookError`] if it is damaged or others may use it.
    pub(crate) fn load(home: Home) -> Result<Self, AddressBookError> {
        let stamp = stamp(&home);
        let peers = home.peers()?;
        Ok(Self(Arc::new(Mutex::new(State { home, peers, stamp }))))
    }

    /// Calls `work` with the list as it is now. A list that is damaged now is not used: the last
    /// one counts.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Peers) -> T) -> T {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&state.home);
        // The stamp is taken before the file is read: a change in between is seen the next time.
        if now != state.stamp
            && let Ok(peers) = state.home.peers()
        {
            state.peers = peers;
            state.stamp = now;
        }
        work(&state.peers)
    }

    /// Returns the rule that accepts the peers of the list.
    pub(crate) fn accept(&self) -> Accept {
        let own = self.clone();
        let is_known = move |id: &PeerId| own.with(|peers| peers.name_of(id).is_some());
        Accept::when(is_known)
    }
}

fn stamp(home: &Home) -> Option<[i64; 3]> {
    let metadata = home.peers_path().metadata().ok()?;
    // Each change of the program makes a new file; an editor may write into the old one.
    let inode = i64::from_ne_bytes(metadata.ino().to_ne_bytes());
    Some([inode, metadata.mtime(), metadata.mtime_nsec()])
}
