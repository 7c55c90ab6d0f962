//! Regression tests for faults in syncs with a hub.

use alloc::sync::Arc;
use core::num::NonZeroU32;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Mutex;

use endseal_codec::Codec as _;
use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{
    Answer, By, CaughtUp, Code, Deliver, Find, Gap, GapReason, HubAnswer, HubRequest,
    Person as Found, Prekey, Put, Refused, Request, Stored, Welcome,
};
use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_delivery::node::HubFault;
use endseal_delivery::{payload_limits, stored_limits};
use endseal_hub::{HubLimits, HubStore as _};
use endseal_keyring::device::DeviceId;
use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::RosterChainError;
use endseal_keyring::{IdentityFile, PersonRecord};
use endseal_node::messages::{
    HubClient, HubError, JoinError, SkippedReason, SyncError, join, problems, status,
};
use endseal_node::sessions::{waiting, write_outbox};
use endseal_node::{AtomicFile, Existing, NewIdentity, OtherDevices, Readers};
use endseal_session::ConversationId;
use endseal_transport::{Connection, Frame, Kind, TransportKey};

use super::liar::{Liar, TIMEOUT};
use super::teams::{group, second_device, texts, write};
use super::world::{Person, World};

/// Ways in which the hub lies.
#[derive(Clone, Default)]
pub(super) struct Lies {
    /// Each certificate is named twice.
    pub(super) certificates_twice: bool,
    /// Ten thousand gaps in place of frames.
    pub(super) many_gaps: bool,
    /// Each frame that is no commit is refused for a moment, without end.
    pub(super) endless_rate: bool,
    /// The same for each commit.
    pub(super) endless_rate_of_commits: bool,
    /// Indices of the frames of a mailbox that are withheld.
    pub(super) withheld: Range<usize>,
}

/// State of a hub in memory.
#[derive(Default)]
pub(super) struct Memory {
    people: HashMap<[u8; 32], Vec<u8>>,
    certificates: HashMap<[u8; 32], Vec<Vec<u8>>>,
    pub(super) key_packages: HashMap<[u8; 32], Vec<Vec<u8>>>,
    /// Waiting frames, by mailbox.
    pub(super) boxes: HashMap<[u8; 32], Vec<Vec<u8>>>,
    /// Members of groups, by their ids.
    groups: HashMap<[u8; 16], Vec<[u8; 32]>>,
    puts: usize,
    /// Highest sequences, by sender.
    sequences: HashMap<[u8; 32], u64>,
}

/// A hub in memory that lies.
pub(super) fn lying_hub(lies: Lies) -> (Liar, Arc<Mutex<Memory>>) {
    let memory = Arc::<Mutex<Memory>>::default();
    let held = Arc::clone(&memory);
    let liar = Liar::new(move |peer, request| {
        Some(held.lock().unwrap().answers(*peer.as_bytes(), request, &lies))
    });
    (liar, memory)
}

impl Memory {
    /// Puts a frame into the mailboxes of the members of its group, and a welcome into those of new
    /// ones.
    fn store(&mut self, peer: [u8; 32], put: &Put) {
        let conversation = put.conversation.as_ref().unwrap();
        let ids = |bytes: &[u8]| bytes.as_chunks::<32>().0.to_vec();
        let members = self.groups.entry(conversation.group).or_insert_with(|| vec![peer]);
        let before = members.clone();
        let mut welcome = None;
        if let Some(commit) = &conversation.commit {
            *members = ids(&commit.members);
            welcome = Some((members.clone(), commit.welcome.to_vec()));
        }
        let targets = match (put.targets.is_empty(), &welcome) {
            (false, None) => ids(&put.targets),
            _ => before.clone(),
        };
        for target in targets.into_iter().filter(|it| *it != peer) {
            self.boxes.entry(target).or_default().push(put.frame.to_vec());
        }
        let (members, welcome) = welcome.unwrap_or_default();
        for new in members.into_iter().filter(|it| !before.contains(it)) {
            self.boxes.entry(new).or_default().push(welcome.clone());
        }
    }

