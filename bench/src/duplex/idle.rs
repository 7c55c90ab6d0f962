//! Memory that idle connections cost.

use super::carrier::Carrier;
use super::work::{Duplex, Fault, handshake, on};
use crate::allocation;

/// Number of connections over which the mean is taken.
const NUMBER: usize = 64;

/// Connections that stay open until this is dropped.
#[must_use]
struct Idle<C: Carrier>(Vec<(C::Connection, C::Stream)>);

/// Measures the bytes of heap that a connection keeps at both ends. `None` if the program does not
/// count allocations.
pub(crate) fn memory<C: Carrier>(duplex: &Duplex<C>) -> Result<Option<u64>, Fault> {
    // One connection is opened before the count, so that tables that are allocated once are not
    // counted.
    drop(open(duplex, 1)?);
    let mut idle = None;
    let counted = allocation::measure(|| idle = Some(open(duplex, NUMBER)));
    let number = idle.transpose()?.map_or(0, |idle| idle.0.len());
    let counts = counted.calls > 0 && number > 0;
    Ok(counts.then(|| (counted.live / number) as u64))
}

/// Opens `number` connections, each of which has carried one byte and its echo.
fn open<C: Carrier>(duplex: &Duplex<C>, number: usize) -> Result<Idle<C>, Fault> {
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
