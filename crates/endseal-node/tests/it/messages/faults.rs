//! Faults that were found in visits at a hub.

use alloc::sync::Arc;
use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Mutex;

use endseal_codec::Codec as _;
use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{
    Answer, CaughtUp, Code, Deliver, Gap, GapReason, HubAnswer, HubRequest, Person as Found,
    Prekey, Publish, Refused, Register, Request, Stored, Take, Welcome,
};
use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_delivery::{payload_limits, stored_limits};
use endseal_hub::{HubLimits, HubStore as _};
use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::RosterChainError;
use endseal_keyring::{IdentityFile, Invitation, JoinToken, PersonRecord};
use endseal_node::messages::{
    HubClient, HubError, JoinError, SkippedReason, SyncError, SyncReport, hub_limits, join,
    problems, status, sync,
};
use endseal_node::sessions::write_outbox;
use endseal_node::{AtomicFile, Existing, NewIdentity, Readers};
use endseal_session::{Certificate, ConversationId, DeviceId};
use endseal_testing::Scratch;
use endseal_transport::{
    Accept, Connection, Endpoint, Frame, FrameReceiver, FrameSender, Kind, Policy, TransportKey,
};
use tokio::time::timeout;

use super::world::{Person, World};

/// Lies of a hub.
#[derive(Clone, Copy, Default)]
struct Lies {
    /// Each certificate is named twice.
    certificates_twice: bool,
    /// Gaps without end in place of frames.
    endless_gaps: bool,
    /// Each frame is refused for a moment.
    endless_rate: bool,
    /// Frames of a mailbox that are withheld: these indices.
    withheld: (usize, usize),
}

#[derive(Default)]
struct Memory {
    people: HashMap<[u8; 32], Vec<u8>>,
    certificates: HashMap<[u8; 32], Vec<Vec<u8>>>,
    bundles: HashMap<[u8; 32], Vec<Vec<u8>>>,
    boxes: HashMap<[u8; 32], Vec<Vec<u8>>>,
    puts: usize,
}

/// A hub in memory that lies.
struct LyingHub {
    key: TransportKey,
    address: core::net::SocketAddr,
    memory: Arc<Mutex<Memory>>,
    folder: Scratch,
}

impl LyingHub {
    fn new(lies: Lies) -> Self {
        let key = TransportKey::new(&Identity::generate(&mut OsRandom).unwrap());
        let here = "127.0.0.1:0".parse().unwrap();
        let everybody = Accept::when(|_| true);
        let limits = hub_limits();
        let endpoint =
            Endpoint::bind_with(here, &key, Policy::default(), everybody, limits).unwrap();
        let address = endpoint.local_address().unwrap();
        let memory = Arc::<Mutex<Memory>>::default();
        let held = Arc::clone(&memory);
        tokio::spawn(async move {
            while let Some(connection) = endpoint.accept().await {
                let held = Arc::clone(&held);
                tokio::spawn(async move {
                    let peer = *connection.peer().as_bytes();
                    while let Ok((sender, receiver)) = connection.accept_exchange().await {
                        let held = Arc::clone(&held);
                        tokio::spawn(serve(peer, sender, receiver, held, lies));
                    }
                });
            }
        });
        Self { key, address, memory, folder: Scratch::new() }
    }

    async fn connect(&self, key: &TransportKey) -> (Endpoint, Connection) {
        let here = "127.0.0.1:0".parse().unwrap();
        let policy = Policy::default();
        let endpoint =
            Endpoint::bind_with(here, key, policy, Accept::nobody(), hub_limits()).unwrap();
        let connection = endpoint.connect(self.key.peer_id(), self.address).await.unwrap();
        (endpoint, connection)
    }