    pub(super) fn answers(&mut self, peer: [u8; 32], request: Request, lies: &Lies) -> Vec<Answer> {
        let prekeys = u32::try_from(self.key_packages.get(&peer).map_or(0, Vec::len)).unwrap();
        let sequence = self.sequences.get(&peer).copied();
        let welcome =
            Answer::Welcome(Welcome { epoch: 1, prekeys, sequence, ..Welcome::default() });
        vec![match request {
            Request::Hello(_) => welcome,
            Request::Register(it) => {
                let record = PersonRecord::parse(&it.person).unwrap();
                let identity = *record.identity().ed25519().as_bytes();
                self.people.insert(identity, it.person.to_vec());
                self.certificates.entry(identity).or_default().push(it.certificate.to_vec());
                welcome
            }
            Request::Publish(it) => {
                let all = self.key_packages.entry(peer).or_default();
                all.extend(it.prekeys.iter().map(|it| it.to_vec()));
                welcome
            }
            Request::Find(Find { by: By::Identity(identity) }) => {
                let mut certificates = self.certificates[&identity].clone();
                if lies.certificates_twice {
                    certificates.extend(certificates.clone());
                }
                let certificates = certificates.into_iter().map(Into::into).collect();
                Answer::Person(Found {
                    person: self.people[&identity].clone().into(),
                    certificates,
                })
            }
            Request::Take(it) => {
                let prekey = self.key_packages.get_mut(&it.peer).unwrap().remove(0).into();
                Answer::Prekey(Prekey { prekey })
            }
            Request::Put(put) => {
                let frame = StoredFrame::parse(&put.frame, stored_limits()).unwrap();
                let sequence = frame.vouched_by(&peer).unwrap().stamp().sequence;
                self.puts += 1;
                let is_commit = put.conversation.as_ref().is_some_and(|it| it.commit.is_some());
                let is_refused = match is_commit {
                    true => lies.endless_rate_of_commits,
                    false => lies.endless_rate,
                };
                if is_refused {
                    let (sequence, code, wait) = (Some(sequence), Code::RATE, 1);
                    return vec![Answer::Refused(Refused {
                        code,
                        sequence,
                        wait,
                        ..Refused::default()
                    })];
                }
                let highest = self.sequences.entry(peer).or_default();
                *highest = sequence.max(*highest);
                self.store(peer, &put);
                Answer::Stored(Stored { sequence })
            }
            Request::Subscribe(_) if lies.many_gaps => {
                let gap = |position| Gap { count: 1, reason: GapReason::EXPIRED, position };
                return (1..=10_000).map(|position| Answer::Gap(gap(position))).collect();
            }
            Request::Subscribe(it) => {
                let frames = self.boxes.remove(&peer).unwrap_or_default();
                let frames = frames.into_iter().zip(it.after + 1..).enumerate();
                let sent = frames.filter(|(at, _)| !lies.withheld.contains(at));
                let deliver = |(_, (frame, position)): (usize, (Vec<u8>, u64))| {
                    let frame = frame.into();
                    Answer::Deliver(Deliver { position, frame })
                };
                let mut answers: Vec<_> = sent.map(deliver).collect();
                answers.push(Answer::CaughtUp(CaughtUp::default()));
                return answers;
            }
            _ => return Vec::new(),
        }]
    }
}

/// If a text were encrypted twice under two numbers, it would be shown twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_names_a_device_twice_doubles_no_text() {
    let world = World::new();
    let (hub, _) = lying_hub(Lies { certificates_twice: true, ..Lies::default() });
    let (mut alice, bob) = (hub.member(&world, "alice").await, hub.member(&world, "bob").await);
    alice.say(&bob.identity, "pay 100");
    let (report, result) = hub.visit(&mut alice).await;
    result.unwrap();
    assert_eq!((report.sent, report.skipped[0].reason), (0, SkippedReason::Directory));
}

/// Gaps take no credit and need no acknowledgement.
#[tokio::test(flavor = "multi_thread")]
async fn gaps_without_end_are_given_up() {
    let world = World::new();
    let (hub, _) = lying_hub(Lies { many_gaps: true, ..Lies::default() });
    let mut alice = hub.member(&world, "alice").await;
    let (report, result) = hub.visit(&mut alice).await;
    assert!(matches!(result, Err(SyncError::Hub(HubError::Fault(HubFault::Unexpected)))));
    assert!(report.gaps.len() <= 64, "{}", report.gaps.len());
}

