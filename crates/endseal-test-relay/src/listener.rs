//! Listening, and the tasks of all connections.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::connection;
use crate::hub::Hub;

/// A listening socket and its connections; dropped, it ends them at once.
pub(crate) struct Listener {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listener {
    pub(crate) async fn bind(address: SocketAddr, hub: Arc<Hub>) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(serve(socket, hub, stopped));
        Ok(Self { address, stop, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections with a goodbye.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        // It fails if it was aborted, which is the same.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(socket: TcpListener, hub: Arc<Hub>, mut stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    // One above the limit is dropped, which closes it.
                    if connections.len() < hub.settings().limits.connections {
                        connections.spawn(connection::run(
                            stream,
                            Arc::clone(&hub),
                            stopped.clone(),
                        ));
                    }
                }
                // The system has no descriptors left: some come back.
                Err(_) => sleep(Duration::from_millis(100)).await,
            },
            _ = stopped.changed() => break,
        }
    }
    drop(socket);
    while connections.join_next().await.is_some() {}
}
