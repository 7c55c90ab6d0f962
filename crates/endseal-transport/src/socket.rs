//! UDP socket of an endpoint.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// Opens a non-blocking socket at `address` with buffers of `buffer` bytes, or as many as the
/// system allows.
///
/// The default of Linux is 208 KiB: 140 full packets, a fraction of one burst of segments.
pub(crate) fn bind(address: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // A request only: the system may cap it without an error (net.core.rmem_max) or refuse it. Both
    // are acceptable.
    let _capped = socket.set_recv_buffer_size(buffer);
    let _capped = socket.set_send_buffer_size(buffer);
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
