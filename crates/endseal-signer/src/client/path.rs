//! The client's connection to one relay.

use endseal_nostr::connect::{MAX_CONTENT, sanitise};
use endseal_relay::address::Address;
use endseal_relay::client::{Notification, Relay};

use super::RemoteError;

/// A connection, and the reason why a request cannot pass it.
pub(super) struct Path {
    pub(super) address: Address,
    pub(super) relay: Relay,
    pub(super) was_connected: bool,
    obstacle: Option<Obstacle>,
}

enum Obstacle {
    /// It was not made.
    Unreachable(String),
    /// The relay refused the request.
    Rejected(String),
}

impl Path {
    pub(super) fn new(address: Address, relay: Relay) -> Self {
        Self { address, relay, was_connected: false, obstacle: None }
    }

    /// Forgets what hindered the request before.
    pub(super) fn begin(&mut self) {
        if self.was_connected {
            self.obstacle = None;
        }
    }

    /// Notes what happened, `request` being the event that was sent last. A connection that was
    /// lost is made again: that hinders nothing.
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
            _ => {}
        }
    }
}

/// The error of a request that can pass none of the paths.
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

/// A foreign text as errors have it.
pub(super) fn shown(text: &str) -> String {
    sanitise(text, MAX_CONTENT).to_string()
}
