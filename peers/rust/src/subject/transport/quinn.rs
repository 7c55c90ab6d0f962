//! Plain quinn: its own defaults, and messages behind their length.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, Incoming, ReadExactError, RecvStream, SendStream,
    ServerConfig,
};

use super::carrier::{Carrier, Failure, PIECE, Stream, Who, Wire};
use super::relay::HERE;
use super::tls::{Keys, Strength};
use super::work::{Fault, failed};
use super::{PINNED, PINNED_POST_QUANTUM, Transport, ends};

const CRATES: &[&str] = &["quinn", "quinn-proto", "rustls", "aws-lc-rs"];
const SETTINGS: &str = "https://docs.rs/quinn/0.11.12/quinn/struct.TransportConfig.html";

pub(super) const POST_QUANTUM: Transport = Transport {
    name: "quinn",
    about: "QUIC as quinn sets it up; X25519MLKEM768, ML-DSA-65 raw keys of both sides",
    crates: CRATES,
    settings: SETTINGS,
    properties: PINNED_POST_QUANTUM,
    prepare: |work, inputs| ends(Quinn::new(Strength::PostQuantum)?, work, inputs),
};

pub(super) const CLASSICAL: Transport = Transport {
    name: "quinn-classical",
    about: "QUIC as quinn sets it up; X25519, Ed25519 raw keys of both sides",
    crates: CRATES,
    settings: SETTINGS,
    properties: PINNED,
    prepare: |work, inputs| ends(Quinn::new(Strength::Classical)?, work, inputs),
};

/// What stands where TLS wants a name; it is not sent.
const NO_NAME: &str = "peer.invalid";
/// Pieces that are taken from quinn at once.
const PIECES: usize = 32;

struct Quinn {
    keys: Keys,
}

impl Quinn {
    fn new(strength: Strength) -> Result<Self, Fault> {
        Ok(Self { keys: Keys::new(strength).map_err(failed)? })
    }
}

struct Pair {
    send: SendStream,
    receive: RecvStream,
    /// Lengths and messages that wait for others, and their bytes.
    waiting: Vec<Bytes>,
    bytes: usize,
}

impl Pair {
    fn new((send, receive): (SendStream, RecvStream)) -> Self {
        Self { send, receive, waiting: Vec::new(), bytes: 0 }
    }
}

impl Carrier for Quinn {
    type Listener = Endpoint;
    type Dialer = Endpoint;
    type Incoming = Incoming;
    type Connection = Connection;
    type Stream = Pair;

    const WIRE: Wire = Wire::Udp;

    fn listen(&self) -> Result<(Endpoint, SocketAddr), Failure> {
        let tls = QuicServerConfig::try_from(self.keys.server_config()?)?;
        let endpoint = Endpoint::server(ServerConfig::with_crypto(Arc::new(tls)), HERE)?;
        let address = endpoint.local_addr()?;
        Ok((endpoint, address))
    }

    fn dialer(&self, who: Who) -> Result<Endpoint, Failure> {
        let tls = QuicClientConfig::try_from(self.keys.client_config(who)?)?;
        let mut endpoint = Endpoint::client(HERE)?;
        endpoint.set_default_client_config(ClientConfig::new(Arc::new(tls)));
        Ok(endpoint)
    }

    async fn accept(listener: &Endpoint) -> Result<Option<Incoming>, Failure> {
        Ok(listener.accept().await)
    }

    async fn welcome(incoming: Incoming) -> Result<(Connection, Pair), Failure> {
        let connection = incoming.await?;
        let pair = Pair::new(connection.accept_bi().await?);
        Ok((connection, pair))
    }

    async fn connect(dialer: &Endpoint, server: SocketAddr) -> Result<(Connection, Pair), Failure> {
        let connection = dialer.connect(server, NO_NAME)?.await?;
        let pair = Pair::new(connection.open_bi().await?);
        Ok((connection, pair))
    }
}

impl Stream for Pair {
    async fn send(&mut self, message: &Bytes) -> Result<(), Failure> {
        self.feed(message).await?;
        self.flush().await
    }

    async fn feed(&mut self, message: &Bytes) -> Result<(), Failure> {
        let length = u32::try_from(message.len())?.to_be_bytes();
        self.waiting.extend([Bytes::copy_from_slice(&length), message.clone()]);
        self.bytes += length.len() + message.len();
        if self.bytes < PIECE {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.send.write_all_chunks(&mut self.waiting).await?;
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, Failure> {
        let mut length = [0; 4];
        match self.receive.read_exact(&mut length).await {
            Ok(()) => {}
            Err(ReadExactError::FinishedEarly(0)) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mut message = BytesMut::zeroed(usize::try_from(u32::from_be_bytes(length))?);
        self.receive.read_exact(&mut message).await?;
        Ok(Some(message.freeze()))
    }

    async fn send_bulk(&mut self, content: &Bytes) -> Result<(), Failure> {
        Ok(self.send.write_chunk(content.clone()).await?)
    }

    async fn receive_bulk(
        &mut self,
        bytes: usize,
        taker: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<bool, Failure> {
        let mut left = bytes;
        while left > 0 {
            let mut pieces = [const { Bytes::new() }; PIECES];
            match self.receive.read_chunks(&mut pieces).await? {
                None if left == bytes => return Ok(false),
                None => return Err("the stream ended in the middle".into()),
                Some(count) => {
                    for piece in &pieces[..count] {
                        taker(piece);
                        left = left.checked_sub(piece.len()).ok_or("more came than was sent")?;
                    }
                }
            }
        }
        Ok(true)
    }
}
