//! The interface of a subject: connections of two ends that know each other's keys, and a stream
//! that carries messages.

use core::error::Error;
use core::future::Future;
use std::net::SocketAddr;

use bytes::Bytes;

/// Whatever went wrong, in words.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Bytes that a subject collects of many messages, and bytes of a bulk transfer that are given to a
/// subject at once if it does not take the content whole.
pub(crate) const PIECE: usize = 64 * 1024;

/// The protocol below a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Udp,
    Tcp,
}

/// The client's identity, and the server that it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The one that the server knows, to the server.
    Known,
    /// Another one, whom the server must refuse.
    Stranger,
    /// The known one, who means another server and must refuse this one.
    Misled,
}

/// One way to carry messages between two ends.
pub(crate) trait Carrier: Send + Sync + 'static {
    /// The end that accepts connections.
    type Listener: Send + Sync + 'static;
    /// The end that opens connections.
    type Dialer: Send + Sync + 'static;
    /// A connection that came in, and whose handshake may be still to be made.
    type Incoming: Send + 'static;
    /// A handle that keeps a connection open. Dropping it and its stream closes the connection.
    type Connection: Send + 'static;
    /// The one stream of a connection that is used.
    type Stream: Stream;

    /// The protocol below this carrier.
    const WIRE: Wire;

    /// Listens on a free port of this machine. Called within a runtime, on a thread that may wait.
    fn listen(&self) -> Result<(Self::Listener, SocketAddr), Failure>;

    /// Gets ready to connect. Called likewise.
    fn dialer(&self, who: Who) -> Result<Self::Dialer, Failure>;

    /// The next connection; `None` when there will be none any more.
    fn accept(
        listener: &Self::Listener,
    ) -> impl Future<Output = Result<Option<Self::Incoming>, Failure>> + Send;

    /// Completes the handshake of the side that listens, and takes the stream.
    fn welcome(
        incoming: Self::Incoming,
    ) -> impl Future<Output = Result<(Self::Connection, Self::Stream), Failure>> + Send;

    /// Connects and opens the stream. The server may learn of the stream by its first message.
    fn connect(
        dialer: &Self::Dialer,
        server: SocketAddr,
    ) -> impl Future<Output = Result<(Self::Connection, Self::Stream), Failure>> + Send;
}

/// Messages both ways, in order.
pub(crate) trait Stream: Send + 'static {
    /// Sends a message. When this returns, the kernel or the library has all of it, and nothing
    /// waits for another call.
    fn send(&mut self, message: &Bytes) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Sends the next of many messages: it may wait until [`PIECE`] bytes are together, or for
    /// [`Self::flush`].
    fn feed(&mut self, message: &Bytes) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Sends what waits.
    fn flush(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// The next message; `None` at the end.
    fn receive(&mut self) -> impl Future<Output = Result<Option<Bytes>, Failure>> + Send;

    /// Sends `content` as the subject sends a large file.
    fn send_bulk(&mut self, content: &Bytes) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Receives `bytes` of it and hands them on, in order; `false` if the stream ended before the
    /// first.
    fn receive_bulk(
        &mut self,
        bytes: usize,
        taker: &mut (impl FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<bool, Failure>> + Send;
}
