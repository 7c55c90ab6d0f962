//! Processing of a batch on the caller's thread.

use endseal_keyring::device::Address;
use endseal_store::{Store, WriteTransaction};

use super::batch::Batch;
use super::changeset::Changeset;
use super::commit_budget::CommitBudget;
use super::conversation_state::RemoteDevice;
use super::outgoing_message::OutgoingMessage;
use super::progress::Progress;
use super::references::References;
use super::store_access::StoreAccess;
use super::store_session::{StoreSession, load_partner};
use super::watch::Watch;
use crate::group::GroupDevice;
use crate::{BatchOptions, Durability, EngineError, PairwiseAccount};

/// Messages in a block. Blocks two or four times as large are not faster.
const BLOCK: usize = 128;

/// Store that is accessed on the caller's thread.
pub(super) struct LocalStore<'a> {
    pub(super) store: &'a mut Store,
    pub(super) references: &'a mut References,
    pub(super) groups: &'a GroupDevice,
    pub(super) durability: Durability,
}

/// Begins a write transaction with the batch's durability.
pub(super) fn begin(
    store: &mut Store,
    durability: Durability,
) -> Result<WriteTransaction<'_>, EngineError> {
    Ok(match durability {
        Durability::EachCommit => store.begin()?,
        Durability::AtEnd => store.begin_unsynced()?,
    })
}

/// Opens and writes `total` messages. Committed messages are counted in `progress`, even on an
/// error.
pub(super) fn run<A: PairwiseAccount>(
    local_store: &mut LocalStore<'_>,
    batch: &mut Batch<'_, A>,
    total: usize,
    options: &BatchOptions,
    progress: &mut Progress,
    watch: &mut Watch<'_, '_, A>,
) -> Result<(), EngineError> {
    while progress.committed < total && !progress.stopped {
        let mut at = progress.committed;
        let transaction = begin(local_store.store, local_store.durability)?;
        {
            let mut store_session =
                StoreSession::new(&transaction, local_store.references, local_store.groups)?;
            let mut chunk = CommitBudget::open(options, BLOCK);
            loop {
                let range = chunk.block(at, total);
                let end = range.end;
                let (block, question) = batch.plan(range);
                let answer = store_session.answer(question)?;
                batch.state_cache.take_in(answer.loaded);
                let work = batch.begin(block, answer.seen);
                let accept_context = batch.state_cache.accept_context();
                let done = work
                    .into_iter()
                    .map(|conversation_state| conversation_state.run(&accept_context))
                    .collect();
                let writes = batch.end(done);
                batch.number(store_session.write(writes)?);
                let full = chunk.add(end - at);
                at = end;
                batch.write_up_to(at);
                if full || at == total {
                    break;
                }
            }
            store_session.save(&batch.states(at, options)?)?;
        }
        transaction.commit()?;
        progress.commit(at);
        watch.call(batch, local_store, progress)?;
    }
    Ok(())
}

impl<'e, A: PairwiseAccount> StoreAccess<'e, A> for LocalStore<'_> {
    fn load(
        &mut self,
        _batch: &mut Batch<'e, A>,
        address: Address,
        _progress: &mut Progress,
    ) -> Result<RemoteDevice<A::Ratchet>, EngineError> {
        let transaction = self.store.read()?;
        load_partner(&transaction, self.references, address)
    }

    fn send(
        &mut self,
        _batch: &mut Batch<'e, A>,
        outgoing: OutgoingMessage,
        states: Changeset,
        _progress: &mut Progress,
    ) -> Result<u64, EngineError> {
        let transaction = self.store.begin()?;
        let number = {
            let mut store_session =
                StoreSession::<A::Ratchet>::new(&transaction, self.references, self.groups)?;
            store_session.save(&states)?;
            store_session.depart(&outgoing)?
        };
        transaction.commit()?;
        Ok(number)
    }
}