/// With 1 ms of `wait` a hub could keep a node busy forever.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_says_wait_for_ever_is_given_up() {
    let world = World::new();
    for is_of_commits in [false, true] {
        let (hub, memory) = lying_hub(Lies {
            endless_rate: !is_of_commits,
            endless_rate_of_commits: is_of_commits,
            ..Lies::default()
        });
        let name = |it: &str| format!("{it} {is_of_commits}");
        let mut alice = hub.member(&world, &name("alice")).await;
        let bob = hub.member(&world, &name("bob")).await;
        alice.say(&bob.identity, "text");
        let (_, result) = hub.visit(&mut alice).await;
        let Err(SyncError::Hub(error)) = result else { panic!("{result:?}") };
        match is_of_commits {
            false => assert!(matches!(error, HubError::Refused(Code::RATE)), "{error:?}"),
            true => assert!(matches!(error, HubError::Wait(_)), "{error:?}"),
        }
        assert!(memory.lock().unwrap().puts < 20);
    }
}

/// A message that is too far ahead is parked and acknowledged, and the report counts it. Another
/// group takes the place of the one that cannot be followed, and the text comes again in it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: more texts than a ratchet skips"]
async fn a_text_behind_many_withheld_ones_is_not_lost_silently() {
    let world = World::new();
    let (memory, withholds) = (Mutex::<Memory>::default(), Arc::new(AtomicBool::new(true)));
    let withheld = Arc::clone(&withholds);
    let hub = Liar::new(move |peer, request| {
        // A welcome and a text come before those that are withheld.
        let withheld = if withheld.load(Ordering::Relaxed) { 2..2_601 } else { 0..0 };
        let lies = Lies { withheld, ..Lies::default() };
        Some(memory.lock().unwrap().answers(*peer.as_bytes(), request, &lies))
    });
    let (mut alice, mut bob) = (hub.member(&world, "alice").await, hub.member(&world, "bob").await);
    for number in 0..2_601 {
        alice.say(&bob.identity, &number.to_string());
    }
    hub.visit(&mut alice).await.1.unwrap();
    let (report, result) = hub.visit(&mut bob).await;
    result.unwrap();
    assert_eq!((report.received, report.parked), (1, 1), "{report:?}");
    withholds.store(false, Ordering::Relaxed);
    hub.visit(&mut alice).await.1.unwrap();
    hub.visit(&mut bob).await.1.unwrap();
    let texts = bob.read();
    assert_eq!((&*texts[0].1, &*texts.last().unwrap().1), ("0", "2600"));
}

/// Replaces a lost device of a person: a new key under the same number.
async fn replaced(world: &World, bob: &Person) -> (Person, PersonRecord) {
    let number = NonZeroU32::new(1).unwrap();
    let mut second = world.person("bob again");
    let mut changes = PersonChanges::new();
    changes.remove(number);
    let spare = Identity::generate(&mut OsRandom).unwrap();
    changes.add(NonZeroU32::new(2).unwrap(), spare.public());
    let without = bob.record.next_epoch(&bob.root, &changes).unwrap();
    let mut changes = PersonChanges::new();
    changes.add(number, second.device.public());
    let record = without.next_epoch(&bob.root, &changes).unwrap();
    // The store of the new device, under Bob's root.
    let home = endseal_node::Home::create(&world.folder.path("bob anew")).unwrap();
    let file = |identity| IdentityFile::seal_without_passphrase(identity, &mut OsRandom).unwrap();
    let new = NewIdentity {
        root: &bob.root,
        root_file: &file(&bob.root),
        device: &second.device,
        device_file: &file(&second.device),
        number: DeviceId::new(1),
        at_hub: None,
        others: OtherDevices::Revoke,
        now: 1_790_000_100_000,
    };
    home.install(&new, Existing::Keep, &home.lock().unwrap()).unwrap();
    second.engine = home.sessions(&second.device, Duration::ZERO).unwrap();
    (second.home, second.identity, second.record) = (home, bob.identity, record.clone());
    (second, record)
}

