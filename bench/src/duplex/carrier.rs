//! The interface of a subject: connections of two ends that know each other's keys, and a stream
//! that carries messages.

use core::error::Error;
use core::future::Future;
use std::net::SocketAddr;

use bytes::Bytes;

/// Error of a subject, for people.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Size of a piece, in bytes: a subject that collects messages sends after so many, and a bulk
/// transfer is passed on in such pieces unless the subject takes the content whole.
pub(crate) const PIECE: usize = 64 * 1024;

/// Protocol that a subject runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Udp,
    Tcp,
}

/// Identity of the client, and the server whose key it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// A client that the server knows, with the server's right key.
    Known,
    /// A client that the server does not know and must refuse.
    Outsider,
    /// A client that the server knows, but which expects another server's key and must refuse this
    /// one.
    Misled,
}

/// One way to carry messages between two ends.
pub(crate) trait Carrier: Send + Sync + 'static {
    /// The end that accepts connections.
    type Listener: Send + Sync + 'static;
    /// The end that opens connections.
    type Dialer: Send + Sync + 'static;
    /// An incoming connection. Its handshake may not have been made yet.
    type Incoming: Send + 'static;
    /// A handle that keeps a connection open. Dropping it and its stream closes the connection.
    type Connection: Send + 'static;
    /// The one stream that is used of each connection.
    type Stream: Stream;

    /// Protocol that this subject runs over.
    const WIRE: Wire;

    /// Listens on a free port of this machine. Called within a runtime, on a thread that may wait.
    fn listen(&self) -> Result<(Self::Listener, SocketAddr), Failure>;

    /// Prepares to connect as `who`. Called within a runtime, on a thread that may block.
    fn dialer(&self, who: Who) -> Result<Self::Dialer, Failure>;

    /// Returns the next incoming connection; `None` when the listener has ended.
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
    /// Sends a message. When this returns, the kernel or the library has all of it, and no further
    /// call is needed to send it.
    fn send(&mut self, message: &Bytes) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Sends one of many messages. It may be held back until [`PIECE`] bytes are collected, or
    /// until [`Self::flush`].
    fn feed(&mut self, message: &Bytes) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Sends all messages that [`Self::feed`] has held back.
    fn flush(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Receives the next message; `None` at the end of the stream.
    fn receive(&mut self) -> impl Future<Output = Result<Option<Bytes>, Failure>> + Send;

    /// Sends `content` as the subject sends a large file.
    fn send_bulk(&mut self, content: &Bytes) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Receives `bytes` of a bulk transfer and passes them on in order. Returns `false` if the
    /// stream ended before the first byte.
    fn receive_bulk(
        &mut self,
        bytes: usize,
        taker: &mut (impl FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<bool, Failure>> + Send;
}