    async fn member(&self, world: &World, name: &str) -> Person {
        let mut person = world.person(name);
        let token = JoinToken::try_init_with(|bytes| {
            endseal_crypto::random::Random::fill(&mut OsRandom, bytes)
        });
        let invitation =
            Invitation::new(self.key.peer_id(), token.unwrap(), &["127.0.0.1:1"]).unwrap();
        let (_endpoint, connection) = self.connect(&person.key()).await;
        let hub = HubClient::new(&connection, PATIENCE);
        join(&hub, &mut person.engine, &invitation, &person.record).await.unwrap();
        let _ = &self.folder;
        person
    }

    /// A visit, which the test gives up after `limit`.
    async fn visit(
        &self,
        person: &mut Person,
        report: &mut SyncReport,
        limit: Duration,
    ) -> Option<Result<(), SyncError>> {
        let (_endpoint, connection) = self.connect(&person.key()).await;
        let hub = HubClient::new(&connection, PATIENCE);
        timeout(limit, sync(&hub, &mut person.engine, &person.record, report)).await.ok()
    }
}

const PATIENCE: Duration = Duration::from_secs(2);

async fn tell(sender: &mut FrameSender, answer: Answer) -> bool {
    let payload = HubAnswer::from(answer).to_vec(payload_limits()).unwrap();
    sender.send(&Frame::new(Kind::Control, payload)).await.is_ok()
}

async fn serve(
    peer: [u8; 32],
    mut sender: FrameSender,
    mut receiver: FrameReceiver,
    memory: Arc<Mutex<Memory>>,
    lies: Lies,
) {
    while let Ok(Some(frame)) = receiver.receive().await {
        let request = HubRequest::decode(&frame.payload, payload_limits()).unwrap().request;
        let prekeys = memory.lock().unwrap().bundles.get(&peer).map_or(0, Vec::len);
        let welcome =
            Welcome { epoch: 1, prekeys: u32::try_from(prekeys).unwrap(), ..Welcome::default() };
        let answer = match request {
            Request::Hello(_) => Answer::Welcome(welcome),
            Request::Register(it) => {
                let record = PersonRecord::parse(&it.person).unwrap();
                let identity = *record.identity().ed25519().as_bytes();
                let mut held = memory.lock().unwrap();
                held.people.insert(identity, it.person.to_vec());
                held.certificates.entry(identity).or_default().push(it.certificate.to_vec());
                Answer::Welcome(welcome)
            }
            Request::Publish(it) => {
                let mut held = memory.lock().unwrap();
                let all = held.bundles.entry(peer).or_default();
                all.extend(it.bundles.iter().map(|it| it.to_vec()));
                Answer::Welcome(welcome)
            }
            Request::Find(it) => {
                let endseal_codec::hub::By::Identity(identity) = it.by else { return };
                let held = memory.lock().unwrap();
                let mut certificates = held.certificates[&identity].clone();
                if lies.certificates_twice {
                    certificates.extend(certificates.clone());
                }
                let certificates = certificates.into_iter().map(Into::into).collect();
                Answer::Person(Found {
                    person: held.people[&identity].clone().into(),
                    certificates,
                })
            }
            Request::Take(it) => {
                let bundle = memory.lock().unwrap().bundles.get_mut(&it.peer).unwrap().remove(0);
                Answer::Prekey(Prekey { bundle: bundle.into() })
            }
            Request::Put(put) => {
                let frame = StoredFrame::parse(&put.frame, stored_limits()).unwrap();
                let sequence = frame.vouched_by(&peer).unwrap().stamp().sequence;
                if lies.endless_rate {
                    memory.lock().unwrap().puts += 1;
                    Answer::Refused(Refused {
                        sequence: Some(sequence),
                        code: Code::RATE,
                        wait: 1,
                        ..Refused::default()
                    })
                } else {
                    let mut held = memory.lock().unwrap();
                    held.puts += 1;
                    let target: [u8; 32] = put.targets[..].try_into().unwrap();
                    held.boxes.entry(target).or_default().push(put.frame.to_vec());
                    Answer::Stored(Stored { sequence })
                }
            }
            Request::Subscribe(it) => {
                if lies.endless_gaps {
                    let mut position = 0;
                    loop {
                        position += 1;
                        let gap = Gap { count: 1, reason: GapReason::EXPIRED, position };
                        let payload = HubAnswer::from(Answer::Gap(gap)).to_vec(payload_limits());
                        let frame = Frame::new(Kind::Control, payload.unwrap());
                        if sender.feed(&frame).await.is_err() {
                            return;
                        }
                    }
                }
                let frames = memory.lock().unwrap().boxes.remove(&peer).unwrap_or_default();
                for (at, frame) in frames.into_iter().enumerate() {
                    if (lies.withheld.0..lies.withheld.1).contains(&at) {
                        continue;
                    }
                    let position = it.after + 1 + at as u64;
                    let frame = frame.into();
                    let slot = Box::default();
                    tell(&mut sender, Answer::Deliver(Deliver { position, slot, frame })).await;
                }
                Answer::CaughtUp(CaughtUp::default())
            }
            _ => continue,
        };
        if !tell(&mut sender, answer).await {
            return;
        }
    }
    let _ = sender.end().await;
}

