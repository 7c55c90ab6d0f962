//! A hub with nodes that put frames, and the insert loop for comparison.

use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::Request;
use endseal_delivery::node::{Puts, Settled};
use endseal_transport::Frame;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::account::{Account, frame, put};
use super::database::{Database, Engine};
use super::insert::{Insert, InsertLoop};
use super::server::Server;
use super::wire::{Exchange, Link, connect, encoded, fetch, next};
use crate::case::Case;
use crate::clock::{self, Elapsed};
use crate::s3::listen;
use crate::scratch::Folder;
use crate::subject::{Failure, unsupported};

/// Largest number of unanswered frames of a sender, as in a node.
const WINDOW: usize = 512;

/// The parameters of `put` and `put_open`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) bytes: usize,
    /// Number of frames of all senders together; a multiple of the number of senders.
    pub(super) frames: usize,
    pub(super) senders: usize,
}

impl Shape {
    pub(super) fn new(case: &Case) -> Result<Self, Failure> {
        let [bytes, frames, senders] = ["bytes", "frames", "senders"].map(|it| case.number(it));
        let own = Self { bytes: bytes?, frames: frames?, senders: senders? };
        match own.frames.checked_rem(own.senders) {
            Some(0) => Ok(own),
            _ => Err(unsupported("frames must be a multiple of senders")),
        }
    }
}

/// A frame with the request that puts it.
pub(super) struct Ready {
    pub(super) sequence: u64,
    pub(super) stored: Vec<u8>,
    pub(super) request: Frame,
}

/// A hub with senders that are connected, and the insert loop for comparison.
pub(super) struct World {
    pub(super) shape: Shape,
    pub(super) runtime: Runtime,
    pub(super) server: Server,
    links: Vec<Link>,
    accounts: Vec<Account>,
    pub(super) inserts: InsertLoop,
    // Dropped after the loop that is connected to it.
    _bare: Database,
    sequence: u64,
    // Declared last, so that it is removed after everything that uses it.
    _folder: Folder,
}

/// Result of one pass: times and counts.
pub(super) struct Pass {
    pub(super) spent: Elapsed,
    pub(super) commits: usize,
}

impl World {
    pub(super) fn new(engine: Engine, shape: Shape) -> Result<Self, Failure> {
        let (folder, runtime) = (Folder::new()?, listen::runtime()?);
        let accounts = (0..shape.senders).map(|_| Account::new()).collect::<Result<Vec<_>, _>>()?;
        let (database, bare) =
            (engine.create(folder.at("hub.db"))?, engine.create(folder.at("bare.db"))?);
        Account::enroll(&database, &accounts)?;
        Account::enroll(&bare, &accounts)?;
        let server = Server::start(database)?;
        let links = runtime.block_on(async {
            let mut links = Vec::new();
            for account in &accounts {
                links.push(connect(&account.key, server.address).await?);
            }
            Ok::<_, Failure>(links)
        })?;
        let inserts = InsertLoop::open(&bare)?;
        Ok(Self {
            shape,
            runtime,
            server,
            links,
            accounts,
            inserts,
            _bare: bare,
            sequence: 0,
            _folder: folder,
        })
    }

    /// Builds new frames for each sender.
    pub(super) fn frames(&mut self) -> Result<Vec<Vec<Ready>>, Failure> {
        let each = self.shape.frames / self.shape.senders;
        let first = self.sequence + 1;
        self.sequence += each as u64;
        let of = |number: usize| {
            let sender = &self.accounts[number];
            let target = &self.accounts[(number + 1) % self.accounts.len()].peer;
            let one = |sequence| {
                let stored = frame(&sender.peer, sequence, self.shape.bytes)?;
                let request = encoded(Request::Put(put(target, &stored)))?;
                Ok::<_, Failure>(Ready { sequence, stored, request })
            };
            (first..=self.sequence).map(one).collect()
        };
        (0..self.accounts.len()).map(of).collect()
    }

    /// Opens an exchange for each sender.
    pub(super) fn exchanges(&self) -> Result<Vec<Exchange>, Failure> {
        self.runtime.block_on(async {
            let mut all = Vec::new();
            for link in &self.links {
                all.push(Exchange::open(link).await?);
            }
            Ok(all)
        })
    }

