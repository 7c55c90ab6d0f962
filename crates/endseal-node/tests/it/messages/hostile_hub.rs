//! Hubs that lie about persons, prekeys and frames.

use core::num::NonZeroU32;
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{
    Answer, CaughtUp, Code, Deliver, Gap, GapReason, Person as PersonAnswer, Prekey, Refused,
    Request, Stored, Welcome,
};
use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_delivery::node::HubFault;
use endseal_delivery::stored_limits;
use endseal_keyring::PersonRecord;
use endseal_keyring::person::PersonChanges;
use endseal_node::messages::{
    HubError, Payload, PayloadKind, SkippedReason, SyncError, problems, status,
};
use endseal_session::group::Suite;

use super::liar::Liar;
use super::world::{Person, World};

/// Answers of a hub that has no frames and no problems.
pub(super) fn quiet(request: Request) -> Option<Vec<Answer>> {
    Some(match request {
        Request::Hello(_) | Request::Publish(_) => {
            vec![Answer::Welcome(Welcome { prekeys: 100, epoch: 1, ..Welcome::default() })]
        }
        Request::Subscribe(_) => vec![Answer::CaughtUp(CaughtUp::default())],
        Request::Put(put) => {
            let frame = StoredFrame::parse(&put.frame, stored_limits()).unwrap();
            let sender = frame.sender();
            let sequence = frame.vouched_by(&sender).unwrap().stamp().sequence;
            vec![Answer::Stored(Stored { sequence })]
        }
        Request::Find(_) | Request::Take(_) => vec![refused(Code::NONE)],
        _ => Vec::new(),
    })
}

pub(super) fn refused(code: Code) -> Answer {
    Answer::Refused(Refused { code, ..Refused::default() })
}

/// Makes a key package of a person.
fn key_package(person: &mut Person) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    person.engine.transaction(|it| it.key_package(Suite::MlKem768X25519, now)).unwrap()
}

/// Makes the answer to `find` with a record and certificates.
fn found(record: &PersonRecord, certificates: &[&Person]) -> Answer {
    let certificates =
        certificates.iter().map(|it| it.engine.certificate().as_bytes()[..].into()).collect();
    Answer::Person(PersonAnswer { person: record.as_bytes().into(), certificates })
}

/// Makes a hub with these answers to `find` and `take`.
fn hub_of(found: Answer, key_package: &[u8]) -> Liar {
    let prekey = Answer::Prekey(Prekey { prekey: key_package.into() });
    Liar::new(move |_, request| match request {
        Request::Find(_) => Some(vec![found.clone()]),
        Request::Take(_) => Some(vec![prekey.clone()]),
        other => quiet(other),
    })
}

/// Makes the next record of a person.
fn next(person: &Person, changes: &PersonChanges) -> PersonRecord {
    person.record.next_epoch(&person.root, changes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_is_not_signed_gets_nothing() {
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.person("bob"));
    let mut mallory = world.person("mallory");
    alice.say(&bob.identity, "for bob alone");
    let package = key_package(&mut mallory);
    // Bob's record with a device of Mallory, and an answer that is Mallory's completely.
    for answer in [
        found(&bob.record, &[&mallory]),
        found(&mallory.record, &[&mallory]),
        Answer::Person(PersonAnswer {
            person: (*b"x").into(),
            certificates: vec![[1; 237].into()],
        }),
    ] {
        let hub = hub_of(answer, &package);
        let (report, result) = hub.visit(&mut alice).await;
        result.unwrap();
        assert_eq!((report.encrypted, report.sent), (0, 0));
        assert_eq!(report.skipped[0].reason, SkippedReason::Directory);
        // Nor is Mallory's key taken for that of Bob's long identity, unless Bob signed the record.
        let long = hub.look_up(&mut alice, &bob.identity).await;
        assert!(long.is_none_or(|long| long == *bob.record.identity()));
    }
    let hub = hub_of(found(&bob.record, &[&bob]), &package);
    let long = hub.look_up(&mut alice, &bob.identity).await.unwrap();
    assert_eq!((&long, long.mlkem768().is_some()), (bob.record.identity(), true));
    assert_eq!(status(&mut alice.engine).unwrap().unsent, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_package_of_another_device_begins_nothing() {
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.person("bob"));
    let mut mallory = world.person("mallory");
    alice.say(&bob.identity, "for bob alone");
    let (answer, package) = (found(&bob.record, &[&bob]), key_package(&mut mallory));
    let hub = hub_of(answer, &package);
    let (report, result) = hub.visit(&mut alice).await;
    result.unwrap();
    assert_eq!((report.encrypted, report.skipped[0].reason), (0, SkippedReason::NoPrekey));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_record_is_refused_and_a_revoked_device_gets_nothing() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.person("bob"));
    let other = Identity::generate(&mut OsRandom).unwrap();
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::MIN).add(NonZeroU32::new(2).unwrap(), other.public());
    let later = next(&bob, &changes);
    let package = key_package(&mut bob);
    alice.say(&bob.identity, "for a device that is not revoked");
    // The hub still names the certificate of the revoked device, and then the older record.
    for (answer, skipped) in [
        (found(&later, &[&bob]), SkippedReason::NoDevice),
        (found(&bob.record, &[&bob]), SkippedReason::Directory),
    ] {
        let hub = hub_of(answer, &package);
        let (report, result) = hub.visit(&mut alice).await;
        result.unwrap();
        assert_eq!((report.encrypted, report.sent), (0, 0));
        assert_eq!(report.skipped[0].reason, skipped);
    }
}

