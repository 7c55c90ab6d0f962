//! Threads that serve connections, each with a runtime of its own.
//!
//! A request stays on the thread where it began, and so does what it sends to the backend. Where threads share a
//! runtime, each piece of a body wakes a second one that finds nothing to do: for long objects that costs as much as
//! sealing them. Between two requests a connection goes to a thread that has less to do.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::io;
use std::sync::{Arc, Weak};
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::mpsc;

mod relay;
mod seat;
mod stream;

use self::relay::Relay;
use self::seat::Load;
pub(crate) use self::seat::{Busy, Moves, Seat};
pub(crate) use self::stream::{SeatedStream, register_here};

/// The threads. They end when this is dropped, and with them what they still serve.
#[derive(Debug)]
pub(crate) struct Workers(Arc<[Worker]>);

#[derive(Debug)]
struct Worker {
    work: mpsc::UnboundedSender<Served>,
    load: Load,
}

/// What a connection does until its end.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection, as long as it is with one worker.
struct Served {
    /// None when it went to another one.
    work: Option<Work>,
    /// What wakes whoever polls it.
    relay: Arc<Relay>,
    waker: Waker,
    seat: Seat,
    workers: Weak<[Worker]>,
}

impl Workers {
    /// Starts so many threads.
    ///
    /// # Errors
    /// If the system has none left.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        (0..count.max(1)).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// Gives a connection to the worker that has the least to do. `work` gets the connection's seat, and has to count
    /// its requests there.
    pub(crate) fn give<F>(&self, work: impl FnOnce(Seat) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some(worker) = self.0.iter().min_by_key(|worker| worker.load.order()) else { return };
        let seat = Seat::new(&worker.load);
        let work: Work = Box::pin(work(seat.clone()));
        let served = Served::new(work, seat, Arc::downgrade(&self.0));
        // A worker that is gone has panicked: the connection ends with it.
        let _ = worker.work.send(served);
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (work, mut given) = mpsc::unbounded_channel::<Served>();
        thread::Builder::new().name(format!("s3-{number}")).spawn(move || {
            runtime.block_on(async {
                while let Some(served) = given.recv().await {
                    tokio::spawn(served);
                }
            });
        })?;
        Ok(Self { work, load: Load::default() })
    }
}

impl Served {
    fn new(work: Work, seat: Seat, workers: Weak<[Worker]>) -> Self {
        let relay = Relay::new();
        let waker = Waker::from(Arc::clone(&relay));
        Self { work: Some(work), relay, waker, seat, workers }
    }

    /// Goes to another worker, if it is better there. Whether it went.
    fn goes(&mut self) -> bool {
        let Some(workers) = self.workers.upgrade() else { return false };
        let loads = workers.iter().map(|worker| &worker.load);
        let Some(to) = self.seat.better(loads).and_then(|place| workers.get(place)) else {
            return false;
        };
        let from = self.seat.move_to(&to.load);
        let moved = Self {
            work: self.work.take(),
            relay: Arc::clone(&self.relay),
            waker: self.waker.clone(),
            seat: self.seat.clone(),
            workers: self.workers.clone(),
        };
        let Err(unsent) = to.work.send(moved) else { return true };
        // That one has panicked.
        self.work = unsent.0.work;
        self.seat.move_to(&from);
        false
    }
}

impl Future for Served {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let own = &mut *self;
        let Some(work) = &mut own.work else { return Poll::Ready(()) };
        own.relay.set(cx.waker());
        if work.as_mut().poll(&mut Context::from_waker(&own.waker)).is_ready() {
            return Poll::Ready(());
        }
        // Whoever has it next polls it at once: what wakes it meanwhile is not lost.
        if own.seat.has_ended() && own.goes() { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::thread::{self, ThreadId};

    use tokio::sync::{mpsc, oneshot};

    use super::{Load, Seat, Workers};

    /// The thread that a new connection is with, and the connection's end.
    async fn connect(workers: &Workers) -> (ThreadId, oneshot::Sender<()>) {
        let (end, ended) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        workers.give(|_| async move {
            let before = thread::current().id();
            let _ = tell.send(before);
            let _ = ended.await;
            assert_eq!(thread::current().id(), before);
        });
        (told.await.unwrap(), end)
    }

    #[tokio::test]
    async fn connections_are_shared_out_and_stay_without_requests() {
        let workers = Workers::start(2).unwrap();
        let (mut threads, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let (thread, end) = connect(&workers).await;
            threads.push(thread);
            ends.push(end);
        }
        let first = threads.iter().filter(|thread| **thread == threads[0]).count();
        assert_eq!(first, 2, "{threads:?}");
        // Who ends makes room for the next.
        ends.remove(0).send(()).unwrap();
        while workers.0.iter().map(|worker| worker.load.connections()).sum::<usize>() > 3 {
            tokio::task::yield_now().await;
        }
        assert_eq!(connect(&workers).await.0, threads[0]);
    }

    /// A seat, and what takes it to another worker.
    pub(crate) fn seat() -> (Seat, impl FnOnce()) {
        let seat = Seat::new(&Load::default());
        let same = seat.clone();
        (seat, move || drop(same.move_to(&Load::default())))
    }

    /// Where a connection is at each request, which it gets one by one.
    fn requests(
        workers: &Workers,
    ) -> (mpsc::UnboundedSender<()>, mpsc::UnboundedReceiver<ThreadId>) {
        let (ask, mut asked) = mpsc::unbounded_channel();
        let (tell, told) = mpsc::unbounded_channel();
        workers.give(|seat: Seat| async move {
            while let Some(()) = asked.recv().await {
                let busy = seat.begin();
                tokio::task::yield_now().await;
                drop(busy);
                let _ = tell.send(thread::current().id());
            }
        });
        (ask, told)
    }

    #[tokio::test]
    async fn a_connection_goes_to_an_idle_worker_between_requests() {
        let workers = Workers::start(2).unwrap();
        let (ask, mut told) = requests(&workers);
        ask.send(()).unwrap();
        let before = told.recv().await.unwrap();
        // As long as nobody else is busy on its worker, it stays.
        for _ in 0..50 {
            ask.send(()).unwrap();
            assert_eq!(told.recv().await.unwrap(), before);
        }
        // The second connection is with the other worker, the third with the same one.
        let (other, _end_of_other) = connect(&workers).await;
        assert_ne!(other, before);
        let (end, ended) = oneshot::channel::<()>();
        let (tell, begun) = oneshot::channel();
        workers.give(|seat: Seat| async move {
            let busy = seat.begin();
            let _ = tell.send(thread::current().id());
            let _ = ended.await;
            drop(busy);
        });
        assert_eq!(begun.await.unwrap(), before);
        // Its long request sends the first one away, and it does not come back.
        let mut threads = Vec::new();
        for _ in 0..50 {
            ask.send(()).unwrap();
            threads.push(told.recv().await.unwrap());
        }
        assert_eq!(threads.last(), Some(&other), "{threads:?}");
        assert!(threads.is_sorted_by_key(|thread| *thread == other), "{threads:?}");
        end.send(()).unwrap();
    }

    #[tokio::test]
    async fn what_is_served_ends_with_the_workers() {
        let workers = Workers::start(1).unwrap();
        let (kept, cut) = oneshot::channel::<()>();
        workers.give(|_| async move {
            let _kept = kept;
            core::future::pending::<()>().await;
        });
        drop(workers);
        assert!(cut.await.is_err());
    }
}
