//! Connection of a client to one relay of its signer.

use endseal_nostr::connect::{MAX_CONTENT, sanitise};
use endseal_relay::address::Address;
use endseal_relay::client::{Notification, Relay};

use super::RemoteError;

/// Connection to a relay, and the reason why the current request cannot use it.
pub(super) struct Path {
    pub(super) address: Address,
    pub(super) relay: Relay,
    pub(super) was_connected: bool,
    obstacle: Option<Obstacle>,
    /// Reason of the relay that refused the current request for the moment; empty if none did.
    postponed: String,
}

enum Obstacle {
    /// The connection could not be established.
    Unreachable(String),
    /// The relay refused the request.
    Rejected(String),
}

impl Path {
    pub(super) fn new(address: Address, relay: Relay) -> Self {
        Self { address, relay, was_connected: false, obstacle: None, postponed: String::new() }
    }

    /// Clears the refusal of the previous request. A relay that was never connected stays unusable.
    pub(super) fn begin(&mut self) {
        if self.was_connected {
            self.obstacle = None;
        }
        self.postponed.clear();
    }

    /// Updates the state from a notification; `request` is the id of the event that was sent last.
    /// A connection that is lost later is no obstacle, because the relay client reconnects.
    pub(super) fn note(&mut self, notification: &Notification, request: &[u8; 32]) {
        match notification {
            Notification::Connected => {
                self.was_connected = true;
                self.begin();
            }
            Notification::Disconnected { reason, suspect } => {
                if suspect.as_ref() == Some(request) {
                    self.obstacle = Some(Obstacle::Rejected(shown(&reason.to_string())));
                } else if !self.was_connected {
                    self.obstacle = Some(Obstacle::Unreachable(shown(&reason.to_string())));
                }
            }
            Notification::Result { id, accepted: false, reason } if id == request => {
                self.obstacle = Some(Obstacle::Rejected(shown(reason)));
            }
            Notification::Postponed { id, reason } if id == request => {
                self.postponed = shown(reason);
            }
            Notification::Unsent(id) if id == request => {
                self.obstacle = Some(Obstacle::Rejected(self.postponed.clone()));
            }
            _ => {}
        }
    }
}

/// Returns an error if no connection can carry the request, and `None` while at least one can.
pub(super) fn blocked(paths: &[Path]) -> Option<RemoteError> {
    let mut error = None;
    for path in paths {
        match path.obstacle.as_ref()? {
            Obstacle::Rejected(reason) => error = Some(RemoteError::Rejected(reason.clone())),
            Obstacle::Unreachable(reason) => {
                error.get_or_insert_with(|| RemoteError::Unreachable(Some(reason.clone())));
            }
        }
    }
    error
}

/// Makes a remote text safe to show: shortened, without control and direction characters.
pub(super) fn shown(text: &str) -> String {
    sanitise(text, MAX_CONTENT).to_string()
}
