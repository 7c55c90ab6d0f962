//! Processing of a batch on several threads. The store has its own thread, so that messages are
//! opened while earlier ones are written with fsync, and conversations are opened in parallel.
//!
//! The store thread processes jobs in order and replies in the same order, so the caller knows to
//! which job a reply belongs. The ids of a block are looked up before the previous block is
//! written. Ids that occur in both blocks are recognised by
//! [`BatchDedup`](super::conversation_state::BatchDedup).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use endseal_keyring::device::Address;

use super::batch::{Batch, Block};
use super::changeset::Changeset;
use super::commit_budget::CommitBudget;
use super::conversation_state::RemoteDevice;
use super::local_store::{LocalStore, begin};
use super::outgoing_message::OutgoingMessage;
use super::progress::Progress;
use super::store_access::StoreAccess;
use super::store_request::{Answer, Question, Write};
use super::store_session::StoreSession;
use super::watch::Watch;
use super::worker_pool::WorkerPool;
use crate::{BatchOptions, Durability, EngineError, PairwiseAccount};

/// Messages in a block. The threads wait for each other once per block
/// (docs/design/store-tuning.md, "Backlogs").
const BLOCK: usize = 512;

/// Job for the store thread.
enum Job<'e> {
    Answer(Question<'e>),
    Write(Vec<Write<'e>>),
    Commit(Changeset),
    Load(Address),
    Send(OutgoingMessage, Changeset),
}

/// Reply of the store thread.
enum Reply<R> {
    Answer(Answer<R>),
    Numbers(Vec<u64>),
    Committed,
    RemoteDevice(Result<Box<RemoteDevice<R>>, &'static str>),
    Sent(u64),
}

/// Opens and writes `total` messages as [`local_store::run`](super::local_store::run) does, on
/// `options.threads` threads and a store thread.
pub(super) fn run<'e, A: PairwiseAccount>(
    local_store: &mut LocalStore<'_>,
    batch: &mut Batch<'e, A>,
    total: usize,
    options: &BatchOptions,
    progress: &mut Progress,
    watch: &mut Watch<'_, '_, A>,
) -> Result<(), EngineError> {
    let accept_context = batch.state_cache.accept_context();
    let worker_pool = WorkerPool::new();
    let (jobs, inbox) = channel();
    let (outbox, replies) = channel();
    thread::scope(|scope| {
        // A transaction of one block is committed at once.
        let ahead = options.max_messages.get() > BLOCK;
        let store_session = scope.spawn(move || serve::<A>(local_store, &inbox, &outbox, ahead));
        worker_pool.start(scope, options.threads.get() - 1, &accept_context);
        let mut remote = StoreThread { jobs, replies, commits: VecDeque::new(), due: 0 };
        let mut work = || -> Result<(), EngineError> {
            let mut chunk = CommitBudget::open(options, BLOCK);
            let mut at = progress.committed;
            let mut next = ask(&mut remote, batch, &chunk, at, total)?;
            while let Some((block, end)) = next {
                let answer = remote.answer(batch, progress)?;
                batch.state_cache.take_in(answer.loaded);
                remote.tell(batch, progress, watch)?;
                // The next block is planned while the conversations of this one are in the cache.
                let full = chunk.add(end - at);
                if full {
                    chunk = CommitBudget::open(options, BLOCK);
                }
                let last = progress.stopped;
                next = if last { None } else { ask(&mut remote, batch, &chunk, end, total)? };
                let work = batch.begin(block, answer.seen);
                let done = worker_pool.run(work, &accept_context);
                at = end;
                let writes = batch.end(done);
                remote.post(Job::Write(writes))?;
                batch.write_up_to(at);
                if full || next.is_none() {
                    remote.commits.push_back(at);
                    remote.post(Job::Commit(batch.states(at, options)?))?;
                }
            }
            remote.finish(batch, progress)?;
            remote.tell(batch, progress, watch)
        };
        let engagement = worker_pool.engage();
        let worked = work();
        drop(engagement);
        drop(remote);
        match (store_session.join(), worked) {
            (Err(panic), _) => std::panic::resume_unwind(panic),
            // The error of the store thread is the reason for missing replies.
            (Ok(Err(error)), _) => Err(error),
            (Ok(Ok(())), worked) => worked,
        }
    })
}

/// Plans the block from `at` on and requests its states; `None` at the end of the batch.
fn ask<'e, A: PairwiseAccount>(
    remote: &mut StoreThread<'e, A>,
    batch: &mut Batch<'e, A>,
    chunk: &CommitBudget<'_>,
    at: usize,
    total: usize,
) -> Result<Option<(Block<'e>, usize)>, EngineError> {
    if at >= total {
        return Ok(None);
    }
    let range = chunk.block(at, total);
    let end = range.end;
    let (block, question) = batch.plan(range);
    remote.post(Job::Answer(question))?;
    Ok(Some((block, end)))
}

/// Handle of the store thread.
struct StoreThread<'e, A: PairwiseAccount> {
    jobs: Sender<Job<'e>>,
    replies: Receiver<Reply<A::Ratchet>>,
    /// Ends of the transactions that are not committed yet, as numbers of messages.
    commits: VecDeque<usize>,
    /// Number of replies that were not received yet.
    due: usize,
}