/// Certificates name devices by number. If another key got the number of a lost device, the lost
/// device would still receive all texts.
#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_never_given_to_another_key() {
    let world = World::new();
    let lost = world.member("bob").await;
    let (mut bob, record) = replaced(&world, &lost).await;
    assert_eq!(record.supersedes(&lost.record), Err(RosterChainError::OtherDevice));
    let (_endpoint, connection) = world.connect(&bob.key()).await;
    let hub = HubClient::new(&connection, TIMEOUT);
    let joined = join(&hub, &mut bob.engine, &world.invitation(), &record).await;
    let Err(JoinError::Hub(HubError::Refused(Code::PERSON))) = joined else {
        panic!("{:?}", joined.err())
    };
}

/// The hub forgets sequences that are 1,024 behind. A waiting text that kept its number would then
/// be too old.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_loses_no_text() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    // The first sender has half of it, and the next one half of the rest: each a welcome, and 300
    // or 150 texts.
    limits.mailbox_frames = 602;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let (mut carol, mut dave) = (world.member("carol").await, world.member("dave").await);
    for _ in 0..300 {
        dave.say(&bob.identity, "spam");
    }
    assert_eq!(dave.sync(&world).await.sent, 300);
    for _ in 0..151 {
        alice.say(&bob.identity, "important");
    }
    let report = alice.sync(&world).await;
    assert_eq!((report.sent, report.mailbox_full), (150, true));
    for _ in 0..4 {
        for _ in 0..275 {
            alice.say(&carol.identity, "chat");
        }
        assert_eq!(alice.sync(&world).await.sent, 275);
        carol.sync(&world).await;
    }
    assert_eq!(bob.sync(&world).await.received, 450);
    let report = alice.sync(&world).await;
    bob.sync(&world).await;
    let arrived = bob.read().iter().filter(|(from, _)| *from == alice.identity).count();
    assert_eq!(arrived, 151, "problems: {}, sent: {}", report.problems, report.sent);
}

/// After a refusal in the middle of a pipeline, no later text overtakes the refused one.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_keeps_the_order() {
    let mut limits = HubLimits::default();
    limits.mailbox_bytes = 10_000;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    // A welcome and a text take most of the mailbox.
    alice.say(&bob.identity, "1");
    alice.sync(&world).await;
    bob.sync(&world).await;
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
    assert_eq!(firsts, ['1', 'x', '2', '3']);
}

/// The order is kept even if the rate budget has grown meanwhile.
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

/// A group that used a spent key package would be lost, and so would all texts in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_hub_hands_out_no_used_prekey() {
    let mut world = World::new();
    let (mut carol, mut dave) = (world.member("carol").await, world.member("dave").await);
    let mut bob = world.member("bob").await;
    let copy = world.folder.path("copy.db");
    world.store().copy_to(&copy).unwrap();
    carol.say(&bob.identity, "from carol");
    carol.sync(&world).await;
    bob.sync(&world).await;
    world.stop().await;
    for file in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _ = std::fs::remove_file(world.folder.path(file));
    }
    std::fs::rename(&copy, world.folder.path("hub.db")).unwrap();
    world.start();
    // All persons have synced with the restored hub, and have received its gaps.
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