/// docs/spec/node.md, "Sending": one frame for each device. A hub that names a certificate twice
/// makes the node encrypt each text twice under two numbers, so that it is shown twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_names_a_device_twice_doubles_no_text() {
    let world = World::new();
    let hub = LyingHub::new(Lies { certificates_twice: true, ..Lies::default() });
    let mut alice = hub.member(&world, "alice").await;
    let mut bob = hub.member(&world, "bob").await;
    alice.say(&bob.identity, "pay 100");
    let long = Duration::from_secs(20);
    let mut report = SyncReport::default();
    hub.visit(&mut alice, &mut report, long).await.unwrap().unwrap();
    assert_eq!((report.sent, report.skipped[0].reason), (0, SkippedReason::Directory));
    hub.visit(&mut bob, &mut SyncReport::default(), long).await.unwrap().unwrap();
    assert_eq!(bob.read(), []);
}

/// Gaps take no credit, need no acknowledgement, and each is kept in memory twice.
#[tokio::test(flavor = "multi_thread")]
async fn gaps_without_end_cost_bounded_memory_and_time() {
    let world = World::new();
    let hub = LyingHub::new(Lies { endless_gaps: true, ..Lies::default() });
    let mut alice = hub.member(&world, "alice").await;
    let mut report = SyncReport::default();
    let ended = hub.visit(&mut alice, &mut report, Duration::from_secs(10)).await;
    assert!(
        report.gaps.len() <= 10_000,
        "{} gaps in memory, ended: {ended:?}; noted: {}",
        report.gaps.len(),
        problems(&mut alice.engine).unwrap().len(),
    );
}

/// With 1 ms of `wait` a hub keeps a node busy for ever: nothing bounds the rounds.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_says_wait_for_ever_is_given_up() {
    let world = World::new();
    let hub = LyingHub::new(Lies { endless_rate: true, ..Lies::default() });
    let mut alice = hub.member(&world, "alice").await;
    let bob = hub.member(&world, "bob").await;
    alice.say(&bob.identity, "text");
    let mut report = SyncReport::default();
    // Eight times the patience, without any progress.
    let ended = hub.visit(&mut alice, &mut report, PATIENCE * 8).await;
    assert!(ended.is_some(), "{} puts of one text", hub.memory.lock().unwrap().puts);
}

/// A message that is too far ahead is parked by the engine and acknowledged: it is neither in the
/// inbox nor among the problems.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_behind_many_withheld_ones_is_not_lost_silently() {
    let world = World::new();
    let hub = LyingHub::new(Lies { withheld: (1, 2_600), ..Lies::default() });
    let mut alice = hub.member(&world, "alice").await;
    let mut bob = hub.member(&world, "bob").await;
    for number in 0..2_601 {
        alice.say(&bob.identity, &number.to_string());
    }
    let long = Duration::from_secs(120);
    hub.visit(&mut alice, &mut SyncReport::default(), long).await.unwrap().unwrap();
    let mut report = SyncReport::default();
    hub.visit(&mut bob, &mut report, long).await.unwrap().unwrap();
    let now = status(&mut bob.engine).unwrap();
    assert_eq!((report.received, report.parked, now.parked), (1, 1, 1), "{report:?} {now:?}");
}

