//! Threads that serve connections, each with a runtime of its own.
//!
//! A connection stays with one thread, and so does what its requests send to the backend. Where
//! threads share a runtime, each piece of a body wakes a second thread that finds nothing to do.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::mpsc;

/// The threads. They end when this is dropped, and with them what they still serve.
#[derive(Debug)]
pub(crate) struct Workers(Box<[Worker]>);

#[derive(Debug)]
struct Worker {
    work: mpsc::UnboundedSender<Work>,
    /// Connections that it has.
    connections: Arc<AtomicUsize>,
}

/// Everything that one connection does.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection that is counted.
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
    /// Starts so many threads.
    ///
    /// # Errors
    /// If the system has none left.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        (0..count.max(1)).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// Gives a connection to the worker that has the fewest.
    pub(crate) fn give(&self, work: impl Future<Output = ()> + Send + 'static) {
        let fewest = self.0.iter().min_by_key(|worker| worker.connections.load(Relaxed));
        let Some(worker) = fewest else { return };
        let counted = Counted::new(&worker.connections);
        // A worker that is gone has panicked: the connection ends with it.
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

    /// The thread that a new connection is with, and the connection's end.
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
        // The next one comes where one has ended.
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
