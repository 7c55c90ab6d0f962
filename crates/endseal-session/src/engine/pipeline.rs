//! A batch on several threads: the store has one of its own, so that the next messages are opened
//! while the last ones are written and synchronised, and conversations are opened side by side.
//!
//! The thread of the store takes jobs in order. What it answers comes in the same order, so that the
//! caller knows what the next answer is about. A block's ids are looked up before the block before it
//! is written; ids of these two are told apart in the lanes ([`Fresh`](super::lane::Fresh)).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::batch::{Batch, Block};
use super::chunk::Chunk;
use super::clerk::Clerk;
use super::crew::Crew;
use super::desk::{Answer, Departure, Desk, Question, Write};
use super::inline::{Counter, begin};
use super::lane::Partner;
use super::progress::{Progress, Watch};
use super::states::States;
use crate::{Address, BatchOptions, Durability, EngineError, PairwiseAccount};

/// Messages of a block. Threads wait for each other once a block (docs/design/store-tuning.md,
/// "Backlogs").
const BLOCK: usize = 512;

/// What the store's thread is asked for.
enum Job<'e> {
    Answer(Question<'e>),
    Write(Vec<Write<'e>>),
    Commit(States),
    Load(Address),
    Send(Departure, States),
}

/// What it replies.
enum Reply<R> {
    Answer(Answer<R>),
    Numbers(Vec<u64>),
    Committed,
    Partner(Result<Box<Partner<R>>, &'static str>),
    Sent(u64),
}

/// As [`inline::run`](super::inline::run), on `options.threads` threads and one for the store.
pub(super) fn run<'e, A: PairwiseAccount>(
    counter: &mut Counter<'_>,
    batch: &mut Batch<'e, A>,
    total: usize,
    options: &BatchOptions,
    progress: &mut Progress,
    watch: &mut Watch<'_, '_, A>,
) -> Result<(), EngineError> {
    let trust = batch.memory.trust();
    let crew = Crew::new();
    let (jobs, inbox) = channel();
    let (outbox, replies) = channel();
    thread::scope(|scope| {
        // A transaction of one block is committed at once.
        let ahead = options.max_messages.get() > BLOCK;
        let clerk = scope.spawn(move || serve::<A>(counter, &inbox, &outbox, ahead));
        crew.start(scope, options.threads.get() - 1, &trust);
        let mut remote = Remote { jobs, replies, commits: VecDeque::new(), due: 0 };
        let mut work = || -> Result<(), EngineError> {
            let mut chunk = Chunk::open(options, BLOCK);
            let mut at = progress.committed;
            let mut next = ask(&mut remote, batch, &chunk, at, total)?;
            while let Some((block, end)) = next {
                let answer = remote.answer(batch, progress)?;
                batch.memory.take_in(answer.loaded);
                remote.tell(batch, progress, watch)?;
                // The next block is planned while this one's lanes are in place.
                let full = chunk.add(end - at);
                if full {
                    chunk = Chunk::open(options, BLOCK);
                }
                let last = progress.stopped;
                next = if last { None } else { ask(&mut remote, batch, &chunk, end, total)? };
                let work = batch.begin(block, answer.seen);
                let done = crew.run(work, &trust);
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
        let engagement = crew.engage();
        let worked = work();
        drop(engagement);
        drop(remote);
        match (clerk.join(), worked) {
            (Err(panic), _) => std::panic::resume_unwind(panic),
            // The thread's own error says why nobody answered.
            (Ok(Err(error)), _) => Err(error),
            (Ok(Ok(())), worked) => worked,
        }
    })
}

/// Plans the messages from `at` on and asks for what they need; `None` if there are none.
fn ask<'e, A: PairwiseAccount>(
    remote: &mut Remote<'e, A>,
    batch: &mut Batch<'e, A>,
    chunk: &Chunk<'_>,
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

/// The store, on another thread.
struct Remote<'e, A: PairwiseAccount> {
    jobs: Sender<Job<'e>>,
    replies: Receiver<Reply<A::Ratchet>>,
    /// How far each transaction that was not committed yet reaches.
    commits: VecDeque<usize>,
    /// Replies that are to come.
    due: usize,
}

impl<'e, A: PairwiseAccount> Remote<'e, A> {
    fn post(&mut self, job: Job<'e>) -> Result<(), EngineError> {
        self.due += 1;
        self.jobs.send(job).map_err(|_| EngineError::Ended)
    }

    /// The next reply that is no mere progress.
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

    /// Tells the watcher of what was committed.
    fn tell(
        &mut self,
        batch: &mut Batch<'e, A>,
        progress: &mut Progress,
        watch: &mut Watch<'_, '_, A>,
    ) -> Result<(), EngineError> {
        watch.call(batch, self, progress)
    }

    /// Waits for everything that was asked for.
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

impl<'e, A: PairwiseAccount> Desk<'e, A> for Remote<'e, A> {
    fn load(
        &mut self,
        batch: &mut Batch<'e, A>,
        address: Address,
        progress: &mut Progress,
    ) -> Result<Partner<A::Ratchet>, EngineError> {
        self.post(Job::Load(address))?;
        match self.reply(batch, progress)? {
            Reply::Partner(Ok(partner)) => Ok(*partner),
            Reply::Partner(Err(damaged)) => Err(EngineError::Damaged(damaged)),
            _ => Err(EngineError::Ended),
        }
    }

    fn send(
        &mut self,
        batch: &mut Batch<'e, A>,
        departure: Departure,
        states: States,
        progress: &mut Progress,
    ) -> Result<u64, EngineError> {
        let up_to = batch.written();
        self.post(Job::Send(departure, states))?;
        match self.reply(batch, progress)? {
            Reply::Sent(number) => {
                progress.commit(up_to);
                Ok(number)
            }
            _ => Err(EngineError::Ended),
        }
    }
}

/// Takes jobs until none can come any more. A transaction that was not committed then is dropped. What is
/// written of it is encrypted `ahead` of its commit, while the next block is opened.
fn serve<'e, A: PairwiseAccount>(
    counter: &mut Counter<'_>,
    jobs: &Receiver<Job<'e>>,
    replies: &Sender<Reply<A::Ratchet>>,
    ahead: bool,
) -> Result<(), EngineError> {
    // Whoever does not listen any more has failed, and says so itself.
    let reply = |it| drop(replies.send(it));
    while let Ok(first) = jobs.recv() {
        let transaction = begin(counter.store, counter.durability)?;
        let committed = {
            let mut clerk = Clerk::new(&transaction, counter.references, counter.groups)?;
            let mut job = first;
            loop {
                match job {
                    Job::Answer(question) => reply(Reply::Answer(clerk.answer(question)?)),
                    Job::Write(writes) => {
                        reply(Reply::Numbers(clerk.write(writes)?));
                        if ahead {
                            transaction.write_ahead()?;
                        }
                    }
                    Job::Load(address) => reply(Reply::Partner(match clerk.partner(address) {
                        Ok(partner) => Ok(Box::new(partner)),
                        Err(EngineError::Damaged(what)) => Err(what),
                        Err(error) => return Err(error),
                    })),
                    Job::Commit(states) => {
                        clerk.save(&states)?;
                        break Reply::Committed;
                    }
                    Job::Send(departure, states) => {
                        clerk.save(&states)?;
                        break Reply::Sent(clerk.depart(&departure)?);
                    }
                }
                job = match jobs.recv() {
                    Ok(job) => job,
                    Err(_) => return Ok(()),
                };
            }
        };
        transaction.commit()?;
        if matches!(committed, Reply::Sent(_)) && counter.durability == Durability::AtEnd {
            // Before a byte of it leaves.
            counter.store.sync()?;
        }
        reply(committed);
    }
    Ok(())
}