/// The connection breaks while key packages are replaced.
#[tokio::test(flavor = "multi_thread")]
async fn key_packages_that_the_hub_did_not_take_are_replaced_with_the_next_visit() {
    const PUBLISHED: u16 = 17;
    let (asked, is_silent) = (Arc::<Mutex<Vec<bool>>>::default(), Arc::new(Mutex::new(false)));
    let (_, memory) = lying_hub(Lies::default());
    let (seen, silent) = (Arc::clone(&asked), Arc::clone(&is_silent));
    let liar = Liar::new(move |peer, request| {
        if let Request::Publish(publish) = &request
            && !publish.prekeys.is_empty()
        {
            seen.lock().unwrap().push(publish.replace);
            if *silent.lock().unwrap() {
                return None;
            }
        }
        Some(memory.lock().unwrap().answers(*peer.as_bytes(), request, &Lies::default()))
    });
    let world = World::new();
    let mut alice = liar.member(&world, "alice").await;
    // They are of a time long ago.
    let value = [21_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat();
    alice.engine.transaction(|it| it.put_record(PUBLISHED, &[], &value)).unwrap();
    *is_silent.lock().unwrap() = true;
    assert!(liar.visit(&mut alice).await.1.is_err());
    *is_silent.lock().unwrap() = false;
    assert!(liar.visit(&mut alice).await.1.is_ok());
    assert!(liar.visit(&mut alice).await.1.is_ok());
    assert_eq!(*asked.lock().unwrap(), [true; 3]);
}

/// The connection breaks between the commit that adds a device and the hub's answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_whose_commit_was_in_doubt_gets_the_unconfirmed_texts() {
    let is_silent = Arc::new(AtomicBool::new(false));
    let (_, memory) = lying_hub(Lies::default());
    let (silent, of_hub) = (Arc::clone(&is_silent), Arc::clone(&memory));
    let liar = Liar::new(move |peer, request| {
        let is_commit = match &request {
            Request::Put(put) => put.conversation.as_ref().is_some_and(|it| it.commit.is_some()),
            _ => false,
        };
        let answers = memory.lock().unwrap().answers(*peer.as_bytes(), request, &Lies::default());
        (!is_commit || !silent.load(Ordering::Relaxed)).then_some(answers)
    });
    let world = World::new();
    let (mut alice, bob) = (liar.member(&world, "alice").await, liar.member(&world, "bob").await);
    alice.say(&bob.identity, "one");
    assert!(liar.visit(&mut alice).await.1.is_ok());
    let mut second = second_device(&world, &bob, "second");
    liar.join(&mut second).await;
    // Its record is known before it can be added.
    let identity = *bob.identity.as_bytes();
    let certificate = of_hub.lock().unwrap().certificates.get_mut(&identity).unwrap().pop();
    assert!(liar.visit(&mut alice).await.1.is_ok());
    alice.say(&bob.identity, "two");
    assert!(liar.visit(&mut alice).await.1.is_ok());
    of_hub.lock().unwrap().certificates.get_mut(&identity).unwrap().extend(certificate);
    alice.say(&bob.identity, "three");
    is_silent.store(true, Ordering::Relaxed);
    assert!(liar.visit(&mut alice).await.1.is_err());
    is_silent.store(false, Ordering::Relaxed);
    assert!(liar.visit(&mut alice).await.1.is_ok());
    assert!(liar.visit(&mut second).await.1.is_ok());
    let mut texts = texts(&mut second);
    texts.sort_unstable();
    assert_eq!(texts, ["one", "three", "two"]);
}

/// A counter that is used up simulates a crash between the messages and their problems.
#[tokio::test(flavor = "multi_thread")]
async fn who_dies_before_problems_are_written_has_them_later() {
    const COUNTER: u16 = 0;
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "text");
    alice.sync(&world).await;
    bob.sync(&world).await;
    put_junk(&world, &alice).await;
    bob.engine.transaction(|it| it.put_record(COUNTER, &[], &u64::MAX.to_le_bytes())).unwrap();
    let (_, died) = bob.try_sync(&world).await;
    assert!(died.is_err(), "the second transaction fails");
    bob.engine.transaction(|it| it.put_record(COUNTER, &[], &5_u64.to_le_bytes())).unwrap();
    let mut bob = bob.restart();
    let report = bob.sync(&world).await;
    let noted = problems(&mut bob.engine).unwrap().len();
    assert_eq!((report.problems, noted), (1, 1), "neither text nor problem");
}

