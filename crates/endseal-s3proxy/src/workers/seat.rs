//! The worker that a connection is with, and when it goes to another.

use core::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What a worker has to do. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Load(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicUsize,
    /// On their way.
    requests: AtomicUsize,
    /// So far.
    begun: AtomicUsize,
    watch: Watch,
}

/// What a worker has seen of the one with the least requests whenever one of its own ended.
#[derive(Debug, Default)]
struct Watch {
    /// How many that one had begun.
    begun: AtomicUsize,
    /// How often in a row it had none and had begun none.
    idle: AtomicUsize,
    /// By how many it had less than this one: an average, in sixteenths.
    less: AtomicIsize,
}

/// A connection's place. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Seat(Arc<State>);

#[derive(Debug)]
struct State {
    load: Mutex<Load>,
    /// A request has ended that nobody has looked at yet.
    has_ended: AtomicBool,
    /// Requests on their way: one, but for what is asked for ahead.
    open: AtomicUsize,
    /// How often it went to another worker.
    moves: AtomicUsize,
}

/// What of a connection belongs to the runtime that it is in: a socket's registration, a timer. It notices when the
/// connection has gone to another worker's.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    seat: Option<Seat>,
    /// How many it has noticed.
    noticed: usize,
}

/// A request on its way: to be dropped when all of its answer was given out.
#[derive(Debug)]
pub(crate) struct Busy {
    seat: Seat,
    load: Load,
}

/// Looks in a row at a worker that does nothing, until a connection goes there. That costs some calls of the system
/// and what was in the cache, and a worker that is not given anything for a moment is no better.
const IDLE: usize = 8;
/// By how many requests, in sixteenths, a worker must have less on the average.
const LESS: isize = 24;
/// One part of the average is the last look.
const WEIGHT: isize = 8;

impl Load {
    /// What tells one worker from another that has less to do.
    pub(super) fn order(&self) -> (usize, usize) {
        (self.requests(), self.0.connections.load(Relaxed))
    }

    pub(super) fn requests(&self) -> usize {
        self.0.requests.load(Relaxed)
    }

    #[cfg(test)]
    pub(super) fn connections(&self) -> usize {
        self.0.connections.load(Relaxed)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Looks at the worker with the least requests. Whether it could do what is done here.
    fn watches(&self, least: &Self) -> bool {
        let (here, there) = (self.requests(), least.requests());
        let watch = &self.0.watch;
        // Nobody but this worker's thread writes there.
        let begun = least.0.begun.load(Relaxed);
        let is_idle = there == 0 && begun == watch.begun.swap(begun, Relaxed);
        let idle = if is_idle { watch.idle.load(Relaxed) + 1 } else { 0 };
        watch.idle.store(idle, Relaxed);
        let less = watch.less.load(Relaxed);
        let now = here.min(1_024).cast_signed() - there.min(1_024).cast_signed();
        let less = less + (16 * now - less) / WEIGHT;
        watch.less.store(less, Relaxed);
        (idle >= IDLE && here > 0) || less >= LESS
    }
}

impl Watch {
    fn forget(&self) {
        self.idle.store(0, Relaxed);
        self.less.store(0, Relaxed);
    }
}

impl Seat {
    /// A connection of this worker's.
    pub(super) fn new(load: &Load) -> Self {
        load.0.connections.fetch_add(1, Relaxed);
        Self(Arc::new(State {
            load: Mutex::new(load.clone()),
            has_ended: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            moves: AtomicUsize::new(0),
        }))
    }

    /// Counts a request of the connection.
    pub(crate) fn begin(&self) -> Busy {
        let load = self.load();
        load.0.requests.fetch_add(1, Relaxed);
        load.0.begun.fetch_add(1, Relaxed);
        self.0.open.fetch_add(1, Relaxed);
        Busy { seat: self.clone(), load }
    }

    /// Whether a request has ended since this was asked last.
    pub(super) fn has_ended(&self) -> bool {
        // A load costs nothing, and mostly it is all.
        self.0.has_ended.load(Relaxed) && self.0.has_ended.swap(false, Relaxed)
    }

    /// Which of the workers with these loads the connection is to go to, if it has no request: one that does nothing
    /// while this one has requests, or has less of them all the time. To be asked when a request has ended.
    pub(super) fn better<'a>(&self, loads: impl Iterator<Item = &'a Load>) -> Option<usize> {
        let own = self.load();
        let others = loads.enumerate().filter(|(_, load)| !load.is(&own));
        let (place, least) = others.min_by_key(|(_, load)| load.requests())?;
        if self.0.open.load(Relaxed) > 0 || !own.watches(least) {
            return None;
        }
        // Whoever comes next is to look for as long.
        own.0.watch.forget();
        Some(place)
    }

