//! Connection to one authenticated peer.

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use endseal_codec::Limits as FrameLimits;
use endseal_crypto::peer_id::PeerId;
use quinn::{SendStream, VarInt, WriteError};
use tokio::sync::{Mutex, oneshot, watch};
use tokio::time;

use crate::admission::ConnectionPermit;
use crate::close::{CloseCode, Closed};
use crate::conn_handle::ConnHandle;
use crate::error::{ReceiveError, SendError};
use crate::frame::Frame;
use crate::handshake::HandshakeInfo;
use crate::prefix::{Prefix, StreamType};
use crate::receiver::FrameReceiver;
use crate::sender::FrameSender;

/// Time for which [`Connection::close`] waits until the data on the control stream has arrived.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection to one authenticated peer. Clones are handles of the same connection. It is closed
/// with [`CloseCode::Done`] when the last handle and the last of its streams are dropped.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: ConnHandle,
    peer: PeerId,
    handshake: HandshakeInfo,
    first_remote: SocketAddr,
    limits: FrameLimits,
    control_out: Mutex<FrameSender>,
    control_in: Mutex<ControlIn>,
    /// Largest payload that the peer accepts, in bytes; 0 until its control stream has announced
    /// it.
    peer_max: watch::Receiver<u32>,
    /// True once the handshake is complete on this side; before that only early data can arrive.
    complete: watch::Receiver<bool>,
    _permit: ConnectionPermit,
}

#[derive(Debug)]
enum ControlIn {
    Waiting(oneshot::Receiver<FrameReceiver>),
    Here(Box<FrameReceiver>),
}

/// Components from which a connection is made after its handshake.
pub(crate) struct Parts {
    pub(crate) handle: ConnHandle,
    pub(crate) peer: PeerId,
    pub(crate) handshake: HandshakeInfo,
    pub(crate) limits: FrameLimits,
    pub(crate) control: SendStream,
    pub(crate) complete: watch::Receiver<bool>,
    pub(crate) control_timeout: Duration,
    pub(crate) permit: ConnectionPermit,
}

/// Opens this side's control stream, its first, and announces the limits of its frames.
pub(crate) async fn open_control(
    quinn: &quinn::Connection,
    limits: FrameLimits,
) -> Result<SendStream, Closed> {
    let mut stream = quinn.open_uni().await?;
    let written = begin_control(&mut stream, limits).await;
    written.map_err(|_| quinn.close_reason().map_or(Closed::Here, Closed::from))?;
    Ok(stream)
}

/// Writes the prefix of the control stream, with the largest payload that this side accepts.
pub(crate) async fn begin_control(
    stream: &mut SendStream,
    limits: FrameLimits,
) -> Result<(), WriteError> {
    let mut prefix = BytesMut::new();
    Prefix::Control { max_payload: limits.maximum() }.encode(&mut prefix);
    stream.write_all(&prefix).await?;
    // Short control frames must not wait behind long transfers. (The stream cannot have ended yet.)
    let _new = stream.set_priority(1);
    Ok(())
}

impl Connection {
    pub(crate) fn start(parts: Parts) -> Self {
        let Parts { handle, peer, handshake, limits, control, complete, .. } = parts;
        let (max_known, peer_max) = watch::channel(0);
        let (control_known, control_in) = oneshot::channel();
        let greeting = greet(handle.clone(), limits, max_known, control_known);
        let (quinn, timeout) = (handle.quinn.clone(), parts.control_timeout);
        tokio::spawn(async move {
            if time::timeout(timeout, greeting).await.is_err() {
                quinn.close(CloseCode::Stream.to_varint(), b"");
            }
        });
        Self(Arc::new(Inner {
            peer,
            handshake,
            first_remote: handle.quinn.remote_address(),
            limits,
            control_out: Mutex::new(FrameSender::new(
                control,
                handle.clone(),
                None,
                peer_max.clone(),
            )),
            control_in: Mutex::new(ControlIn::Waiting(control_in)),
            peer_max,
            complete,
            handle,
            _permit: parts.permit,
        }))
    }

    /// Returns the authenticated id of the peer.
    #[must_use]
    pub fn peer(&self) -> PeerId {
        self.0.peer
    }

    /// Returns algorithms, sizes and duration of the handshake.
    #[must_use]
    pub fn handshake(&self) -> &HandshakeInfo {
        &self.0.handshake
    }