/// A device of a person under another key, with the same number: the one before was lost.
async fn replaced(world: &World, bob: &Person) -> (Person, PersonRecord) {
    let number = NonZeroU32::new(1).unwrap();
    let mut second = world.person("bob again");
    let mut changes = PersonChanges::new();
    changes.remove(number);
    let spare = Identity::generate(&mut OsRandom).unwrap();
    changes.add(NonZeroU32::new(2).unwrap(), spare.public().clone());
    let draft = bob.record.next_epoch(&bob.root, &changes, &mut OsRandom).unwrap();
    let without = draft.sign(&bob.root, b"a sealed key").unwrap();
    let mut changes = PersonChanges::new();
    changes.add(number, second.device.public().clone());
    let draft = without.next_epoch(&bob.root, &changes, &mut OsRandom).unwrap();
    let record = draft.sign(&bob.root, b"a sealed key").unwrap();
    // The store of the new device, under Bob's root.
    let home = endseal_node::Home::create(&world.folder.path("bob anew")).unwrap();
    let file = |identity| IdentityFile::seal_without_passphrase(identity, &mut OsRandom).unwrap();
    let new = NewIdentity {
        root: &bob.root,
        root_file: &file(&bob.root),
        device: &second.device,
        device_file: &file(&second.device),
        number: DeviceId::new(1),
        now: 1_790_000_100_000,
    };
    home.install(&new, Existing::Keep, &home.lock().unwrap()).unwrap();
    second.engine = home.sessions(&second.device, Duration::ZERO).unwrap();
    (second.home, second.identity, second.record) = (home, bob.identity, record.clone());
    (second, record)
}

/// Certificates name devices by their numbers: with another key under the number of a lost device,
/// that device would get all texts still.
#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_never_given_to_another_key() {
    let world = World::new();
    let lost = world.member("bob").await;
    let (mut bob, record) = replaced(&world, &lost).await;
    assert_eq!(record.supersedes(&lost.record), Err(RosterChainError::OtherDevice));
    let (_endpoint, connection) = world.connect(&bob.key()).await;
    let hub = HubClient::new(&connection, PATIENCE);
    let joined = join(&hub, &mut bob.engine, &world.invitation(), &record).await;
    let Err(JoinError::Hub(HubError::Refused(Code::PERSON))) = joined else {
        panic!("{:?}", joined.err())
    };
}

/// A text that waits because a mailbox is full is lost when its writer sends 1,024 others.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_loses_no_text() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.mailbox_frames = 1_200;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let (mut carol, mut dave) = (world.member("carol").await, world.member("dave").await);
    for _ in 0..1_200 {
        dave.say(&bob.identity, "spam");
    }
    assert_eq!(dave.sync(&world).await.sent, 1_200);
    alice.say(&bob.identity, "important");
    assert!(alice.sync(&world).await.mailbox_full);
    for _ in 0..1_100 {
        alice.say(&carol.identity, "chat");
    }
    // The hub must remember the sequence of the text that waits.
    assert!((900..1_000).contains(&alice.sync(&world).await.sent));
    carol.sync(&world).await;
    assert_eq!(bob.sync(&world).await.received, 1_200);
    let report = alice.sync(&world).await;
    bob.sync(&world).await;
    let arrived = bob.read().iter().any(|(from, _)| *from == alice.identity);
    assert!(arrived, "problems: {}, sent: {}", report.problems, report.sent);
}

