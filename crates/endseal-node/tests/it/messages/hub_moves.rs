//! Hubs that tell another address, rightly or not.

use alloc::sync::Arc;
use std::sync::Mutex;

use endseal_codec::hub::{Answer, Request, Welcome};
use endseal_crypto::identity::Identity;
use endseal_crypto::label;
use endseal_crypto::mldsa65::SigningKey;
use endseal_crypto::random::OsRandom;
use endseal_keyring::AddressNote;
use endseal_node::messages::{HubClient, HubMove, membership, register, status};

use super::hostile_hub::quiet;
use super::liar::{Liar, Line, TIMEOUT};
use super::world::{Person, World};

/// Address at which persons have joined.
const OLD: &str = "127.0.0.1:1";

/// A hub that gives a note to each node, whatever the node has.
struct Mover {
    key: SigningKey,
    liar: Liar,
    note: Arc<Mutex<Vec<u8>>>,
    /// Time of the note that the last node had.
    noted: Arc<Mutex<u64>>,
}

impl Mover {
    fn new() -> Self {
        let identity = Identity::generate(&mut OsRandom).unwrap();
        let (note, noted) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let (given, seen) = (Arc::clone(&note), Arc::clone(&noted));
        let liar = Liar::of(&identity, Line::FAST, move |_, request| match request {
            Request::Hello(hello) => {
                *seen.lock().unwrap() = hello.address_time;
                let address_note = given.lock().unwrap().as_slice().into();
                let welcome =
                    Welcome { prekeys: 100, epoch: 1, address_note, ..Welcome::default() };
                Some(vec![Answer::Welcome(welcome)])
            }
            Request::Register(_) => quiet(Request::Hello(Default::default())),
            other => quiet(other),
        });
        Self { key: identity.transport_key(), liar, note, noted }
    }

    /// Makes a note of this hub.
    fn sign(&self, time: u64, addresses: &[&str]) -> Vec<u8> {
        let note = AddressNote::sign(&self.key, time, addresses, &mut OsRandom);
        note.unwrap().as_bytes().to_vec()
    }

    /// Visits the hub at an address. Returns what the visit tells of moves.
    async fn tells(&self, person: &mut Person, at: &str, note: Vec<u8>) -> Vec<HubMove> {
        *self.note.lock().unwrap() = note;
        let (report, result) = self.liar.visit_at(person, at).await;
        result.unwrap();
        report.hub_moves
    }
}

fn addresses(person: &mut Person) -> String {
    membership(&mut person.engine).unwrap().unwrap().addresses
}

fn announced(addresses: &str) -> Vec<HubMove> {
    vec![HubMove::Announced { addresses: addresses.to_owned() }]
}

