//! Benchmark subject: plain quinn with length-prefixed messages on one stream, as in its examples.

use std::sync::Arc;

use bytes::Bytes;
use endseal_transport::Policy;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint, TransportConfig};

use crate::stock;

pub(crate) struct Plain {
    client: Connection,
    server: Connection,
    _endpoints: [Endpoint; 2],
}

impl Plain {
    /// Connects with quinn's default configuration, which `tune` may change.
    pub(crate) async fn connect(policy: Policy, tune: impl Fn(&mut TransportConfig)) -> Self {
        Self::connect_on(policy, tune, [0, 0]).await
    }

    /// Connects with socket buffers of the given size; 0 keeps the default.
    pub(crate) async fn connect_on(
        policy: Policy,
        tune: impl Fn(&mut TransportConfig),
        buffers: [usize; 2],
    ) -> Self {
        let (client_tls, server_tls) = stock::tls(policy);
        let mut transport = TransportConfig::default();
        tune(&mut transport);
        let transport = Arc::new(transport);
        let server_tls = QuicServerConfig::try_from(server_tls).unwrap();
        let mut server_config = quinn::ServerConfig::with_crypto(Arc::new(server_tls));
        server_config.transport_config(transport.clone());
        let client_tls = QuicClientConfig::try_from(client_tls).unwrap();
        let mut client_config = quinn::ClientConfig::new(Arc::new(client_tls));
        client_config.transport_config(transport);
        let endpoint = |server| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let wish = socket2::SockRef::from(&socket);
            if buffers != [0, 0] {
                wish.set_recv_buffer_size(buffers[0]).unwrap();
                wish.set_send_buffer_size(buffers[1]).unwrap();
            }
            let runtime = Arc::new(quinn::TokioRuntime);
            Endpoint::new(quinn::EndpointConfig::default(), server, socket, runtime).unwrap()
        };
        let (client, server) = (endpoint(None), endpoint(Some(server_config)));
        let address = server.local_addr().unwrap();
        let connecting = client.connect_with(client_config, address, "localhost").unwrap();
        let accepted = async { server.accept().await.unwrap().await.unwrap() };
        let (connected, accepted) = tokio::join!(connecting, accepted);
        Self { client: connected.unwrap(), server: accepted, _endpoints: [client, server] }
    }

    pub(crate) async fn push(&self, count: u32, len: u32) {
        let server = self.server.clone();
        let receiving = tokio::spawn(async move {
            let mut stream = server.accept_uni().await.unwrap();
            let mut prefix = [0; 4];
            let mut received = 0;
            while stream.read_exact(&mut prefix).await.is_ok() {
                let mut message = vec![0; u32::from_le_bytes(prefix) as usize];
                stream.read_exact(&mut message).await.unwrap();
                std::hint::black_box(message);
                received += 1;
            }
            assert_eq!(received, count);
        });
        let payload = Bytes::from(vec![7; len as usize]);
        let mut stream = self.client.open_uni().await.unwrap();
        for _ in 0..count {
            stream.write_all(&len.to_le_bytes()).await.unwrap();
            stream.write_chunk(payload.clone()).await.unwrap();
        }
        stream.finish().unwrap();
        receiving.await.unwrap();
    }

    pub(crate) async fn echo(&self, count: u32, len: u32) {
        let server = self.server.clone();
        let answering = tokio::spawn(async move {
            let (mut send, mut receive) = server.accept_bi().await.unwrap();
            let mut message = vec![0; len as usize + 4];
            while receive.read_exact(&mut message).await.is_ok() {
                send.write_all(&message).await.unwrap();
            }
        });
        let (mut send, mut receive) = self.client.open_bi().await.unwrap();
        let payload = vec![7; len as usize + 4];
        let mut back = payload.clone();
        for _ in 0..count {
            send.write_all(&payload).await.unwrap();
            receive.read_exact(&mut back).await.unwrap();
        }
        send.finish().unwrap();
        answering.await.unwrap();
    }

    /// Returns the share of sent packets that were lost.
    pub(crate) fn lost(&self) -> f64 {
        let path = self.client.stats().path;
        path.lost_packets as f64 / path.sent_packets as f64
    }
}