/// Later texts pass one that was refused in the middle of a pipeline.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_keeps_the_order() {
    let mut limits = HubLimits::default();
    limits.mailbox_bytes = 10_000;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let long = "x".repeat(6_000);
    for text in [&*long, &*format!("2 {long}"), "3"] {
        alice.say(&bob.identity, text);
    }
    for _ in 0..3 {
        alice.sync(&world).await;
        bob.sync(&world).await;
    }
    let read = bob.read();
    let firsts: Vec<_> = read.iter().filter_map(|(_, text)| text.chars().next()).collect();
    assert_eq!(firsts, ['x', '2', '3']);
}

/// The same with the rate, on a hub as it is by default but for a smaller burst: what came later in
/// the pipeline is taken with the budget that has grown meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_rate_keeps_the_order() {
    let mut limits = HubLimits::default();
    limits.burst = 20;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let padding = "x".repeat(100_000);
    for number in 0..100 {
        alice.say(&bob.identity, &format!("{number} {padding}"));
    }
    assert_eq!(alice.sync(&world).await.sent, 100);
    bob.sync(&world).await;
    let read = bob.read();
    let numbers = read.iter().map(|(_, text)| text.split(' ').next().unwrap().parse().unwrap());
    let numbers: Vec<u32> = numbers.collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

/// After the restoration of its database a hub hands out one-time bundles that were used: the first
/// text of whoever takes one is lost, and all that follow until there is an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_hub_hands_out_no_used_prekey() {
    let mut world = World::new();
    let (mut carol, mut dave) = (world.member("carol").await, world.member("dave").await);
    let mut bob = world.member("bob").await;
    let copy = world.folder.path("copy.db");
    world.store().backup(&copy).unwrap();
    carol.say(&bob.identity, "from carol");
    carol.sync(&world).await;
    bob.sync(&world).await;
    world.stop().await;
    for file in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _ = std::fs::remove_file(world.folder.path(file));
    }
    std::fs::rename(&copy, world.folder.path("hub.db")).unwrap();
    world.start();
    // All have visited the hub since, and were told what there is to tell.
    for person in [&mut bob, &mut carol, &mut dave] {
        person.sync(&world).await;
    }
    dave.say(&bob.identity, "from dave");
    let sent = dave.sync(&world).await;
    assert_eq!((sent.sent, sent.problems), (1, 0));
    bob.sync(&world).await;
    dave.say(&bob.identity, "another");
    dave.sync(&world).await;
    bob.sync(&world).await;
    let texts: Vec<_> = bob.read().into_iter().map(|(_, text)| text).collect();
    let found = problems(&mut bob.engine).unwrap();
    let classes: Vec<_> = found.iter().map(|it| it.class.to_string()).collect();
    assert_eq!(texts, ["from carol", "from dave", "another"], "{classes:?}");
}

/// The cursor is committed before the problems: who dies between has neither text nor problem, and
/// the hub deletes the frame at the next visit. A counter that is used up stands for the death.
#[tokio::test(flavor = "multi_thread")]
async fn who_dies_before_problems_are_written_has_them_later() {
    const COUNTER: u16 = 0;
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "text");
    alice.sync(&world).await;
    // Bob's sessions are gone, as after a reset, and the prekey with them: the next text fails.
    bob.sync(&world).await;
    bob.engine.transaction(|it| it.reset_session(alice.engine.address()).map(drop)).unwrap();
    spoil(&world, &alice).await;
    bob.engine.transaction(|it| it.put_record(COUNTER, &[], &u64::MAX.to_le_bytes())).unwrap();
    let (_, died) = bob.try_sync(&world).await;
    assert!(died.is_err(), "the second transaction fails");
    bob.engine.transaction(|it| it.put_record(COUNTER, &[], &5_u64.to_le_bytes())).unwrap();
    let mut bob = bob.restart();
    let report = bob.sync(&world).await;
    let noted = problems(&mut bob.engine).unwrap().len();
    assert_eq!((report.problems, noted), (1, 1), "neither text nor problem");
    let _ = &mut alice;
}

