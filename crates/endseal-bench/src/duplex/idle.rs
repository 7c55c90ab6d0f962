//! Connections on which nothing happens: what they cost in memory.

use super::carrier::Carrier;
use super::work::{Duplex, Fault, handshake, on};

/// Connections that stay open until this is dropped.
#[must_use]
pub(crate) struct Idle<C: Carrier>(Vec<(C::Connection, C::Stream)>);

impl<C: Carrier> Idle<C> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Opens `number` connections, each of which has carried one byte and its echo.
pub(crate) fn open<C: Carrier>(duplex: &Duplex<C>, number: usize) -> Result<Idle<C>, Fault> {
    let (server, dialer) = (duplex.server, duplex.dialer.clone());
    let mut contents = duplex.contents.clone();
    on(&duplex.here, async move {
        let mut open = Vec::with_capacity(number);
        for _ in 0..number {
            open.push(handshake::<C>(&dialer, server, &mut contents).await?);
        }
        Ok(Idle(open))
    })
}
