//! A client's socket that goes with its connection from one worker to another.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice};
use std::net;
use std::os::fd::AsFd as _;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{Moves, Seat};

/// A socket that is registered with the runtime in which it is used.
pub(crate) struct SeatedStream {
    tcp: TcpStream,
    moves: Moves,
}

/// Has this runtime say when the socket is ready, instead of the one that did until now.
///
/// # Errors
/// If the system has no file descriptors left.
pub(crate) fn register_here(tcp: &mut TcpStream) -> io::Result<()> {
    // tokio registers a socket once in its life, so this is another one for the same connection.
    *tcp = TcpStream::from_std(net::TcpStream::from(tcp.as_fd().try_clone_to_owned()?))?;
    Ok(())
}

impl SeatedStream {
    /// Of a connection with this seat, if it has one.
    pub(crate) fn new(tcp: TcpStream, seat: Option<Seat>) -> Self {
        Self { tcp, moves: Moves::new(seat) }
    }

    fn tcp(self: Pin<&mut Self>) -> io::Result<Pin<&mut TcpStream>> {
        let own = self.get_mut();
        if own.moves.notice() {
            register_here(&mut own.tcp)?;
        }
        Ok(Pin::new(&mut own.tcp))
    }
}

impl AsyncRead for SeatedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.tcp()?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for SeatedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.tcp()?.poll_write(cx, buffer)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.tcp()?.poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp()?.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp()?.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::thread::{self, ThreadId};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::{mpsc, oneshot};
    use tokio::time::timeout;

    use super::SeatedStream;
    use crate::workers::{Seat, Workers};

    /// A client's end of a connection whose bytes come back, each as a request of its own, and where they are served.
    async fn echo(workers: &Workers) -> (TcpStream, mpsc::UnboundedReceiver<ThreadId>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let far = listener.accept().await.unwrap().0.into_std().unwrap();
        let (tell, told) = mpsc::unbounded_channel();
        workers.give(|seat: Seat| async move {
            let tcp = TcpStream::from_std(far).unwrap();
            let mut stream = SeatedStream::new(tcp, Some(seat.clone()));
            while let Ok(byte) = stream.read_u8().await {
                let busy = seat.begin();
                stream.write_u8(byte).await.unwrap();
                drop(busy);
                tell.send(thread::current().id()).unwrap();
            }
        });
        (near, told)
    }

    #[tokio::test]
    async fn a_socket_goes_along_with_its_connection() {
        let workers = Workers::start(2).unwrap();
        let (mut client, mut told) = echo(&workers).await;
        let (_other, _) = echo(&workers).await;
        let mut threads = Vec::new();
        let mut ask = async |byte: u8| {
            client.write_u8(byte).await.unwrap();
            assert_eq!(client.read_u8().await.unwrap(), byte);
            threads.push(told.recv().await.unwrap());
        };
        for byte in 0..20 {
            ask(byte).await;
        }
        // A long request on the same worker, which in the end keeps its thread from everything else.
        let (tell, begun) = oneshot::channel();
        let (block, blocks) = oneshot::channel::<()>();
        let (tell_blocked, blocked) = oneshot::channel();
        let (free, freed) = std::sync::mpsc::channel::<()>();
        workers.give(|seat: Seat| async move {
            let _busy = seat.begin();
            tell.send(()).unwrap();
            blocks.await.unwrap();
            tell_blocked.send(()).unwrap();
            let _ = freed.recv();
        });
        begun.await.unwrap();
        for byte in 20..100 {
            ask(byte).await;
        }
        block.send(()).unwrap();
        blocked.await.unwrap();
        for byte in 100..110 {
            let answer = timeout(Duration::from_secs(60), ask(byte)).await;
            answer.expect("nobody on the thread that it left has to say when it can be read");
        }
        drop(free);
        assert_eq!(threads[0], threads[19]);
        assert_ne!(threads[19], threads[99], "{threads:?}");
        drop(client);
        assert!(told.recv().await.is_none(), "the worker that it went to sees its end");
    }
}
