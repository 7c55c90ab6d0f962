//! Threads that serve connections, each with a runtime of its own.
//!
//! A connection stays on the thread that it was given to, and its requests to the backend with it.
//! Where threads share a runtime, each piece of a body wakes a second one that finds nothing to do: for
//! long objects that costs as much as sealing them.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::mpsc;

/// The threads. They end when this is dropped, and with them what they still serve.
#[derive(Debug)]
pub(crate) struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    work: mpsc::UnboundedSender<Work>,
    load: Load,
}

/// What a connection does until its end.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How many connections a worker has.
#[derive(Clone, Debug, Default)]
struct Load(Arc<AtomicUsize>);

/// A connection, counted.
struct Counted(Load);

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
        let Some(worker) = self.0.iter().min_by_key(|worker| worker.load.count()) else { return };
        let counted = worker.load.add();
        let work = async move {
            work.await;
            drop(counted);
        };
        // A worker that is gone has panicked: the connection ends with it.
        let _ = worker.work.send(Box::pin(work));
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
        Ok(Self { work, load: Load::default() })
    }
}

impl Load {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(self.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::sync::oneshot;

    use super::Workers;

    #[tokio::test]
    async fn connections_are_shared_out_and_stay_where_they_are() {
        let workers = Workers::start(2).unwrap();
        let mut ends = Vec::new();
        let mut threads = Vec::new();
        for _ in 0..4 {
            let (end, ended) = oneshot::channel::<()>();
            let (tell, told) = oneshot::channel();
            workers.give(async move {
                let before = thread::current().id();
                let _ = tell.send(before);
                let _ = ended.await;
                assert_eq!(thread::current().id(), before);
            });
            threads.push(told.await.unwrap());
            ends.push(end);
        }
        let first = threads.iter().filter(|thread| **thread == threads[0]).count();
        assert_eq!(first, 2, "{threads:?}");
        // Who ends makes room for the next.
        ends.remove(0).send(()).unwrap();
        while workers.0.iter().map(|worker| worker.load.count()).sum::<usize>() > 3 {
            tokio::task::yield_now().await;
        }
        let (tell, told) = oneshot::channel();
        workers.give(async move {
            let _ = tell.send(thread::current().id());
        });
        assert_eq!(told.await.unwrap(), threads[0]);
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
