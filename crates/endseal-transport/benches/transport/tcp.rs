//! Benchmark subject: TCP with TLS 1.3, by rustls over blocking sockets and a thread.

use std::io::{BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use endseal_transport::Policy;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection, StreamOwned};

use crate::stock;

pub(crate) struct Tcp {
    stream: StreamOwned<ClientConnection, TcpStream>,
    server: Option<JoinHandle<()>>,
}

impl Tcp {
    pub(crate) fn connect(policy: Policy) -> Self {
        let (client, server) = stock::tls(policy);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            socket.set_nodelay(true).unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(server).unwrap(), socket);
            stream.conn.set_buffer_limit(Some(1 << 20));
            serve(&mut stream);
        });
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::clone(&client), name).unwrap();
        let mut own = Self { stream: StreamOwned::new(connection, socket), server: Some(server) };
        own.echo(1, 16);
        own
    }

    /// Sends `count` messages of `len` bytes and waits for one short answer.
    pub(crate) fn push(&mut self, count: u32, len: u32) {
        let payload = vec![7; len as usize];
        let mut out = BufWriter::with_capacity(64 * 1024, &mut self.stream);
        out.write_all(&[&[0], &count.to_le_bytes()[..], &len.to_le_bytes()].concat()).unwrap();
        for _ in 0..count {
            out.write_all(&len.to_le_bytes()).unwrap();
            out.write_all(&payload).unwrap();
        }
        out.flush().unwrap();
        drop(out);
        self.stream.read_exact(&mut [0]).unwrap();
    }

    pub(crate) fn echo(&mut self, count: u32, len: u32) {
        let payload = vec![7; len as usize + 4];
        let mut back = payload.clone();
        let head = [&[1], &count.to_le_bytes()[..], &len.to_le_bytes()].concat();
        self.stream.write_all(&head).unwrap();
        for _ in 0..count {
            self.stream.write_all(&payload).unwrap();
            self.stream.read_exact(&mut back).unwrap();
        }
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.stream.conn.send_close_notify();
        let _closed = self.stream.flush();
        let _closed = self.stream.sock.shutdown(std::net::Shutdown::Both);
        self.server.take().unwrap().join().unwrap();
    }
}

fn serve(stream: &mut StreamOwned<ServerConnection, TcpStream>) {
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let count = u32::from_le_bytes(head[1..5].try_into().unwrap());
        let len = u32::from_le_bytes(head[5..].try_into().unwrap()) as usize;
        let mut message = vec![0; len + 4];
        for _ in 0..count {
            if head[0] == 0 {
                // A new buffer for each message, as an application that keeps messages uses.
                let mut prefix = [0; 4];
                stream.read_exact(&mut prefix).unwrap();
                let mut message = vec![0; u32::from_le_bytes(prefix) as usize];
                stream.read_exact(&mut message).unwrap();
                std::hint::black_box(message);
            } else {
                stream.read_exact(&mut message).unwrap();
                stream.write_all(&message).unwrap();
            }
        }
        if head[0] == 0 {
            stream.write_all(&[1]).unwrap();
        }
    }
}