/// Makes a frame that is no message of a group.
pub(super) fn junk(from: &Person, sequence: u64) -> Vec<u8> {
    let sender = *from.engine.certificate().keys().peer_id.as_bytes();
    let stamp = Stamp { sequence, timestamp: 0, sender };
    let sealed = Payload::seal(PayloadKind::Message, &[7; 16], vec![9; 50]);
    StoredFrame::vouched(&sealed, stamp, stored_limits()).unwrap()
}

pub(super) fn deliver(position: u64, frame: &[u8]) -> Answer {
    Answer::Deliver(Deliver { position, frame: frame.into() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_breaks_the_protocol_is_left() {
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.person("bob"));
    let frame = junk(&bob, 1);
    for (answers, fault) in [
        (vec![deliver(2, &frame), deliver(2, &frame)], HubFault::Position),
        (vec![Answer::Stored(Stored { sequence: 1 })], HubFault::Unexpected),
    ] {
        let hub = Liar::new(move |_, request| match request {
            Request::Subscribe(_) => Some(answers.clone()),
            other => quiet(other),
        });
        let (_, result) = hub.visit(&mut alice).await;
        let Err(SyncError::Hub(HubError::Fault(found))) = result else {
            panic!("{fault:?}: {result:?}")
        };
        assert_eq!(found, fault);
    }
    // Frames that were not acknowledged left no problem.
    assert_eq!(status(&mut alice.engine).unwrap().problems, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_flood_a_thousand_problems_are_kept() {
    const FLOOD: u64 = 1_501;
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.person("bob"));
    let frame = junk(&bob, 1);
    let mut flood: Vec<_> = (1..=FLOOD).map(|position| deliver(position, &frame)).collect();
    // The notice of a loss comes first, and is kept.
    flood.insert(0, Answer::Gap(Gap { count: 1, reason: GapReason::EXPIRED, position: 0 }));
    flood.push(Answer::CaughtUp(CaughtUp { position: FLOOD }));
    let hub = Liar::new(move |_, request| match request {
        Request::Subscribe(_) => Some(flood.clone()),
        other => quiet(other),
    });
    let (report, result) = hub.visit(&mut alice).await;
    result.unwrap();
    assert_eq!((report.received, report.problems), (0, FLOOD + 1));
    let kept = problems(&mut alice.engine).unwrap();
    assert_eq!((kept.len(), kept[1_000].position), (1_001, FLOOD));
    assert_eq!(kept[0].class.as_str(), "gap-expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_hub_is_given_up() {
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.person("bob"));
    for silent in 0..3 {
        let hub = Liar::new(move |_, request| match (request, silent) {
            (Request::Hello(_), 0) | (Request::Subscribe(_), 1) | (Request::Find(_), 2) => None,
            (other, _) => quiet(other),
        });
        alice.say(&bob.identity, "text");
        let (_, result) = hub.visit(&mut alice).await;
        assert!(matches!(result, Err(SyncError::Hub(HubError::Stalled))), "{silent}: {result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_typed() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    for code in [Code::REGISTERED, Code::REVOKED, Code::STORAGE, Code::UNSPECIFIED] {
        let hub = Liar::new(move |_, request| match request {
            Request::Hello(_) => Some(vec![refused(code)]),
            other => quiet(other),
        });
        let (_, result) = hub.visit(&mut alice).await;
        let Err(error) = result else { panic!("{code:?}") };
        assert_eq!(error.is_transient(), code == Code::STORAGE, "{error:?}");
        assert!(matches!(error, SyncError::Hub(HubError::Refused(found)) if found == code));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gaps_are_told_once_for_each_visit() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let hub = Liar::new(|_, request| match request {
        Request::Subscribe(_) => Some(vec![
            Answer::Gap(Gap { count: 3, reason: GapReason::EXPIRED, position: u64::MAX }),
            Answer::CaughtUp(CaughtUp { position: u64::MAX }),
        ]),
        other => quiet(other),
    });
    let (report, result) = hub.visit(&mut alice).await;
    result.unwrap();
    assert_eq!((report.gaps[0].count, report.gaps[0].is_expired), (3, true));
    let found = problems(&mut alice.engine).unwrap();
    assert_eq!((found[0].class.as_str(), found[0].position), ("gap-expired", u64::MAX));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_was_damaged_at_the_hub_is_noted_once() {
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.person("bob"));
    let mut damaged = junk(&bob, 1);
    damaged[70] ^= 1;
    let hub = Liar::new(move |_, request| match request {
        Request::Subscribe(subscribe) if subscribe.after < 9 => {
            Some(vec![deliver(9, &damaged), Answer::CaughtUp(CaughtUp { position: 9 })])
        }
        other => quiet(other),
    });
    for expected in [1, 0] {
        let (report, result) = hub.visit(&mut alice).await;
        result.unwrap();
        assert_eq!(report.problems, expected);
    }
    let found = problems(&mut alice.engine).unwrap();
    assert_eq!((found[0].class.as_str(), found[0].position, found.len()), ("frame", 9, 1));
}
