//! A network path with a delay: a UDP proxy between a client and a server.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, sleep};
use std::time::Instant;

/// Interval at which a thread checks for the end.
const LOOK: Duration = Duration::from_millis(100);

/// A proxy that delays everything that one client and its server send to each other.
pub(crate) struct Path {
    address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Path {
    pub(crate) fn new(server: SocketAddr, one_way: Duration) -> Self {
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (inside, outside) = (bind(), bind());
        let own = Self { address: inside.local_addr().unwrap(), over: Arc::default() };
        let client = Arc::new(Mutex::new(None));
        let socket = |socket: &UdpSocket| socket.try_clone().unwrap();
        let (from, to, seen) = (socket(&inside), socket(&outside), client.clone());
        own.carry(one_way, from, to, move |from| {
            *seen.lock().unwrap() = Some(from);
            Some(server)
        });
        own.carry(one_way, outside, inside, move |_| *client.lock().unwrap());
        own
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forwards one direction: datagrams of one socket leave by the other, to the address in `to`.
    fn carry(
        &self,
        one_way: Duration,
        entry: UdpSocket,
        exit: UdpSocket,
        to: impl Fn(SocketAddr) -> Option<SocketAddr> + Send + 'static,
    ) {
        let (line, coming) = mpsc::channel::<(Instant, SocketAddr, Vec<u8>)>();
        let over = self.over.clone();
        thread::spawn(move || {
            entry.set_read_timeout(Some(LOOK)).unwrap();
            let mut buffer = vec![0; 65_536];
            while !over.load(Ordering::Relaxed) {
                match entry.recv_from(&mut buffer) {
                    Ok((len, from)) => {
                        let Some(to) = to(from) else { continue };
                        let datagram = (Instant::now() + one_way, to, buffer[..len].to_vec());
                        line.send(datagram).unwrap();
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        thread::spawn(move || {
            for (due, to, datagram) in coming {
                sleep(due.saturating_duration_since(Instant::now()));
                // A full buffer loses the datagram, as on any path.
                let _sent = exit.send_to(&datagram, to);
            }
        });
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