    /// Takes the connection to the worker with this load. The one that it was with before.
    pub(super) fn move_to(&self, load: &Load) -> Load {
        load.0.connections.fetch_add(1, Relaxed);
        let mut own = self.0.load.lock().unwrap_or_else(PoisonError::into_inner);
        let before = core::mem::replace(&mut *own, load.clone());
        drop(own);
        before.0.connections.fetch_sub(1, Relaxed);
        self.0.moves.fetch_add(1, Relaxed);
        before
    }

    fn load(&self) -> Load {
        self.0.load.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Moves {
    /// Of a connection with this seat, if it has one, and of something that is in its runtime now.
    pub(crate) fn new(seat: Option<Seat>) -> Self {
        let noticed = seat.as_ref().map_or(0, |seat| seat.0.moves.load(Relaxed));
        Self { seat, noticed }
    }

    /// Whether the connection has gone to another worker since this was asked last.
    pub(crate) fn notice(&mut self) -> bool {
        let moves = self.seat.as_ref().map_or(self.noticed, |seat| seat.0.moves.load(Relaxed));
        core::mem::replace(&mut self.noticed, moves) != moves
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let load = self.load.get_mut().unwrap_or_else(PoisonError::into_inner);
        load.0.connections.fetch_sub(1, Relaxed);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.load.0.requests.fetch_sub(1, Relaxed);
        self.seat.0.open.fetch_sub(1, Relaxed);
        self.seat.0.has_ended.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of a connection of its own.
    fn busy(load: &Load, count: usize) -> Vec<Busy> {
        let seat = Seat::new(load);
        (0..count).map(|_| seat.begin()).collect()
    }

    /// After how many requests of its own a connection goes, if it goes.
    fn stays(loads: &[Load]) -> Option<usize> {
        let seat = Seat::new(&loads[0]);
        (1..=100).find(|_| {
            drop(seat.begin());
            seat.better(loads.iter()).is_some()
        })
    }

    #[test]
    fn connections_go_where_there_is_less_to_do() {
        for (here, there, goes) in [
            (0, 0, None),
            (1, 0, Some(8..=8)),
            (1, 1, None),
            (2, 1, None),
            (3, 1, Some(10..=20)),
            (5, 1, Some(3..=6)),
            (3, 2, None),
            (0, 5, None),
        ] {
            let loads = [Load::default(), Load::default(), Load::default()];
            let all = [busy(&loads[0], here), busy(&loads[1], there), busy(&loads[2], 5)];
            let stays = stays(&loads);
            let is_right = match (stays, goes) {
                (Some(stays), Some(goes)) => goes.contains(&stays),
                (stays, goes) => stays.is_none() && goes.is_none(),
            };
            assert!(is_right, "{here} {there} {stays:?}");
            drop(all);
            assert!(loads.iter().all(|load| load.order() == (0, 0)));
        }
    }

    #[test]
    fn a_worker_that_begins_something_now_and_then_is_not_idle() {
        let loads = [Load::default(), Load::default()];
        let _busy = busy(&loads[0], 1);
        let seat = Seat::new(&loads[0]);
        for _ in 0..100 {
            drop((seat.begin(), busy(&loads[1], 1)));
            assert_eq!(seat.better(loads.iter()), None);
        }
    }

    #[test]
    fn after_one_went_the_next_looks_for_as_long() {
        let loads = [Load::default(), Load::default()];
        let requests = busy(&loads[0], 10);
        let first = stays(&loads).unwrap();
        assert_eq!(stays(&loads), Some(first));
        drop(requests);
        let seat = Seat::new(&loads[0]);
        let left = seat.move_to(&loads[1]);
        assert_eq!((left.connections(), loads[1].connections()), (0, 1));
        assert_eq!(Seat::new(&loads[0]).better(loads[..1].iter()), None, "there is no other one");
    }

    #[test]
    fn who_has_a_request_stays() {
        let loads = [Load::default(), Load::default()];
        let _busy = busy(&loads[0], 10);
        let seat = Seat::new(&loads[0]);
        let own = seat.begin();
        assert!((0..100).all(|_| seat.better(loads.iter()).is_none()));
        drop(own);
        assert!((0..100).any(|_| seat.better(loads.iter()) == Some(1)));
    }

    #[test]
    fn what_happened_is_told_once() {
        let loads = [Load::default(), Load::default()];
        let seat = Seat::new(&loads[0]);
        let busy = seat.begin();
        let (mut socket, mut timer) =
            (Moves::new(Some(seat.clone())), Moves::new(Some(seat.clone())));
        assert!(!seat.has_ended() && !socket.notice());
        drop(busy);
        assert!(seat.has_ended() && !seat.has_ended());
        seat.move_to(&loads[1]);
        assert!(socket.notice() && !socket.notice());
        assert!(timer.notice() && !timer.notice(), "each for itself");
        assert!(!Moves::new(Some(seat)).notice() && !Moves::default().notice());
    }
}