    /// Returns the number of the hub's commits so far, and of frames that it has made durable.
    pub(super) fn stored(&self) -> Result<(f64, f64), Failure> {
        let of = |name| self.server.counter(name);
        Ok((of("commit_frames_count")?, of("put_frames_total")?))
    }

    /// Lets all senders put their frames as fast as they are answered.
    pub(super) fn closed(&mut self, frames: &[Vec<Ready>]) -> Result<Pass, Failure> {
        let exchanges = self.exchanges()?;
        let before = self.stored()?;
        let requests: Vec<Vec<(u64, Frame)>> = frames
            .iter()
            .map(|of| of.iter().map(|it| (it.sequence, it.request.clone())).collect())
            .collect();
        let mut outcome = Ok(());
        let spent = clock::time_threads(|| {
            outcome = self.runtime.block_on(async {
                let mut senders = JoinSet::new();
                for (exchange, requests) in exchanges.into_iter().zip(requests) {
                    senders.spawn(put_all(exchange, requests));
                }
                while let Some(ended) = senders.join_next().await {
                    ended??;
                }
                Ok::<_, Failure>(())
            });
        });
        outcome?;
        let after = self.stored()?;
        all_stored(after.1 - before.1, self.shape.frames)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let commits = (after.0 - before.0) as usize;
        Ok(Pass { spent, commits })
    }

    /// Returns true if each mailbox holds its share of the first `frames` frames, in order.
    pub(super) fn has_all(&self, frames: usize) -> Result<bool, Failure> {
        let each = (frames / self.shape.senders) as u64;
        for link in &self.links {
            let sequence = |_: &_, _, frame: &StoredFrame<'_>| Ok(frame.stamp().sequence);
            let found = self.runtime.block_on(fetch(link, sequence))?;
            if !found.into_iter().eq(1..=each) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Inserts the same rows with the bare insert loop. Returns the time in ns.
    pub(super) fn insert(&mut self, frames: &[Vec<Ready>], commits: usize) -> Result<f64, Failure> {
        self.inserts.run(&mixed(frames), commits)
    }
}

/// Returns the frames of all senders alternately, as they arrive at a hub.
pub(super) fn mixed(frames: &[Vec<Ready>]) -> Vec<Insert<'_>> {
    let each = frames.first().map_or(0, Vec::len);
    let turn = |at: usize| {
        frames.iter().enumerate().filter_map(move |(sender, of)| {
            let Ready { sequence, stored, .. } = of.get(at)?;
            Some(Insert { sender, sequence: *sequence, frame: stored })
        })
    };
    (0..each).flat_map(turn).collect()
}

/// Checks the number of frames that the hub has made durable.
#[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(super) fn all_stored(stored: f64, frames: usize) -> Result<(), Failure> {
    if stored.to_bits() == (frames as f64).to_bits() {
        return Ok(());
    }
    Err(format!("{stored} of {frames} frames are durable").into())
}

/// Puts frames, at most [`WINDOW`] of them without an answer.
async fn put_all(exchange: Exchange, requests: Vec<(u64, Frame)>) -> Result<(), Failure> {
    let Exchange { mut sender, mut receiver } = exchange;
    let mut puts = Puts::new();
    let mut requests = requests.iter().peekable();
    loop {
        while puts.unanswered() < WINDOW
            && let Some((sequence, request)) = requests.next()
        {
            puts.send(*sequence);
            sender.feed(request).await?;
        }
        sender.flush().await?;
        if puts.unanswered() == 0 {
            break;
        }
        // As a node does, it sends more when half of the frames have been answered.
        while puts.unanswered() > 0 && (puts.unanswered() > WINDOW / 2 || requests.peek().is_none())
        {
            settle(&mut puts, &next(&mut receiver).await?)?;
        }
    }
    Exchange { sender, receiver }.finish().await
}

/// Reads an answer. Returns the sequence numbers that are durable now.
pub(super) fn settle(puts: &mut Puts, payload: &[u8]) -> Result<Vec<u64>, Failure> {
    match puts.answer(payload)? {
        Settled::Stored(sequences) => Ok(sequences),
        Settled::Refused(sequence, refused) => {
            Err(format!("frame {sequence:?} was refused: {:?}", refused.code).into())
        }
    }
}
