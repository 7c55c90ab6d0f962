//! Transactions over several calls, as a library of another language makes them.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use endseal_facade::{Identity, OsRandom};
use endseal_session_facade::{
    BatchOptions, Engine, IncomingMessage, MessageOrigin, MessageOutcome, StoreSecret, Transaction,
};

const ALL: BatchOptions = BatchOptions { messages_per_commit: 0, threads: 1 };

struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let place = format!("endseal-transactions-{name}-{}", std::process::id());
        let place = std::env::temp_dir().join(place);
        std::fs::create_dir_all(&place).unwrap();
        Self(place)
    }

    fn device(&self, name: &str) -> Engine {
        let identity = Identity::generate(&mut OsRandom).unwrap();
        Engine::create(&self.0.join(name), &secret(), &identity, 1).unwrap()
    }

    /// Two devices, and messages of the first to the second.
    fn backlog(&self, texts: &[&str]) -> (Engine, Engine, Vec<IncomingMessage>) {
        let (ana, ben) = (self.device("ana"), self.device("ben"));
        let transaction = ben.begin().unwrap();
        let bundle = transaction.prekey_bundles(1).unwrap().remove(0);
        transaction.commit().unwrap();
        let transaction = ana.begin().unwrap();
        transaction.begin_session(&ben.address(), &bundle).unwrap();
        for text in texts {
            transaction.encrypt(&ben.address(), text.as_bytes().to_vec()).unwrap();
        }
        transaction.commit().unwrap();
        let origin = MessageOrigin::Device { address: ana.address() };
        let message = |it: endseal_session_facade::OutboxMessage| IncomingMessage {
            id: it.number.to_le_bytes().to_vec(),
            origin: origin.clone(),
            body: it.body,
        };
        let messages = ana.outbox(0, 100).unwrap().into_iter().map(message).collect();
        (ana, ben, messages)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn secret() -> StoreSecret {
    StoreSecret::key(vec![7; 32]).unwrap()
}

fn assert_delivered(outcomes: &[MessageOutcome], count: usize) {
    assert_eq!(outcomes.len(), count);
    assert!(
        outcomes.iter().all(|it| matches!(it, MessageOutcome::Delivered { .. })),
        "{outcomes:?}"
    );
}

#[test]
fn handles_go_to_any_thread() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Engine>();
    check::<Transaction>();
    check::<StoreSecret>();
}

#[test]
fn what_is_not_committed_has_no_effect() {
    let scene = Scene::new("rollback");
    let (_ana, ben, messages) = scene.backlog(&["one", "two", "three"]);
    for is_rolled_back in [false, true] {
        let transaction = ben.begin().unwrap();
        assert_delivered(&transaction.decrypt_batch(messages.clone()).unwrap(), 3);
        assert_eq!(transaction.inbox(0, 10).unwrap().len(), 3);
        if is_rolled_back {
            transaction.rollback().unwrap();
        }
        drop(transaction);
        assert!(ben.inbox(0, 10).unwrap().is_empty());
    }
    assert_delivered(&ben.decrypt_batch(messages, ALL).unwrap().outcomes, 3);
}

#[test]
fn calls_wait_for_the_open_transaction() {
    let scene = Scene::new("waiting");
    let (_ana, ben, messages) = scene.backlog(&["one", "two"]);
    let ben = Arc::new(ben);
    let transaction = ben.begin().unwrap();
    let waiting = {
        let (ben, first) = (Arc::clone(&ben), messages[..1].to_vec());
        thread::spawn(move || ben.decrypt_batch(first, ALL).unwrap().outcomes)
    };
    assert_delivered(&transaction.decrypt_batch(messages).unwrap(), 2);
    transaction.commit().unwrap();
    let late = waiting.join().unwrap();
    assert!(matches!(late[..], [MessageOutcome::AlreadyDelivered { .. }]), "{late:?}");
    assert_eq!(transaction.commit().unwrap_err().code(), "ended");
    assert_eq!(transaction.inbox(0, 1).err().unwrap().code(), "ended");
}

#[test]
fn a_closed_engine_has_rolled_back() {
    let scene = Scene::new("closing");
    let (ana, ben, messages) = scene.backlog(&["one"]);
    let transaction = ben.begin().unwrap();
    assert_delivered(&transaction.decrypt_batch(messages.clone()).unwrap(), 1);
    ben.close().unwrap();
    assert_eq!(transaction.commit().unwrap_err().code(), "ended");
    assert_eq!(ben.begin().err().unwrap().code(), "closed");
    assert_eq!(open(&scene.0.join("ana")), "locked");
    drop(ana);
    let ben = Engine::open(&scene.0.join("ben"), &secret()).unwrap();
    assert_delivered(&ben.decrypt_batch(messages, ALL).unwrap().outcomes, 1);
}

fn open(place: &Path) -> String {
    Engine::open(place, &secret()).err().unwrap().code().to_owned()
}

#[test]
fn a_group_id_of_a_wrong_length_is_named_as_such() {
    let scene = Scene::new("group-ids");
    let ana = scene.device("ana");
    let transaction = ana.begin().unwrap();
    for len in [0, 64, 65, 1000] {
        assert_eq!(transaction.create_group(vec![1; len]).unwrap_err().code(), "invalid-id");
    }
    for len in [1, 63] {
        transaction.create_group(vec![1; len]).unwrap();
    }
    transaction.commit().unwrap();
}