/// Sends a frame that becomes a problem at the receiver.
async fn put_junk(world: &World, alice: &Person) {
    let (_endpoint, connection) = world.connect(&alice.key()).await;
    let bob = world.store().devices().unwrap();
    let target = bob.iter().find(|it| it.peer != connection_peer(alice)).unwrap().peer;
    let message = endseal_codec::SealedMessage {
        scheme: endseal_codec::Scheme::PAIRWISE,
        context: alice.identity.as_bytes()[..].into(),
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
    let put = Put { targets: target.as_bytes()[..].into(), frame: frame.into(), ..Put::default() };
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

/// A report is lost if the process is killed before it is printed. The stored problems remain.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_lost_its_memory_is_told_of_after_a_death() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "before");
    alice.sync(&world).await;
    bob.sync(&world).await;
    let copy = world.folder.path("copy.db");
    world.store().copy_to(&copy).unwrap();
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

/// Returns the MLS group of a person who has one alone.
fn only_group(person: &mut Person) -> ConversationId {
    let [id]: [_; 1] = person.engine.groups().unwrap().try_into().unwrap();
    ConversationId::Group(id)
}

/// Texts that were encrypted for the hub must not be written to a file.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_file_takes_no_text_of_the_hub() {
    let mut limits = HubLimits::default();
    // Half of it: a welcome and a text.
    limits.mailbox_frames = 3;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let id = *group(&mut [&mut alice, &mut bob], &[]).id();
    write(&mut alice, &id, "one");
    write(&mut alice, &id, "two");
    assert!(alice.sync(&world).await.mailbox_full);
    let path = world.folder.path("file.session");
    let file = AtomicFile::create(&path, Existing::Keep, Readers::Owner).unwrap();
    let with = only_group(&mut alice);
    assert_eq!(status(&mut alice.engine).unwrap().frames, 1);
    assert_eq!(waiting(&mut alice.engine, &with).unwrap(), 0);
    assert_eq!(write_outbox(&mut alice.engine, &with, file).unwrap(), 0);
    bob.sync(&world).await;
    let (_, result) = alice.try_sync(&world).await;
    bob.sync(&world).await;
    let texts: Vec<_> = bob.read().into_iter().map(|(_, text)| text).collect();
    let left = status(&mut alice.engine).unwrap().frames;
    assert_eq!(texts, ["one", "two"], "waiting {left}, {result:?}");
}

/// The decision of the hub about a commit is not known, and the commit must not be written to a
/// file: the next visit puts it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_file_takes_no_commit_of_the_hub() {
    let world = World::new();
    let memory = Mutex::<Memory>::default();
    let is_silent = Arc::new(AtomicBool::new(true));
    let silent = Arc::clone(&is_silent);
    let hub = Liar::new(move |peer, request| {
        let is_lost = matches!(request, Request::Put(_)) && silent.load(Ordering::Relaxed);
        let answers = memory.lock().unwrap().answers(*peer.as_bytes(), request, &Lies::default());
        (!is_lost).then_some(answers)
    });
    let (mut alice, mut bob) = (hub.member(&world, "alice").await, hub.member(&world, "bob").await);
    alice.say(&bob.identity, "text");
    let (_, result) = hub.visit(&mut alice).await;
    assert!(matches!(result, Err(SyncError::Hub(HubError::Stalled))), "{result:?}");
    let path = world.folder.path("file.session");
    let file = AtomicFile::create(&path, Existing::Keep, Readers::Owner).unwrap();
    let with = only_group(&mut alice);
    assert_eq!(waiting(&mut alice.engine, &with).unwrap(), 0);
    assert_eq!(write_outbox(&mut alice.engine, &with, file).unwrap(), 0);
    is_silent.store(false, Ordering::Relaxed);
    hub.visit(&mut alice).await.1.unwrap();
    hub.visit(&mut bob).await.1.unwrap();
    assert_eq!(bob.read(), [(alice.identity, "text".to_owned())]);
}

/// Follows the advice that the program gives after a store was restored.
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
        at_hub: None,
        others: OtherDevices::Revoke,
        now: 1_790_000_100_000,
    };
    home.install(&new, Existing::Replace, &home.lock().unwrap()).unwrap();
    let mut engine = home.sessions(&device, Duration::ZERO).unwrap();
    let record = home.person().unwrap();
    let (_endpoint, connection) = world.connect(&TransportKey::new(&device)).await;
    let hub = HubClient::new(&connection, TIMEOUT);
    let joined = join(&hub, &mut engine, &world.invitation(), &record).await;
    assert!(joined.is_ok(), "{:?}", joined.map_err(|error: JoinError| error.to_string()));
}
