//! A relay between two ends, for cases in which the path is part of the measurement. It delays
//! pieces, counts them, and can change a bit. It treats datagrams and pieces of a stream alike.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::carrier::Wire;

/// Address of this machine with a free port.
pub(crate) const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Least length of a piece that carries content, so that a bit in its middle can be changed.
const CONTENT: usize = 600;
/// Largest size of a datagram.
const DATAGRAM_MAX: usize = 65_536;

/// A relay to one server. It ends with the runtime in which it was started.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    way: Arc<Way>,
}

#[derive(Debug)]
struct Way {
    delay: Duration,
    to_server: AtomicU64,
    to_client: AtomicU64,
    change_next: AtomicBool,
}

/// A piece with the time of its arrival.
type Timed = (Instant, Vec<u8>);

impl Relay {
    /// Starts a relay that delays all pieces by `delay` in each direction.
    pub(crate) async fn start(wire: Wire, server: SocketAddr, delay: Duration) -> io::Result<Self> {
        let way = Arc::new(Way {
            delay,
            to_server: AtomicU64::new(0),
            to_client: AtomicU64::new(0),
            change_next: AtomicBool::new(false),
        });
        let address = match wire {
            Wire::Udp => udp(server, way.clone()).await?,
            Wire::Tcp => tcp(server, way.clone()).await?,
        };
        Ok(Self { address, way })
    }

    /// Returns the address to which clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the payload bytes of UDP or TCP so far: from the client, and from the server.
    pub(crate) fn passed(&self) -> (u64, u64) {
        (self.way.to_server.load(Ordering::Acquire), self.way.to_client.load(Ordering::Acquire))
    }

    /// Changes a bit in the next piece from the client that is long enough to carry content.
    pub(crate) fn change_a_bit(&self) {
        self.way.change_next.store(true, Ordering::Release);
    }

    /// Returns true unless a requested change has not been made yet.
    pub(crate) fn has_changed(&self) -> bool {
        !self.way.change_next.load(Ordering::Acquire)
    }
}

impl Way {
    /// Counts a piece, computes its time of arrival, and sends it on.
    fn pass(&self, to_server: bool, line: &UnboundedSender<Timed>, mut piece: Vec<u8>) {
        let counter = if to_server { &self.to_server } else { &self.to_client };
        counter.fetch_add(piece.len() as u64, Ordering::AcqRel);
        let carries = to_server && piece.len() > CONTENT;
        if carries && self.change_next.swap(false, Ordering::AcqRel) {
            let middle = piece.len() / 2;
            piece[middle] ^= 1;
        }
        // The other half may have ended; then the piece is dropped.
        let _waiting = line.send((Instant::now() + self.delay, piece));
    }
}

/// Relays datagrams for one client at a time: the one that sent last.
async fn udp(server: SocketAddr, way: Arc<Way>) -> io::Result<SocketAddr> {
    let inside = Arc::new(UdpSocket::bind(HERE).await?);
    let outside = Arc::new(UdpSocket::bind(HERE).await?);
    outside.connect(server).await?;
    let address = inside.local_addr()?;
    let client = Arc::new(Mutex::new(None));
    let (to_server, mut for_server) = unbounded_channel::<Timed>();
    let (to_client, mut for_client) = unbounded_channel::<Timed>();
    let known =
        |client: &Mutex<Option<SocketAddr>>| *client.lock().unwrap_or_else(PoisonError::into_inner);

    let (from, heard, counts) = (inside.clone(), client.clone(), way.clone());
    tokio::spawn(async move {
        let mut buffer = vec![0; DATAGRAM_MAX];
        while let Ok((len, address)) = from.recv_from(&mut buffer).await {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
            counts.pass(true, &to_server, buffer[..len].to_vec());
        }
    });
    let from = outside.clone();
    tokio::spawn(async move {
        let mut buffer = vec![0; DATAGRAM_MAX];
        while let Ok(len) = from.recv(&mut buffer).await {
            way.pass(false, &to_client, buffer[..len].to_vec());
        }
    });
    // A datagram that the system does not accept is lost, as on any path.
    tokio::spawn(async move {
        while let Some((due, piece)) = for_server.recv().await {
            sleep_until(due).await;
            let _lost = outside.send(&piece).await;
        }
    });
    tokio::spawn(async move {
        while let Some((due, piece)) = for_client.recv().await {
            sleep_until(due).await;
            if let Some(address) = known(&client) {
                let _lost = inside.send_to(&piece, address).await;
            }
        }
    });
    Ok(address)
}

async fn tcp(server: SocketAddr, way: Arc<Way>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(HERE).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(server).await else { return };
            if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
                return;
            }
            let (from_client, into_client) = client.into_split();
            let (from_server, into_server) = server.into_split();
            one_way(true, from_client, into_server, way.clone());
            one_way(false, from_server, into_client, way.clone());
        }
    });
    Ok(address)
}

fn one_way(to_server: bool, mut from: OwnedReadHalf, into: OwnedWriteHalf, way: Arc<Way>) {
    let (line, arriving) = unbounded_channel::<Timed>();
    tokio::spawn(async move {
        let mut buffer = vec![0; DATAGRAM_MAX];
        while let Ok(len) = from.read(&mut buffer).await {
            if len == 0 {
                return;
            }
            way.pass(to_server, &line, buffer[..len].to_vec());
        }
    });
    tokio::spawn(deliver(arriving, into));
}

async fn deliver(mut arriving: UnboundedReceiver<Timed>, mut into: OwnedWriteHalf) {
    while let Some((due, piece)) = arriving.recv().await {
        sleep_until(due).await;
        if into.write_all(&piece).await.is_err() {
            return;
        }
    }
}