    /// Returns measurements of the network path at this moment.
    #[must_use]
    pub fn path(&self) -> Path {
        let stats = self.0.handle.quinn.stats();
        let remote = self.0.handle.quinn.remote_address();
        Path {
            remote,
            migrated: remote != self.0.first_remote,
            rtt: self.0.handle.quinn.rtt(),
            mtu: stats.path.current_mtu,
            congestion_window: stats.path.cwnd,
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            bytes_sent: stats.udp_tx.bytes,
            bytes_received: stats.udp_rx.bytes,
            datagrams_sent: stats.udp_tx.datagrams,
            datagrams_received: stats.udp_rx.datagrams,
            stream_frames_sent: stats.frame_tx.stream,
            stream_frames_received: stats.frame_rx.stream,
            acks_received: stats.frame_rx.acks,
        }
    }

    /// Waits until the peer has accepted this side's key.
    ///
    /// A client completes its handshake when it has sent its proof, before the peer has checked it.
    /// The call is optional: without it, a refusal shows as an error of the next operation.
    ///
    /// # Errors
    /// [`Closed`] if the connection has ended; [`Closed::Refused`] if the peer does not accept the
    /// key.
    pub async fn confirmed(&self) -> Result<(), Closed> {
        let known = self.0.peer_max.clone().wait_for(|max| *max != 0).await.is_ok();
        if known { Ok(()) } else { Err(self.0.handle.closed()) }
    }

    /// Sends a frame on the control stream. Control frames arrive in order, and are sent before
    /// data of other streams. Dropping the call while it waits is safe, as for
    /// [`FrameSender::send`].
    ///
    /// # Errors
    /// [`SendError`] if the connection has ended or the frame is longer than the peer accepts.
    pub async fn send_control(&self, frame: &Frame) -> Result<(), SendError> {
        self.0.control_out.lock().await.send(frame).await
    }

    /// Returns the next frame of the peer's control stream, or `None` when the peer is about to
    /// close the connection. Dropping the call while it waits is safe.
    ///
    /// # Errors
    /// [`ReceiveError`] if the connection has ended, or the peer violated the protocol.
    pub async fn receive_control(&self) -> Result<Option<Frame>, ReceiveError> {
        self.completed().await?;
        let mut control = self.0.control_in.lock().await;
        if let ControlIn::Waiting(coming) = &mut *control {
            match coming.await {
                Ok(stream) => *control = ControlIn::Here(Box::new(stream)),
                Err(_) => return Err(ReceiveError::Closed(self.0.handle.closed())),
            }
        }
        match &mut *control {
            ControlIn::Here(stream) => stream.receive().await,
            ControlIn::Waiting(_) => Err(ReceiveError::Closed(self.0.handle.closed())),
        }
    }

    /// Lets the peer send `bytes` that are not read yet in all streams, and have `exchanges` open
    /// at once, in the place of [`Limits::first`](crate::Limits::first).
    pub fn widen(&self, bytes: u32, exchanges: u32) {
        self.0.handle.quinn.set_receive_window(VarInt::from_u32(bytes));
        self.0.handle.quinn.set_max_concurrent_bi_streams(VarInt::from_u32(exchanges));
    }

    /// Opens a one-way stream of frames to the peer. Waits while the peer's limit of open streams
    /// is reached.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the connection has ended.
    pub async fn open_messages(&self) -> Result<FrameSender, SendError> {
        let stream = self.0.handle.quinn.open_uni().await;
        let stream = stream.map_err(|error| SendError::Closed(error.into()))?;
        Ok(self.sender(stream, Some(Prefix::Message)))
    }

    /// Returns the next message stream that the peer has opened. Dropping the call while it waits
    /// is safe.
    ///
    /// Streams that are not accepted count against [`Limits::messages`](crate::Limits::messages);
    /// the peer waits when that many are open.
    ///
    /// # Errors
    /// [`ReceiveError::Closed`] if the connection has ended.
    pub async fn accept_messages(&self) -> Result<FrameReceiver, ReceiveError> {
        // The first stream is the control stream, which `greet` has accepted when this returns.
        self.confirmed().await.map_err(ReceiveError::Closed)?;
        let stream = self.0.handle.quinn.accept_uni().await;
        let stream = stream.map_err(|error| ReceiveError::Closed(error.into()))?;
        let expected = Some(StreamType::Message);
        Ok(FrameReceiver::new(stream, self.0.handle.clone(), expected, self.0.limits))
    }

