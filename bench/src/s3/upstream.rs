//! Connections to a backend that are kept for the next request.

use core::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::subject::Failure;

/// A backend with its idle connections.
pub(super) struct Upstream<B> {
    address: SocketAddr,
    idle: Mutex<Vec<SendRequest<B>>>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Send + 'static> Upstream<B> {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, idle: Mutex::default() }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request unchanged and waits for the head of its answer.
    pub(super) async fn send(&self, request: Request<B>) -> Result<Response<Incoming>, Failure> {
        let mut connection = match self.take() {
            Some(connection) => connection,
            None => self.open().await?,
        };
        let response = connection.send_request(request).await?;
        // It becomes ready again when the body has been read to its end.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(response)
    }

    /// Takes an idle connection, if there is one.
    fn take(&self) -> Option<SendRequest<B>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.is_closed());
        let ready = idle.iter().position(SendRequest::is_ready)?;
        Some(idle.swap_remove(ready))
    }

    async fn open(&self) -> Result<SendRequest<B>, Failure> {
        let stream = TcpStream::connect(self.address).await?;
        // Heads and bodies are written separately, so small writes must not be delayed.
        let _ = stream.set_nodelay(true);
        let (connection, driver) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // An error of the connection is reported to the caller that waits for the answer.
            let _ = driver.await;
        });
        Ok(connection)
    }
}