/// Alters the ciphertext of the only frame in the database, as a damaged disk would: its text will
/// be a problem at the receiver.
async fn spoil(world: &World, alice: &Person) {
    let (_endpoint, connection) = world.connect(&alice.key()).await;
    let bob = world.store().devices().unwrap();
    let target = bob.iter().find(|it| it.peer != connection_peer(alice)).unwrap().peer;
    let message = endseal_codec::SealedMessage {
        scheme: endseal_codec::Scheme::PAIRWISE,
        context: [&alice.identity.as_bytes()[..], &1_u32.to_le_bytes()].concat().into(),
        ciphertext: [7; 100].into(),
        ..endseal_codec::SealedMessage::default()
    };
    let sealed = endseal_codec::Sealed::<endseal_codec::Message>::from_message(message);
    let stamp = endseal_codec::frame::Stamp {
        sequence: 1_000,
        timestamp: 0,
        sender: *connection_peer(alice).as_bytes(),
    };
    let frame = StoredFrame::vouched(&sealed, stamp, stored_limits()).unwrap();
    let put = endseal_codec::hub::Put {
        targets: target.as_bytes()[..].into(),
        frame: frame.into(),
        ..endseal_codec::hub::Put::default()
    };
    assert!(matches!(ask(&connection, Request::Put(put)).await, Answer::Stored(_)));
}

fn connection_peer(person: &Person) -> endseal_crypto::peer_id::PeerId {
    person.engine.certificate().keys().peer_id
}

async fn ask(connection: &Connection, request: Request) -> Answer {
    let (mut sender, mut receiver) = connection.open_exchange().await.unwrap();
    let payload = HubRequest::from(request).to_vec(payload_limits()).unwrap();
    sender.send(&Frame::new(Kind::Control, payload)).await.unwrap();
    let frame = receiver.receive().await.unwrap().unwrap();
    HubAnswer::decode(&frame.payload, payload_limits()).unwrap().answer
}

/// docs/spec/delivery.md: a node MUST say that the hub lost its memory. A report that nobody sees,
/// as the process dies before it is printed, is all that says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_lost_its_memory_is_told_of_after_a_death() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "before");
    alice.sync(&world).await;
    bob.sync(&world).await;
    let copy = world.folder.path("copy.db");
    world.store().backup(&copy).unwrap();
    alice.say(&bob.identity, "lost");
    alice.sync(&world).await;
    world.stop().await;
    for file in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _ = std::fs::remove_file(world.folder.path(file));
    }
    std::fs::rename(&copy, world.folder.path("hub.db")).unwrap();
    world.start();
    alice.say(&bob.identity, "after");
    // Killed between the last commit and the first line that is printed.
    drop(alice.sync(&world).await);
    let mut alice = alice.restart();
    let report = alice.sync(&world).await;
    let noted = problems(&mut alice.engine).unwrap().len();
    bob.sync(&world).await;
    let texts: Vec<_> = bob.read().into_iter().map(|(_, text)| text).collect();
    assert!(
        texts.iter().any(|it| it == "lost") || report.hub_forgot.is_some() || noted > 0,
        "{texts:?} arrived, and nothing says that one was lost",
    );
}

