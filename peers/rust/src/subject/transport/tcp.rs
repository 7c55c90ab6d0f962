//! TCP, alone and with TLS 1.3. Each message is preceded by its length and read through a buffer.

use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use super::tls::{Keys, Strength};
use crate::transport::carrier::{Carrier, Failure, PIECE, Stream, Who, Wire};
use crate::transport::relay::HERE;
use crate::transport::work::{Fault, failed};
use crate::transport::{PINNED, PINNED_POST_QUANTUM, Transport, ends};

const TLS_CRATES: &[&str] = &["tokio-rustls", "rustls", "aws-lc-rs", "tokio"];
const TLS_SETTINGS: &str = "https://docs.rs/tokio-rustls/0.26.6/tokio_rustls/";

pub(super) const TLS: Transport = Transport {
    name: "tcp-tls",
    about: "TCP and TLS 1.3 by rustls; X25519, Ed25519 raw keys of both sides",
    crates: TLS_CRATES,
    settings: TLS_SETTINGS,
    properties: PINNED,
    prepare: |work, inputs| ends(Tls::new(Strength::Classical)?, work, inputs),
};

pub(super) const TLS_POST_QUANTUM: Transport = Transport {
    name: "tcp-tls-pq",
    about: "TCP and TLS 1.3 by rustls; X25519MLKEM768, ML-DSA-65 raw keys of both sides",
    crates: TLS_CRATES,
    settings: TLS_SETTINGS,
    properties: PINNED_POST_QUANTUM,
    prepare: |work, inputs| ends(Tls::new(Strength::PostQuantum)?, work, inputs),
};

pub(super) const PLAIN: Transport = Transport {
    name: "tcp",
    about: "TCP without any protection: the floor",
    crates: &["tokio"],
    settings: "https://docs.rs/tokio/1.54.1/tokio/net/struct.TcpStream.html",
    properties: &[],
    prepare: |work, inputs| ends(Plain, work, inputs),
};

/// Server name for TLS, which requires one; it is not sent.
const NO_NAME: &str = "peer.invalid";

struct Plain;

struct Tls {
    keys: Keys,
}

impl Tls {
    fn new(strength: Strength) -> Result<Self, Fault> {
        Ok(Self { keys: Keys::new(strength).map_err(failed)? })
    }
}

/// There is no separate connection: dropping the stream closes it.
type Alone = PhantomData<()>;

struct Framed<S> {
    stream: BufReader<S>,
    /// Lengths and messages that are collected and written at once.
    buffer: Vec<u8>,
}

impl<S: AsyncRead> Framed<S> {
    fn new(stream: S) -> Self {
        Self { stream: BufReader::with_capacity(PIECE, stream), buffer: Vec::new() }
    }
}

impl Carrier for Plain {
    type Listener = TcpListener;
    type Dialer = ();
    type Incoming = TcpStream;
    type Connection = Alone;
    type Stream = Framed<TcpStream>;

    const WIRE: Wire = Wire::Tcp;

    fn listen(&self) -> Result<(TcpListener, SocketAddr), Failure> {
        listen()
    }

    fn dialer(&self, _: Who) -> Result<(), Failure> {
        Ok(())
    }

    async fn accept(listener: &TcpListener) -> Result<Option<TcpStream>, Failure> {
        Ok(Some(accept(listener).await?))
    }

    async fn welcome(incoming: TcpStream) -> Result<(Alone, Self::Stream), Failure> {
        Ok((PhantomData, Framed::new(incoming)))
    }

    async fn connect(_: &(), server: SocketAddr) -> Result<(Alone, Self::Stream), Failure> {
        Ok((PhantomData, Framed::new(connect(server).await?)))
    }
}

impl Carrier for Tls {
    type Listener = (TcpListener, TlsAcceptor);
    type Dialer = TlsConnector;
    type Incoming = (TcpStream, TlsAcceptor);
    type Connection = Alone;
    type Stream = Framed<TlsStream<TcpStream>>;

    const WIRE: Wire = Wire::Tcp;

    fn listen(&self) -> Result<(Self::Listener, SocketAddr), Failure> {
        let (listener, address) = listen()?;
        let acceptor = TlsAcceptor::from(Arc::new(self.keys.server_config()?));
        Ok(((listener, acceptor), address))
    }

    fn dialer(&self, who: Who) -> Result<TlsConnector, Failure> {
        Ok(TlsConnector::from(Arc::new(self.keys.client_config(who)?)))
    }

    async fn accept(
        (listener, acceptor): &Self::Listener,
    ) -> Result<Option<Self::Incoming>, Failure> {
        Ok(Some((accept(listener).await?, acceptor.clone())))
    }

    async fn welcome(
        (incoming, acceptor): Self::Incoming,
    ) -> Result<(Alone, Self::Stream), Failure> {
        let stream = acceptor.accept(incoming).await?;
        Ok((PhantomData, Framed::new(stream.into())))
    }

    async fn connect(
        dialer: &TlsConnector,
        server: SocketAddr,
    ) -> Result<(Alone, Self::Stream), Failure> {
        let name = ServerName::try_from(NO_NAME)?;
        let stream = dialer.connect(name, connect(server).await?).await?;
        Ok((PhantomData, Framed::new(stream.into())))
    }
}

fn listen() -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = std::net::TcpListener::bind(HERE)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}

async fn accept(listener: &TcpListener) -> Result<TcpStream, Failure> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn connect(server: SocketAddr) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for Framed<S> {
    async fn send(&mut self, message: &Bytes) -> Result<(), Failure> {
        self.feed(message).await?;
        self.flush().await
    }

    async fn feed(&mut self, message: &Bytes) -> Result<(), Failure> {
        self.buffer.extend_from_slice(&u32::try_from(message.len())?.to_be_bytes());
        self.buffer.extend_from_slice(message);
        if self.buffer.len() < PIECE {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.stream.write_all(&self.buffer).await?;
        self.buffer.clear();
        Ok(self.stream.flush().await?)
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, Failure> {
        if self.stream.fill_buf().await?.is_empty() {
            return Ok(None);
        }
        let mut message = BytesMut::zeroed(usize::try_from(self.stream.read_u32().await?)?);
        self.stream.read_exact(&mut message).await?;
        Ok(Some(message.freeze()))
    }

    async fn send_bulk(&mut self, content: &Bytes) -> Result<(), Failure> {
        for piece in content.chunks(PIECE) {
            self.stream.write_all(piece).await?;
        }
        Ok(self.stream.flush().await?)
    }

    async fn receive_bulk(
        &mut self,
        bytes: usize,
        taker: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<bool, Failure> {
        let mut left = bytes;
        while left > 0 {
            let piece = self.stream.fill_buf().await?;
            if piece.is_empty() {
                return if left == bytes { Ok(false) } else { Err("ended in the middle".into()) };
            }
            taker(piece);
            let taken = piece.len();
            self.stream.consume(taken);
            left = left.checked_sub(taken).ok_or("more came than was sent")?;
        }
        Ok(true)
    }
}
