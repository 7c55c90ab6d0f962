//! Worker threads that serve connections, each with its own runtime.
//!
//! A connection and the backend requests of its clients stay on one thread. In a shared runtime,
//! each chunk of a body would wake a second thread that finds no work.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::mpsc;

/// Pool of worker threads. They stop when it is dropped, and their connections are closed.
#[derive(Debug)]
pub(crate) struct Workers(Box<[Worker]>);

#[derive(Debug)]
struct Worker {
    work: mpsc::UnboundedSender<Work>,
    /// Number of connections that this worker serves.
    connections: Arc<AtomicUsize>,
}

/// Future that serves one connection.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Counts a connection until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(connections: &Arc<AtomicUsize>) -> Self {
        connections.fetch_add(1, Relaxed);
        Self(Arc::clone(connections))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Workers {
    /// Starts `count` threads, at least one.
    ///
    /// # Errors
    /// If the system cannot create the threads.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        (0..count.max(1)).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// Passes a connection to the worker with the fewest connections.
    pub(crate) fn give(&self, work: impl Future<Output = ()> + Send + 'static) {
        let fewest = self.0.iter().min_by_key(|worker| worker.connections.load(Relaxed));
        let Some(worker) = fewest else { return };
        let counted = Counted::new(&worker.connections);
        // If the worker is gone, it has panicked, and the connection is closed.
        let _ = worker.work.send(Box::pin(async move {
            work.await;
            drop(counted);
        }));
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (work, mut given) = mpsc::unbounded_channel::<Work>();
        thread::Builder::new().name(format!("s3-{number}")).spawn(move || {
            runtime.block_on(async {
                while let Some(work) = given.recv().await {
                    tokio::spawn(work);
                }
            });
        })?;
        Ok(Self { work, connections: Arc::default() })
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;
    use std::thread::{self, ThreadId};

    use tokio::sync::oneshot;

    use super::Workers;

    /// Returns the thread that serves a new connection, and a sender that ends the connection.
    async fn connect(workers: &Workers) -> (ThreadId, oneshot::Sender<()>) {
        let (end, ended) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        workers.give(async move {
            let before = thread::current().id();
            let _ = tell.send(before);
            let _ = ended.await;
            assert_eq!(thread::current().id(), before);
        });
        (told.await.unwrap(), end)
    }

    #[tokio::test]
    async fn connections_are_shared_out_and_stay() {
        let workers = Workers::start(2).unwrap();
        let (mut threads, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let (thread, end) = connect(&workers).await;
            threads.push(thread);
            ends.push(end);
        }
        let first = threads.iter().filter(|thread| **thread == threads[0]).count();
        assert_eq!(first, 2, "{threads:?}");
        // The next connection is served where one has ended.
        ends.remove(0).send(()).unwrap();
        let count = || workers.0.iter().map(|it| it.connections.load(Relaxed)).sum::<usize>();
        while count() > 3 {
            tokio::task::yield_now().await;
        }
        assert_eq!(connect(&workers).await.0, threads[0]);
    }

    #[tokio::test]
    async fn what_is_served_ends_with_the_workers() {
        let workers = Workers::start(1).unwrap();
        let (kept, cut) = oneshot::channel::<()>();
        workers.give(async move {
            let _kept = kept;
            core::future::pending::<()>().await;
        });
        drop(workers);
        assert!(cut.await.is_err());
    }
}
