//! A batch on the caller's thread, one step after the other.

use endseal_store::{Store, WriteTransaction};

use super::batch::Batch;
use super::chunk::Chunk;
use super::clerk::{Clerk, load_partner};
use super::desk::{Departure, Desk};
use super::lane::Partner;
use super::progress::{Progress, Watch};
use super::references::References;
use super::states::States;
use crate::group::GroupDevice;
use crate::{Address, BatchOptions, Durability, EngineError, PairwiseAccount};

/// Messages of a block. Twice and four times as many gain nothing.
const BLOCK: usize = 128;

/// The store, at hand.
pub(super) struct Counter<'a> {
    pub(super) store: &'a mut Store,
    pub(super) references: &'a mut References,
    pub(super) groups: &'a GroupDevice,
    pub(super) durability: Durability,
}

/// Begins a transaction of a batch.
pub(super) fn begin(
    store: &mut Store,
    durability: Durability,
) -> Result<WriteTransaction<'_>, EngineError> {
    Ok(match durability {
        Durability::EachCommit => store.begin()?,
        Durability::AtEnd => store.begin_unsynced()?,
    })
}

/// Opens and writes `total` messages; what is committed is in `progress`, whatever comes after.
pub(super) fn run<A: PairwiseAccount>(
    counter: &mut Counter<'_>,
    batch: &mut Batch<'_, A>,
    total: usize,
    options: &BatchOptions,
    progress: &mut Progress,
    watch: &mut Watch<'_, '_, A>,
) -> Result<(), EngineError> {
    while progress.committed < total && !progress.stopped {
        let mut at = progress.committed;
        let transaction = begin(counter.store, counter.durability)?;
        {
            let mut clerk = Clerk::new(&transaction, counter.references, counter.groups)?;
            let mut chunk = Chunk::open(options, BLOCK);
            loop {
                let range = chunk.block(at, total);
                let end = range.end;
                let (block, question) = batch.plan(range);
                let answer = clerk.answer(question)?;
                batch.memory.take_in(answer.loaded);
                let work = batch.begin(block, answer.seen);
                let trust = batch.memory.trust();
                let done = work.into_iter().map(|lane| lane.run(&trust)).collect();
                let writes = batch.end(done);
                batch.number(clerk.write(writes)?);
                let full = chunk.add(end - at);
                at = end;
                batch.write_up_to(at);
                if full || at == total {
                    break;
                }
            }
            clerk.save(&batch.states(at, options)?)?;
        }
        transaction.commit()?;
        progress.commit(at);
        watch.call(batch, counter, progress)?;
    }
    Ok(())
}

impl<'e, A: PairwiseAccount> Desk<'e, A> for Counter<'_> {
    fn load(
        &mut self,
        _batch: &mut Batch<'e, A>,
        address: Address,
        _progress: &mut Progress,
    ) -> Result<Partner<A::Ratchet>, EngineError> {
        let transaction = self.store.read()?;
        load_partner(&transaction, self.references, address)
    }

    fn send(
        &mut self,
        _batch: &mut Batch<'e, A>,
        departure: Departure,
        states: States,
        _progress: &mut Progress,
    ) -> Result<u64, EngineError> {
        let transaction = self.store.begin()?;
        let number = {
            let mut clerk = Clerk::<A::Ratchet>::new(&transaction, self.references, self.groups)?;
            clerk.save(&states)?;
            clerk.depart(&departure)?
        };
        transaction.commit()?;
        Ok(number)
    }
}