/// docs/spec/delivery.md: each one-time bundle is given once. A node that dies between the hub's
/// answer to `publish` and its own commit publishes the same bundles again, after others took them.
#[tokio::test(flavor = "multi_thread")]
async fn who_dies_after_publishing_gives_no_prekey_twice() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.bundle_interval = Duration::ZERO;
    let world = World::with(limits);
    let mut bob = world.person("bob");
    let token = world.invitation();
    {
        let (_endpoint, connection) = world.connect(&bob.key()).await;
        let certificate: Box<[u8]> = bob.engine.certificate().as_bytes()[..].into();
        let person = bob.record.as_bytes().into();
        let secret = *token.token().expose_secret();
        let register = Register { token: secret, certificate, person };
        let answer = ask(&connection, Request::Register(register)).await;
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
        let bundles = bob.engine.transaction(|it| it.prekey_bundles(100, 1_790_000_000_000));
        let bundles = bundles.unwrap();
        let bundles = bundles.iter().map(|it| it.as_bytes()[..].into()).collect();
        let publish = Publish { bundles, ..Publish::default() };
        let answer = ask(&connection, Request::Publish(publish)).await;
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    }
    // Killed here. What follows is what the program does when it is called again.
    let mut bob = bob.restart();
    bob.join(&world).await;

    let (mut carol, mut dave) = (world.member("carol").await, world.member("dave").await);
    let peer = *connection_peer(&bob).as_bytes();
    carol.say(&bob.identity, "from carol");
    carol.sync(&world).await;
    let (_endpoint, connection) = world.connect(&dave.key()).await;
    let take = async |count: u32| {
        for _ in 0..count {
            let answer = ask(&connection, Request::Take(Take { peer })).await;
            assert!(matches!(answer, Answer::Prekey(_)), "{answer:?}");
        }
    };
    // Others, who come and go.
    take(49).await;
    bob.sync(&world).await;
    take(50).await;
    dave.say(&bob.identity, "from dave");
    assert_eq!(dave.sync(&world).await.sent, 1);
    bob.sync(&world).await;
    let texts: Vec<_> = bob.read().into_iter().map(|(_, text)| text).collect();
    let found = problems(&mut bob.engine).unwrap();
    let classes: Vec<_> = found.iter().map(|it| it.class.to_string()).collect();
    assert_eq!(texts, ["from carol", "from dave"], "{classes:?}");
}

/// Texts that were encrypted for the hub leave in a session file, too, and their records stay: each
/// later visit opens an exchange without a request.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_file_takes_no_text_of_the_hub() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 1;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "one");
    alice.say(&bob.identity, "two");
    assert!(alice.sync(&world).await.mailbox_full);
    let path = world.folder.path("file.session");
    let file = AtomicFile::create(&path, Existing::Keep, Readers::Owner).unwrap();
    let with = ConversationId::Person(bob.identity);
    let written = write_outbox(&mut alice.engine, &with, file).unwrap();
    bob.sync(&world).await;
    let (_, result) = alice.try_sync(&world).await;
    bob.sync(&world).await;
    let texts: Vec<_> = bob.read().into_iter().map(|(_, text)| text).collect();
    let waiting = status(&mut alice.engine).unwrap().frames;
    assert_eq!(texts, ["one", "two"], "{written} in the file, waiting {waiting}, {result:?}");
}

/// The program's own advice after a restored store: make a new device of the same identity, and
/// join. The new record is of another group id, so that hub and contacts refuse it for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_device_of_an_identity_can_join() {
    let world = World::new();
    let bob = world.member("bob").await;
    // endseal init --paper --force
    let Person { engine, home, root, .. } = bob;
    drop(engine);
    let device = Identity::generate(&mut OsRandom).unwrap();
    let file = |identity| IdentityFile::seal_without_passphrase(identity, &mut OsRandom).unwrap();
    let new = NewIdentity {
        root: &root,
        root_file: &file(&root),
        device: &device,
        device_file: &file(&device),
        number: None,
        now: 1_790_000_100_000,
    };
    home.install(&new, Existing::Replace, &home.lock().unwrap()).unwrap();
    let mut engine = home.sessions(&device, Duration::ZERO).unwrap();
    let record = home.person().unwrap();
    let (_endpoint, connection) = world.connect(&TransportKey::new(&device)).await;
    let hub = HubClient::new(&connection, PATIENCE);
    let joined = join(&hub, &mut engine, &world.invitation(), &record).await;
    assert!(joined.is_ok(), "{:?}", joined.map_err(|error: JoinError| error.to_string()));
    let _ = Certificate::LEN;
}