fn reached(addresses: &str) -> Vec<HubMove> {
    vec![HubMove::Reached { addresses: addresses.to_owned() }]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_address_is_kept_beside_the_old_one_until_it_answers() {
    let (world, hub) = (World::new(), Mover::new());
    let mut alice = hub.liar.member(&world, "alice").await;
    let note = hub.sign(5, &["new:1"]);
    assert_eq!(hub.tells(&mut alice, OLD, note.clone()).await, announced("new:1"));
    // A process that is killed now leaves both addresses to the next one.
    let mut alice = alice.restart();
    assert_eq!(addresses(&mut alice), "127.0.0.1:1 new:1");
    assert_eq!(status(&mut alice.engine).unwrap().moves_to.as_deref(), Some("new:1"));
    assert!(hub.tells(&mut alice, OLD, note.clone()).await.is_empty(), "it is known");
    assert_eq!(*hub.noted.lock().unwrap(), 5);
    let earlier = hub.sign(4, &["older:1"]);
    assert_eq!(hub.tells(&mut alice, OLD, earlier.clone()).await, [HubMove::Earlier {}]);
    assert_eq!(addresses(&mut alice), "127.0.0.1:1 new:1");

    // It was wrong: another note takes its place, and the address that answers stays.
    let note = hub.sign(6, &["newer:1", "newer:2"]);
    assert_eq!(hub.tells(&mut alice, OLD, note).await, announced("newer:1 newer:2"));
    assert_eq!(addresses(&mut alice), "127.0.0.1:1 newer:1 newer:2");
    assert_eq!(hub.tells(&mut alice, "newer:2", Vec::new()).await, reached("newer:1 newer:2"));
    assert_eq!(addresses(&mut alice), "newer:1 newer:2");
    assert_eq!(status(&mut alice.engine).unwrap().moves_to, None);
    assert!(hub.tells(&mut alice, "newer:1", Vec::new()).await.is_empty());
    // An earlier note does not take the hub back.
    assert_eq!(hub.tells(&mut alice, "newer:1", earlier).await, [HubMove::Earlier {}]);
    assert_eq!(addresses(&mut alice), "newer:1 newer:2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_comes_over_the_new_address_replaces_the_others_at_once() {
    let (world, hub) = (World::new(), Mover::new());
    let mut alice = hub.liar.member(&world, "alice").await;
    let note = hub.sign(5, &["new:1"]);
    assert_eq!(hub.tells(&mut alice, "new:1", note).await, reached("new:1"));
    assert_eq!(addresses(&mut alice), "new:1");
    // The same address with another one: nothing is forgotten, and nothing is awaited.
    let note = hub.sign(6, &["second:1", "new:1"]);
    assert_eq!(hub.tells(&mut alice, "new:1", note).await, announced("second:1 new:1"));
    assert_eq!(addresses(&mut alice), "second:1 new:1");
    assert_eq!(status(&mut alice.engine).unwrap().moves_to, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_a_user_gives_replaces_one_that_has_not_answered() {
    let (world, hub) = (World::new(), Mover::new());
    let mut alice = hub.liar.member(&world, "alice").await;
    let note = hub.sign(5, &["wrong:1"]);
    assert_eq!(hub.tells(&mut alice, OLD, note.clone()).await, announced("wrong:1"));
    for (given, awaited) in [("127.0.0.1:1 wrong:1", Some("wrong:1")), ("by-hand:1", None)] {
        let (_endpoint, connection) = hub.liar.connect(&alice.key()).await;
        let client = HubClient::new(&connection, TIMEOUT);
        register(&client, &mut alice.engine, given, None, &alice.record).await.unwrap();
        assert_eq!(addresses(&mut alice), given);
        // A renewal registers at the same addresses, and changes nothing.
        assert_eq!(status(&mut alice.engine).unwrap().moves_to.as_deref(), awaited);
    }
    assert!(hub.tells(&mut alice, "by-hand:1", note).await.is_empty());
    assert_eq!(addresses(&mut alice), "by-hand:1");
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_that_the_hub_did_not_sign_or_that_cannot_be_used_are_refused_and_told() {
    let (world, hub, other) = (World::new(), Mover::new(), Mover::new());
    let mut alice = hub.liar.member(&world, "alice").await;
    let right = hub.sign(5, &["new:1"]);
    let mut changed = right.clone();
    *changed.last_mut().unwrap() = b'2';
    let forced = {
        let message = [&right[..9], b"new:0"].concat();
        let context = label::DELIVERY_ADDRESS.as_str().as_bytes();
        let signature = hub.key.sign(&message, context, &mut OsRandom).unwrap();
        [&right[..9 + 1_952], signature.as_bytes(), b"new:0"].concat()
    };
    for (note, class) in [
        (other.sign(5, &["new:1"]), "key"),
        (changed, "signature"),
        (forced, "addresses"),
        (right[..right.len() - 5].to_vec(), "addresses"),
        (right[..5_000].to_vec(), "length"),
        (vec![1; 8_192], "length"),
        ([&[2], &right[1..]].concat(), "version"),
    ] {
        let refused = HubMove::Refused { class: class.to_owned() };
        assert_eq!(hub.tells(&mut alice, OLD, note).await, [refused]);
        assert_eq!(addresses(&mut alice), OLD);
    }
    assert_eq!(*hub.noted.lock().unwrap(), 0);
}
