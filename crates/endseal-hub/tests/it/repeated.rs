//! Transactions that a store repeats, as they have met others. The second run begins from the state
//! before the first one.

use std::thread;
use std::time::Duration;

use endseal_codec::hub::{Answer, Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_hub::{
    Cell, ChangeListener, DeviceRow, DeviceState, Hub, HubReader, HubStore, HubTransaction,
    Importer, Migrations, OpenInvitation, Space, StorageError, Table,
};
use endseal_transport::Policy;
use tokio::time::timeout;

use crate::bounds::fill;
use crate::database::Database;
use crate::puts::put_one;
use crate::world::{World, put, put_to};

/// Fault of a [`FaultyStore`].
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// Each transaction meets another one once, and is repeated.
    Repeats,
    /// The process ends after the rows were copied.
    EndsAfterExport,
}

/// A store over another one, with a fault.
struct FaultyStore {
    store: Box<dyn HubStore>,
    fault: Fault,
    is_exported: bool,
}

impl HubStore for FaultyStore {
    fn devices(&mut self) -> Result<Vec<DeviceState>, StorageError> {
        self.store.devices()
    }

    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        if self.fault == Fault::Repeats {
            let first = self.store.transact(&mut |transaction| {
                work(transaction)?;
                Err(StorageError::Conflict)
            });
            assert!(matches!(first, Err(StorageError::Conflict)), "{first:?}");
        }
        if self.fault == Fault::EndsAfterExport && self.is_exported {
            return Err(StorageError::Migration("killed"));
        }
        self.store.transact(work)
    }

    fn was_changed(&mut self) -> Result<bool, StorageError> {
        self.store.was_changed()
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn forget_single_use(&mut self) -> Result<(u64, u64), StorageError> {
        self.store.forget_single_use()
    }

    fn invitations(&mut self) -> Result<Vec<OpenInvitation>, StorageError> {
        self.store.invitations()
    }

    fn check(&mut self) -> Result<Vec<String>, StorageError> {
        self.store.check()
    }

    fn listen(&mut self, listener: ChangeListener) -> Result<(), StorageError> {
        self.store.listen(listener)
    }

    fn announce(&mut self, devices: &[DeviceRow]) {
        self.store.announce(devices);
    }

    fn space(&mut self) -> Result<Space, StorageError> {
        self.store.space()
    }

    fn shrink(&mut self) -> Result<(), StorageError> {
        self.store.shrink()
    }

    fn export(
        &mut self,
        table: &Table,
        each: &mut dyn FnMut(Vec<Cell>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.is_exported = true;
        self.store.export(table, each)
    }

    fn import(
        &mut self,
        token: &[u8; 16],
        fill: &mut dyn FnMut(&mut dyn Importer) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.store.import(token, fill)
    }

    fn migrations(&mut self) -> Result<Migrations, StorageError> {
        self.store.migrations()
    }

    fn is_retired(&self) -> bool {
        self.store.is_retired()
    }

    fn retire(&mut self, token: &[u8; 16]) -> Result<(), StorageError> {
        self.store.retire(token)
    }

    fn reader(&self) -> Result<Box<dyn HubReader>, StorageError> {
        self.store.reader()
    }
}

/// Opens a database with a fault, on a thread without a runtime.
pub(crate) fn faulty(database: &Database, fault: Fault) -> Box<dyn HubStore> {
    let store = database.open();
    Box::new(FaultyStore { store, fault, is_exported: false })
}

/// Restarts the hub with a store whose transactions are repeated once.
async fn repeating(world: &mut World) {
    world.stop().await;
    let open = || faulty(&world.database, Fault::Repeats);
    let store = thread::scope(|scope| scope.spawn(open).join().unwrap());
    let here = "127.0.0.1:0".parse().unwrap();
    let limits = world.limits.clone();
    let hub = Hub::serve(here, world.key(), Policy::default(), store, limits).unwrap();
    world.address = hub.local_address().unwrap();
    world.hub = Some(hub);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_transaction_costs_once() {
    let mut world = World::with(Default::default());
    let (mut alice, bob) = (world.registered().await, world.registered().await);
    world.stop().await;
    (world.limits.burst, world.limits.rate) = (20, 1);
    world.start();
    repeating(&mut world).await;
    alice.reconnect(&world).await;
    let (stored, code) = fill(&alice, &bob, 1, 10).await;
    assert!(stored >= 19, "{stored} frames cost the budget of 20: {code:?}");
}

/// A refusal of the first run does not hold for the second one.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_transaction_names_mailboxes() {
    let mut world = World::new();
    let (mut alice, bob) = (world.registered().await, world.registered().await);
    repeating(&mut world).await;
    alice.reconnect(&world).await;
    let absent = PeerId::from_bytes(&[9; 32]);
    let request = put_to(&[bob.peer, absent], &alice.frame(1, b"text"));
    let Answer::Refused(Refused { code, mailboxes, .. }) = put_one(&alice, request).await else {
        panic!()
    };
    assert_eq!((code, mailboxes), (Code::MAILBOX, vec![[9; 32]]));
}

/// Frames before a refused one are stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_transaction_stores_what_came_before_a_refusal() {
    let mut world = World::new();
    let (mut alice, bob) = (world.registered().await, world.registered().await);
    world.limits.mailbox_frames = 6;
    repeating(&mut world).await;
    alice.reconnect(&world).await;
    let mut exchange = alice.exchange().await;
    for sequence in 1..=5 {
        exchange.send(put(&[&bob], &alice.frame(sequence, b"text"))).await;
    }
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(timeout(Duration::from_secs(2), exchange.receive()).await);
    }
    assert!(
        answers.iter().flatten().flatten().any(|it| matches!(it, Answer::Stored(_))),
        "{answers:?}"
    );
}