    /// Opens an exchange: a stream of frames in both directions. The peer learns of it with the
    /// first frame. Waits while the peer's limit of open exchanges is reached.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the connection has ended.
    pub async fn open_exchange(&self) -> Result<(FrameSender, FrameReceiver), SendError> {
        let streams = self.0.handle.quinn.open_bi().await;
        let (send, receive) = streams.map_err(|error| SendError::Closed(error.into()))?;
        let receiver = FrameReceiver::new(receive, self.0.handle.clone(), None, self.0.limits);
        Ok((self.sender(send, Some(Prefix::Exchange)), receiver))
    }

    /// Returns the next exchange that the peer has opened. Dropping the call while it waits is
    /// safe.
    ///
    /// # Errors
    /// [`ReceiveError::Closed`] if the connection has ended.
    pub async fn accept_exchange(&self) -> Result<(FrameSender, FrameReceiver), ReceiveError> {
        let streams = self.0.handle.quinn.accept_bi().await;
        let (send, receive) = streams.map_err(|error| ReceiveError::Closed(error.into()))?;
        let expected = Some(StreamType::Exchange);
        let receiver = FrameReceiver::new(receive, self.0.handle.clone(), expected, self.0.limits);
        Ok((self.sender(send, None), receiver))
    }

    /// Closes the connection in order: ends the control stream, waits up to 2 s until the peer has
    /// acknowledged it, and closes with `code`. Data of other streams that are not finished is
    /// lost.
    pub async fn close(&self, code: CloseCode) {
        let close_message = async {
            let mut control = self.0.control_out.lock().await;
            if control.flush().await.is_ok() && control.end_stream().is_ok() {
                control.arrived().await;
            }
        };
        // The connection is closed in the same way if the data did not arrive.
        let _arrived = time::timeout(CLOSE_TIMEOUT, close_message).await;
        self.abort(code);
    }

    /// Closes the connection at once with `code`. Data that was not acknowledged may be lost.
    pub fn abort(&self, code: CloseCode) {
        self.0.handle.quinn.close(code.to_varint(), b"");
    }

    /// Waits until the connection has ended, and returns the reason.
    pub async fn closed(&self) -> Closed {
        self.0.handle.quinn.closed().await.into()
    }

    /// Returns the reason for the end of the connection; `None` while it is open.
    #[must_use]
    pub fn close_reason(&self) -> Option<Closed> {
        self.0.handle.quinn.close_reason().map(Closed::from)
    }

    fn sender(&self, stream: SendStream, prefix: Option<Prefix>) -> FrameSender {
        FrameSender::new(stream, self.0.handle.clone(), prefix, self.0.peer_max.clone())
    }

    async fn completed(&self) -> Result<(), ReceiveError> {
        let done = self.0.complete.clone().wait_for(|complete| *complete).await.is_ok();
        if done { Ok(()) } else { Err(ReceiveError::Closed(self.0.handle.closed())) }
    }
}

/// Accepts the peer's control stream, which must be its first stream, and reads its prefix.
async fn greet(
    handle: ConnHandle,
    limits: FrameLimits,
    max_known: watch::Sender<u32>,
    control_known: oneshot::Sender<FrameReceiver>,
) {
    // Errors need no report here: the connection is closed, and every waiting call returns the
    // reason.
    let Ok(stream) = handle.quinn.accept_uni().await else { return };
    let mut control = FrameReceiver::new(stream, handle.clone(), Some(StreamType::Control), limits);
    if let Ok(Some(Prefix::Control { max_payload })) = control.read_prefix().await {
        // The receivers may be gone. The value stays available after this sender is dropped.
        let _known = control_known.send(control);
        let _known = max_known.send(max_payload);
    }
}

/// Measurements of the network path of a connection at one moment. Counts are totals since its
/// start.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Path {
    /// The peer's current address.
    pub remote: SocketAddr,
    /// True if the address differs from that at the handshake.
    pub migrated: bool,
    /// Estimate of the round-trip time.
    pub rtt: Duration,
    /// Largest UDP payload in use, in bytes.
    pub mtu: u16,
    /// Congestion window: bytes that may be in flight.
    pub congestion_window: u64,
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// QUIC packets sent and declared lost.
    pub packets_lost: u64,
    /// Bytes of UDP payload sent.
    pub bytes_sent: u64,
    /// Bytes of UDP payload received.
    pub bytes_received: u64,
    /// UDP datagrams sent.
    pub datagrams_sent: u64,
    /// UDP datagrams received.
    pub datagrams_received: u64,
    /// STREAM frames sent, including retransmissions (RFC 9000, 19.8). Keep-alive packets carry
    /// none.
    pub stream_frames_sent: u64,
    /// STREAM frames received.
    pub stream_frames_received: u64,
    /// ACK frames received (RFC 9000, 19.3).
    pub acks_received: u64,
}