impl<'e, A: PairwiseAccount> StoreThread<'e, A> {
    fn post(&mut self, job: Job<'e>) -> Result<(), EngineError> {
        self.due += 1;
        self.jobs.send(job).map_err(|_| EngineError::Ended)
    }

    /// Returns the next reply that the caller must handle; deliveries and commits are recorded
    /// here.
    fn reply(
        &mut self,
        batch: &mut Batch<'e, A>,
        progress: &mut Progress,
    ) -> Result<Reply<A::Ratchet>, EngineError> {
        loop {
            let reply = self.replies.recv().map_err(|_| EngineError::Ended)?;
            self.due -= 1;
            match reply {
                Reply::Numbers(numbers) => batch.number(numbers),
                Reply::Committed => {
                    if let Some(up_to) = self.commits.pop_front() {
                        progress.commit(up_to);
                    }
                    if self.due == 0 {
                        return Ok(Reply::Committed);
                    }
                }
                other => return Ok(other),
            }
        }
    }

    fn answer(
        &mut self,
        batch: &mut Batch<'e, A>,
        progress: &mut Progress,
    ) -> Result<Answer<A::Ratchet>, EngineError> {
        match self.reply(batch, progress)? {
            Reply::Answer(answer) => Ok(answer),
            _ => Err(EngineError::Ended),
        }
    }

    /// Reports to the watcher what was committed.
    fn tell(
        &mut self,
        batch: &mut Batch<'e, A>,
        progress: &mut Progress,
        watch: &mut Watch<'_, '_, A>,
    ) -> Result<(), EngineError> {
        watch.call(batch, self, progress)
    }

    /// Waits for all outstanding replies.
    fn finish(
        &mut self,
        batch: &mut Batch<'e, A>,
        progress: &mut Progress,
    ) -> Result<(), EngineError> {
        while self.due > 0 {
            self.reply(batch, progress)?;
        }
        Ok(())
    }
}

impl<'e, A: PairwiseAccount> StoreAccess<'e, A> for StoreThread<'e, A> {
    fn load(
        &mut self,
        batch: &mut Batch<'e, A>,
        address: Address,
        progress: &mut Progress,
    ) -> Result<RemoteDevice<A::Ratchet>, EngineError> {
        self.post(Job::Load(address))?;
        match self.reply(batch, progress)? {
            Reply::RemoteDevice(Ok(remote_device)) => Ok(*remote_device),
            Reply::RemoteDevice(Err(damaged)) => Err(EngineError::Damaged(damaged)),
            _ => Err(EngineError::Ended),
        }
    }

    fn send(
        &mut self,
        batch: &mut Batch<'e, A>,
        outgoing: OutgoingMessage,
        states: Changeset,
        progress: &mut Progress,
    ) -> Result<u64, EngineError> {
        let up_to = batch.written();
        self.post(Job::Send(outgoing, states))?;
        match self.reply(batch, progress)? {
            Reply::Sent(number) => {
                progress.commit(up_to);
                Ok(number)
            }
            _ => Err(EngineError::Ended),
        }
    }
}

/// Processes jobs until the channel closes; a transaction that was not committed then is dropped.
/// If `ahead` is set, written rows are encrypted before the commit, while the next block is opened.
fn serve<'e, A: PairwiseAccount>(
    local_store: &mut LocalStore<'_>,
    jobs: &Receiver<Job<'e>>,
    replies: &Sender<Reply<A::Ratchet>>,
    ahead: bool,
) -> Result<(), EngineError> {
    // A caller that has closed the channel has failed, and returns its own error.
    let reply = |it| drop(replies.send(it));
    while let Ok(first) = jobs.recv() {
        let transaction = begin(local_store.store, local_store.durability)?;
        let committed = {
            let mut store_session =
                StoreSession::new(&transaction, local_store.references, local_store.groups)?;
            let mut job = first;
            loop {
                match job {
                    Job::Answer(question) => reply(Reply::Answer(store_session.answer(question)?)),
                    Job::Write(writes) => {
                        reply(Reply::Numbers(store_session.write(writes)?));
                        if ahead {
                            transaction.write_ahead()?;
                        }
                    }
                    Job::Load(address) => {
                        reply(Reply::RemoteDevice(match store_session.remote_device(address) {
                            Ok(remote_device) => Ok(Box::new(remote_device)),
                            Err(EngineError::Damaged(what)) => Err(what),
                            Err(error) => return Err(error),
                        }))
                    }
                    Job::Commit(states) => {
                        store_session.save(&states)?;
                        break Reply::Committed;
                    }
                    Job::Send(outgoing, states) => {
                        store_session.save(&states)?;
                        break Reply::Sent(store_session.depart(&outgoing)?);
                    }
                }
                job = match jobs.recv() {
                    Ok(job) => job,
                    Err(_) => return Ok(()),
                };
            }
        };
        transaction.commit()?;
        if matches!(committed, Reply::Sent(_)) && local_store.durability == Durability::AtEnd {
            // The ciphertext must be on disk before it is sent.
            local_store.store.sync()?;
        }
        reply(committed);
    }
    Ok(())
}
