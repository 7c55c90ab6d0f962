#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A [`Policy`] has one key exchange group and one signature scheme. The protocol is specified in
//! `docs/spec/transport.md` of the project.
//!
//! | to do this | use |
//! |---|---|
//! | open a socket, connect, accept | [`Endpoint`] with a [`TransportKey`], a [`Policy`], [`Accept`] |
//! | send short frames in order | [`Connection::send_control`], [`Connection::receive_control`] |
//! | send many frames one way | [`Connection::open_messages`], [`Connection::accept_messages`] |
//! | request and answer | [`Connection::open_exchange`], [`Connection::accept_exchange`] |
//! | reconnect after a loss | [`PersistentConnection`] with a [`Backoff`] |
//! | save a round trip for replayable frames | [`Endpoint::connect_early`], [`IdempotentFrame`] |
//! | observe handshakes, paths and totals | [`HandshakeInfo`], [`Path`], [`Statistics`] |
//!
//! # Memory
//! All buffers and counts are bounded by [`Limits`]: data received and not read, data written and
//! not acknowledged, streams, connections, handshakes. If a peer never reads, the writer waits.
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

mod admission;
mod backoff;
mod close;
mod conn_handle;
mod connect_attempt;
mod connection;
mod early;
mod endpoint;
mod error;
mod frame;
mod half_open;
mod handshake;
mod incoming;
mod key;
mod limits;
mod persistent;
mod pin;
mod policy;
mod prefix;
mod receiver;
mod renewal;
mod reset;
mod route;
mod sender;
mod shared;
mod socket;
mod statistics;
mod tls;
mod window;

pub use backoff::{Backoff, Failures};
pub use close::{CloseCode, Closed};
pub use connection::{Connection, Path};
pub use early::{EarlyConnection, IdempotentFrame};
pub use endpoint::Endpoint;
pub use endseal_codec::frame::{FrameError, Kind};
pub use endseal_crypto::peer_id::PeerId;
pub use error::{BindError, ConnectError, ReceiveError, SendError};
pub use frame::Frame;
pub use handshake::{EarlyData, HandshakeInfo};
pub use key::TransportKey;
pub use limits::{FRAME_INITIAL, FRAME_MAX, FirstWindow, Limits};
pub use persistent::PersistentConnection;
pub use pin::Accept;
pub use policy::{CodePoint, Policy};
pub use prefix::{Prefix, PrefixError, StreamType};
pub use receiver::FrameReceiver;
pub use sender::FrameSender;
pub use statistics::Statistics;
#[doc(hidden)]
pub use tls::in_memory::{HandshakeMessages, handshake_in_memory};
