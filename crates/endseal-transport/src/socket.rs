//! The UDP socket.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// A socket at `address` with buffers of `buffer` bytes, or of what the system allows.
///
/// The default of Linux is 208 KiB: 140 full packets, a fraction of one burst of segments.
pub(crate) fn bind(address: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // A wish: the system caps it (net.core.rmem_max) without an error, or refuses, and both will
    // do.
    let _capped = socket.set_recv_buffer_size(buffer);
    let _capped = socket.set_send_buffer_size(buffer);
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
