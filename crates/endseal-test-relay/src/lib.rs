//! A Nostr relay in memory for tests: NIP-01, NIP-42 and NIP-11 within bounds. A development
//! dependency only.
//!
//! Ids and signatures of events are verified. Ephemeral events (kinds 20000 to 29999) are forwarded
//! and never stored, replaceable and addressable ones are replaced, the others stored. Nothing is
//! written to a disk. It can be told to misbehave, by [`faults`].

#![forbid(unsafe_code)]

extern crate alloc;

mod connection;
pub mod faults;
mod head;
mod hub;
mod information;
mod listener;
mod settings;
mod store;

use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;
use std::io;

use bytes::Bytes;
use endseal_nostr::event::Event;

pub use settings::{Limits, Settings};

use crate::faults::Faults;
use crate::hub::Hub;
use crate::listener::Listener;

/// A relay that runs until it is stopped or dropped.
pub struct Server {
    hub: Arc<Hub>,
    address: SocketAddr,
    listener: Option<Listener>,
}

impl Server {
    /// Listens at `address`; port 0 takes one that is free. Serves on the current runtime.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub async fn bind(address: SocketAddr, settings: Settings) -> io::Result<Self> {
        let hub = Arc::new(Hub::new(settings));
        let listener = Listener::bind(address, Arc::clone(&hub)).await?;
        Ok(Self { hub, address: listener.address(), listener: Some(listener) })
    }

    /// Address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL for clients on this machine.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Replaces the faults, for connections that exist too.
    pub fn set_faults(&self, faults: Faults) {
        self.hub.set_faults(faults);
    }

    /// Number of connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.hub.connections()
    }

    /// Number of subscriptions of all connections.
    #[must_use]
    pub fn subscriptions(&self) -> usize {
        self.hub.subscriptions()
    }

    /// Number of events that were accepted since the start, also those that are not stored.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.hub.accepted()
    }

    /// Forwards an event as if a client had sent it, and does not verify it. An aid for tests that
    /// send more than a client can. Returns false if the JSON is not that of an event.
    pub fn forward(&self, json: &Bytes) -> bool {
        let Ok(event) = Event::parse(json) else { return false };
        self.hub.publish(&event, json);
        true
    }

    /// Ends all connections and stops listening; what is stored stays.
    pub async fn suspend(&mut self) {
        if let Some(listener) = self.listener.take() {
            listener.stop().await;
        }
    }

    /// Listens again at the same address.
    ///
    /// # Errors
    /// Those of the system.
    pub async fn resume(&mut self) -> io::Result<()> {
        if self.listener.is_none() {
            self.listener = Some(Listener::bind(self.address, Arc::clone(&self.hub)).await?);
        }
        Ok(())
    }

    /// Ends all connections with a goodbye, and stops.
    pub async fn stop(mut self) {
        self.suspend().await;
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}
