//! Groups of conversations: the order of commits, and who gets what
//! (docs/spec/delivery.md, "Conversations").

mod limits;

use std::time::Instant;

use endseal_codec::hub::{
    Answer, Code, Commit, Conversation, Hello, Put, Refused, Request, Welcome,
};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::MembersDigest;
use endseal_hub::HubLimits;
use endseal_testing::Scratch;

use crate::database::Database;
use crate::directory::next_record;
use crate::puts::{put_one, subscribe};
use crate::world::{Exchange, Node, World, identity, put};

const GROUP: [u8; 16] = [7; 16];

fn sorted(members: &[&Node]) -> Vec<PeerId> {
    let mut peers: Vec<_> = members.iter().map(|it| it.peer).collect();
    peers.sort_unstable();
    peers
}

fn list(members: &[&Node]) -> Vec<u8> {
    sorted(members).iter().flat_map(|it| *it.as_bytes()).collect()
}

/// A frame to the members of the group, as these nodes are its members in an epoch.
fn say(frame: Vec<u8>, epoch: u64, members: &[&Node]) -> Put {
    let digest = *MembersDigest::of(&sorted(members)).as_bytes();
    let conversation =
        Conversation { group: GROUP, epoch, members: digest, ..Conversation::default() };
    Put { frame: frame.into(), conversation: Some(conversation), ..Put::default() }
}

/// A commit after which these nodes are the members.
fn commit(before: Put, after: &[&Node], welcome: Vec<u8>) -> Request {
    let mut put = before;
    let commit = Commit { members: list(after).into(), welcome: welcome.into() };
    put.conversation.as_mut().unwrap().commit = Some(commit);
    Request::Put(put)
}

/// Makes the group of these nodes, the first of which puts its frames 1 and 2.
async fn make(members: &[&Node]) {
    let first = members[0];
    let begin = say(first.frame(1, b"commit"), 0, &[first]);
    let answer = put_one(first, commit(begin, members, first.frame(2, b"welcome"))).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
}

fn refusal(answer: Answer) -> Refused {
    match answer {
        Answer::Refused(refused) => refused,
        other => panic!("{other:?}"),
    }
}

/// The texts that wait for a node, without the rest of their frames.
async fn waiting(node: &Node) -> Vec<String> {
    let mut exchange: Exchange = subscribe(node, 0, 1_000).await;
    let mut texts = Vec::new();
    while let Some(Answer::Deliver(deliver)) = exchange.receive().await {
        let text = deliver.frame.rsplit(|byte| !byte.is_ascii_graphic() && *byte != b' ').next();
        texts.push(String::from_utf8(text.unwrap().to_vec()).unwrap());
    }
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_made_and_its_members_get_what_is_said() {
    let world = World::new();
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let all = [&alice, &bob, &carol];
    make(&all).await;
    let answer = put_one(&bob, Request::Put(say(bob.frame(1, b"hello"), 1, &all))).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    // A receipt goes to one member alone.
    let mut receipt = say(carol.frame(1, b"receipt"), 1, &all);
    receipt.targets = bob.peer.as_bytes()[..].into();
    assert!(matches!(put_one(&carol, Request::Put(receipt)).await, Answer::Stored(_)));
    assert_eq!(waiting(&alice).await, ["hello"]);
    assert_eq!(waiting(&bob).await, ["welcome", "receipt"]);
    assert_eq!(waiting(&carol).await, ["welcome", "hello"]);
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_commits_wins_and_the_other_learns_the_epoch() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    make(&[&alice, &bob]).await;
    let both = [&alice, &bob];
    let of_alice = || commit(say(alice.frame(3, b"first"), 1, &both), &both, Vec::new());
    assert!(matches!(put_one(&alice, of_alice()).await, Answer::Stored(_)));
    let of_bob = commit(say(bob.frame(1, b"second"), 1, &both), &both, Vec::new());
    let refused = refusal(put_one(&bob, of_bob).await);
    assert_eq!((refused.code, refused.epoch, refused.sequence), (Code::EPOCH, 2, Some(1)));
    let late = Request::Put(say(bob.frame(2, b"late"), 1, &both));
    assert_eq!(refusal(put_one(&bob, late).await).code, Code::EPOCH);
    // A commit whose answer was lost is put again, also after a restart.
    let again = of_alice();
    world.stop().await;
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    assert!(matches!(put_one(&alice, again).await, Answer::Stored(_)));
    let both = [&alice, &bob];
    let text = Request::Put(say(bob.frame(3, b"in time"), 2, &both));
    assert!(matches!(put_one(&bob, text).await, Answer::Stored(_)));
    assert_eq!(waiting(&alice).await, ["in time"]);
    assert_eq!(waiting(&bob).await, ["welcome", "first"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_removed_get_the_commit_and_nothing_after_it() {
    let world = World::new();
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let (all, left) = ([&alice, &bob, &carol], [&alice, &carol]);
    make(&all).await;
    let removal = commit(say(alice.frame(3, b"removal"), 1, &all), &left, Vec::new());
    assert!(matches!(put_one(&alice, removal).await, Answer::Stored(_)));
    let text = Request::Put(say(alice.frame(4, b"without bob"), 2, &left));
    assert!(matches!(put_one(&alice, text).await, Answer::Stored(_)));
    // Bob says that he is a member, and that he is not.
    for members in [&all[..], &left] {
        let text = Request::Put(say(bob.frame(1, b"still here"), 2, members));
        assert_eq!(refusal(put_one(&bob, text).await).code, Code::CONVERSATION);
    }
    let back = commit(say(bob.frame(2, b"back"), 2, &left), &all, bob.frame(3, b"welcome"));
    assert_eq!(refusal(put_one(&bob, back).await).code, Code::CONVERSATION);
    assert_eq!(waiting(&bob).await, ["welcome", "removal"]);
    assert_eq!(waiting(&carol).await, ["welcome", "removal", "without bob"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_do_not_fit_the_group_are_refused_and_change_nothing() {
    let world = World::new();
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let both = [&alice, &bob];
    let unknown = Request::Put(say(alice.frame(1, b"text"), 0, &[&alice]));
    assert_eq!(refusal(put_one(&alice, unknown).await).code, Code::CONVERSATION);
    // A group begins in epoch 0.
    let late = commit(say(alice.frame(2, b"x"), 1, &[&alice]), &both, alice.frame(3, b"welcome"));
    assert_eq!(refusal(put_one(&alice, late).await).code, Code::CONVERSATION);
    make(&both).await;
    let all = [&alice, &bob, &carol];
    let with = |sequence, welcome: Option<u64>, after: &[&Node]| {
        let welcome = welcome.map_or(Vec::new(), |it| alice.frame(it, b"welcome"));
        commit(say(alice.frame(sequence, b"commit"), 1, &both), after, welcome)
    };
    for (request, code) in [
        // Members that the hub does not have.
        (Request::Put(say(alice.frame(10, b"text"), 1, &all)), Code::MEMBERS),
        // A commit without its maker, a new member without a welcome, a welcome for no one.
        (with(11, None, &[&bob]), Code::TARGETS),
        (with(12, None, &all), Code::TARGETS),
        (with(13, Some(14), &both), Code::TARGETS),
        // A welcome whose sequence is not the next one.
        (with(15, Some(17), &all), Code::FRAME),
    ] {
        assert_eq!(refusal(put_one(&alice, request).await).code, code);
    }
    // A target that is no member.
    let mut text = say(alice.frame(20, b"text"), 1, &both);
    text.targets = carol.peer.as_bytes()[..].into();
    assert_eq!(refusal(put_one(&alice, Request::Put(text)).await).code, Code::TARGETS);
    // A member in the wrong order, or one that the hub does not know.
    let mut request =
        commit(say(alice.frame(21, b"commit"), 1, &both), &all, alice.frame(22, b"welcome"));
    let Request::Put(put) = &mut request else { panic!() };
    let change = put.conversation.as_mut().unwrap().commit.as_mut().unwrap();
    let mut members = list(&all);
    members.rotate_left(32);
    change.members = members.into();
    assert_eq!(refusal(put_one(&alice, request).await).code, Code::TARGETS);
    let gone = world.unregistered(&identity(), 1).await;
    let refused = refusal(put_one(&alice, with(23, Some(24), &[&alice, &bob, &gone])).await);
    assert_eq!((refused.code, refused.mailboxes), (Code::MAILBOX, vec![*gone.peer.as_bytes()]));
    // The group is as it was, and a number that was refused can be used.
    assert!(matches!(put_one(&alice, with(30, Some(31), &all)).await, Answer::Stored(_)));
    assert_eq!(waiting(&carol).await, ["welcome"]);
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_device_stops_texts_until_a_commit_removes_it() {
    let world = World::new();
    let (alice, root) = (world.registered().await, identity());
    let bob = world.unregistered(&root, 1).await;
    let token = world.invite(2, u64::MAX / 4);
    assert!(matches!(bob.register(&token).await, Answer::Welcome(_)));
    make(&[&alice, &bob]).await;
    // Bob's second device takes the place of the first.
    let mut second = world.unregistered(&root, 2).await;
    second.person = next_record(&root, &bob.person, &[1], &[(2, &second.device)]);
    assert!(matches!(second.register(&token).await, Answer::Welcome(_)));
    let both = [&alice, &bob];
    let text = Request::Put(say(alice.frame(3, b"to the thief"), 1, &both));
    let refused = refusal(put_one(&alice, text).await);
    assert_eq!((refused.code, refused.mailboxes), (Code::MAILBOX, vec![*bob.peer.as_bytes()]));
    let now = [&alice, &second];
    let change = say(alice.frame(4, b"commit"), 1, &both);
    let answer = put_one(&alice, commit(change, &now, alice.frame(5, b"welcome"))).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    let text = Request::Put(say(alice.frame(6, b"to bob"), 2, &now));
    assert!(matches!(put_one(&alice, text).await, Answer::Stored(_)));
    assert_eq!(waiting(&second).await, ["welcome", "to bob"]);
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_stops_texts_and_no_commit() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 4;
    let world = World::with(limits);
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let all = [&alice, &bob, &carol];
    make(&all).await;
    assert!(matches!(
        put_one(&alice, put(&[&bob], &alice.frame(3, b"direct"))).await,
        Answer::Stored(_)
    ));
    let text = Request::Put(say(alice.frame(4, b"text"), 1, &all));
    let refused = refusal(put_one(&alice, text).await);
    assert_eq!((refused.code, refused.mailboxes), (Code::FULL, vec![*bob.peer.as_bytes()]));
    let change = commit(say(carol.frame(1, b"commit"), 1, &all), &all, Vec::new());
    assert!(matches!(put_one(&carol, change).await, Answer::Stored(_)));
    let text = Request::Put(say(alice.frame(5, b"after"), 2, &all));
    assert_eq!(refusal(put_one(&alice, text).await).code, Code::FULL);
    assert_eq!(waiting(&alice).await, ["commit"]);
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// A text that was refused because of one member is made again for the others, and no later frame
/// of its exchange passes it.
#[tokio::test(flavor = "multi_thread")]
async fn no_frame_passes_a_text_that_a_revoked_member_stops() {
    let world = World::new();
    let (alice, carol, root) = (world.registered().await, world.registered().await, identity());
    let bob = world.unregistered(&root, 1).await;
    let token = world.invite(2, u64::MAX / 4);
    assert!(matches!(bob.register(&token).await, Answer::Welcome(_)));
    let all = [&alice, &bob, &carol];
    make(&all).await;
    let mut second = world.unregistered(&root, 2).await;
    second.person = next_record(&root, &bob.person, &[1], &[(2, &second.device)]);
    assert!(matches!(second.register(&token).await, Answer::Welcome(_)));
    let mut exchange = alice.exchange().await;
    exchange.send(Request::Put(say(alice.frame(3, b"first"), 1, &all))).await;
    let mut text = say(alice.frame(4, b"second"), 1, &all);
    text.targets = carol.peer.as_bytes()[..].into();
    exchange.send(Request::Put(text)).await;
    for (sequence, mailboxes) in [(3, vec![*bob.peer.as_bytes()]), (4, Vec::new())] {
        let refused = refusal(exchange.receive().await.unwrap());
        assert_eq!((refused.code, refused.sequence), (Code::MAILBOX, Some(sequence)));
        assert_eq!(refused.mailboxes, mailboxes);
    }
    assert_eq!(waiting(&carol).await, ["welcome"]);
}

/// A commit is for others, so that a full mailbox of its maker misses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_of_the_committer_misses_nothing() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 2;
    let world = World::with(limits);
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    for node in [&bob, &carol] {
        let answer = put_one(node, put(&[&alice], &node.frame(1, b"direct"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
    let begin = commit(say(alice.frame(1, b"commit"), 0, &[&alice]), &[&alice], Vec::new());
    assert!(matches!(put_one(&alice, begin).await, Answer::Stored(_)));
    let hello = Request::Hello(Hello { version: 1, ..Hello::default() });
    let Answer::Welcome(welcome) = alice.ask(hello).await else { panic!() };
    assert_eq!(welcome.dropped, 0);
}

/// A member that told the hub a wrong list cannot keep the others from setting it right.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_sets_a_wrong_list_right() {
    let world = World::new();
    let (mallory, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let (all, wrong) = ([&mallory, &bob, &carol], [&mallory, &carol]);
    make(&all).await;
    // The commit in the frame leaves Bob where he is.
    let lie = commit(say(mallory.frame(3, b"commit"), 1, &all), &wrong, Vec::new());
    assert!(matches!(put_one(&mallory, lie).await, Answer::Stored(_)));
    // Carol learns whom the hub has, and adds Bob again.
    let text = Request::Put(say(carol.frame(1, b"text"), 2, &all));
    let refused = refusal(put_one(&carol, text).await);
    assert_eq!(refused.code, Code::MEMBERS);
    let named: Vec<u8> = refused.mailboxes.concat();
    assert_eq!(named, list(&wrong));
    let right = commit(say(carol.frame(2, b"right"), 2, &wrong), &all, carol.frame(3, b"again"));
    assert!(matches!(put_one(&carol, right).await, Answer::Stored(_)));
    let text = Request::Put(say(carol.frame(4, b"text"), 3, &all));
    assert!(matches!(put_one(&carol, text).await, Answer::Stored(_)));
    assert_eq!(waiting(&bob).await, ["welcome", "commit", "again", "text"]);
}

/// A device that lost its state stays a member, and gets the welcome with which it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_device_gets_its_welcome() {
    let world = World::new();
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let (both, all) = ([&alice, &bob], [&alice, &bob, &carol]);
    make(&both).await;
    let replace = |sequence, epoch, before: &[&Node], after: &[&Node], again: &Node| {
        let mut before = say(alice.frame(sequence, b"commit"), epoch, before);
        before.targets = again.peer.as_bytes()[..].into();
        commit(before, after, alice.frame(sequence + 1, b"again"))
    };
    let answer = put_one(&alice, replace(3, 1, &both, &both, &bob)).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    let answer = put_one(&alice, replace(5, 2, &both, &all, &bob)).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    // One who is new, no member after it, or the committer is not replaced.
    for again in [&alice, &carol] {
        let refused = refusal(put_one(&alice, replace(7, 3, &all, &both, again)).await);
        assert_eq!(refused.code, Code::TARGETS);
    }
    assert_eq!(waiting(&bob).await, ["welcome", "commit", "again", "commit", "again"]);
    assert_eq!(waiting(&carol).await, ["again"]);
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// Two hubs before one database: of two commits of an epoch one is stored, and of two groups of one
/// id one is made. Only an engine for several processes has this test.
#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_give_an_epoch_one_commit() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    let (alice, mut bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    bob.reconnect(&other).await;
    let begin = |node: &Node, all: &[&Node]| {
        let before = say(node.frame(1, b"commit"), 0, &[node]);
        commit(before, all, node.frame(2, b"welcome"))
    };
    let all = [&alice, &bob, &carol];
    let (one, two) =
        tokio::join!(put_one(&alice, begin(&alice, &all)), put_one(&bob, begin(&bob, &all)));
    let made = [&one, &two].iter().filter(|it| matches!(it, Answer::Stored(_))).count();
    assert_eq!(made, 1, "{one:?} {two:?}");
    for epoch in 1..=30 {
        let sequence = 10 + 2 * epoch;
        let renewal = |node: &Node| {
            commit(say(node.frame(sequence, b"commit"), epoch, &all), &all, Vec::new())
        };
        let (one, two, _) = tokio::join!(
            put_one(&alice, renewal(&alice)),
            put_one(&bob, renewal(&bob)),
            put_one(&carol, put(&[&alice, &bob], &carol.frame(sequence, b"direct"))),
        );
        let refused = match (one, two) {
            (Answer::Stored(_), refused) | (refused, Answer::Stored(_)) => refusal(refused),
            both => panic!("{both:?}"),
        };
        assert_eq!((refused.code, refused.epoch), (Code::EPOCH, epoch + 1));
    }
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// A device of whom another person has said something void is in none of that person's groups.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_registers_itself_leaves_the_groups_of_others() {
    let world = World::new();
    let root = identity();
    let thief = world.unregistered(&root, 1).await;
    assert!(matches!(thief.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let mut victim = world.unregistered(&identity(), 1).await;
    let named = crate::world::certificate(&root, 2, victim.peer);
    let record = next_record(&root, &thief.person, &[], &[(2, &victim.device)]);
    let register = endseal_codec::hub::Register {
        token: None,
        certificate: named.as_bytes()[..].into(),
        person: record.as_bytes().into(),
    };
    assert!(matches!(thief.ask(Request::Register(register)).await, Answer::Welcome(_)));
    let both = [&thief, &victim];
    make(&both).await;
    let victims = victim.register(&world.invite(1, u64::MAX / 4)).await;
    assert!(matches!(victims, Answer::Welcome(_)));
    let text = Request::Put(say(thief.frame(3, b"spam"), 1, &both));
    assert_eq!(refusal(put_one(&thief, text).await).code, Code::MEMBERS);
    victim.reconnect(&world).await;
    assert_eq!(waiting(&victim).await, Vec::<String>::new());
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// A device that has not registered itself is no member of a conversation with others: it would
/// stop their texts.
#[tokio::test(flavor = "multi_thread")]
async fn a_pending_device_stops_no_texts() {
    let world = World::new();
    let root = identity();
    let alice = world.unregistered(&root, 1).await;
    assert!(matches!(alice.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let bob = world.registered().await;
    let second = world.unregistered(&root, 2).await;
    let record = next_record(&root, &alice.person, &[], &[(2, &second.device)]);
    let register = endseal_codec::hub::Register {
        token: None,
        certificate: second.certificate.as_bytes()[..].into(),
        person: record.as_bytes().into(),
    };
    assert!(matches!(alice.ask(Request::Register(register)).await, Answer::Welcome(_)));
    let begin = |sequence, after: &[&Node]| {
        let before = say(alice.frame(sequence, b"x"), 0, &[&alice]);
        commit(before, after, alice.frame(sequence + 1, b"welcome"))
    };
    let refused = refusal(put_one(&alice, begin(1, &[&alice, &bob, &second])).await);
    assert_eq!((refused.code, refused.mailboxes), (Code::MAILBOX, vec![*second.peer.as_bytes()]));
    // In a group of one person it gets frames, until another person comes.
    let own = [&alice, &second];
    assert!(matches!(put_one(&alice, begin(3, &own)).await, Answer::Stored(_)));
    let text = Request::Put(say(alice.frame(5, b"text"), 1, &own));
    assert!(matches!(put_one(&alice, text).await, Answer::Stored(_)));
    let all = [&alice, &bob, &second];
    let add = commit(say(alice.frame(6, b"x"), 1, &own), &all, alice.frame(7, b"welcome"));
    assert_eq!(refusal(put_one(&alice, add).await).code, Code::MAILBOX);
}

async fn welcome(node: &Node) -> Welcome {
    let hello = Request::Hello(Hello { version: 1, ..Hello::default() });
    let Answer::Welcome(welcome) = node.ask(hello).await else { panic!() };
    welcome
}

/// A full mailbox that misses a commit counts, that of a revoked device does not, and no commit
/// waits for one of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_counts_the_full_mailboxes_that_miss_it() {
    let mut limits = HubLimits::default();
    (limits.mailbox_frames, limits.burst) = (2, 1_000_000);
    let world = World::with(limits);
    let (alice, bob, root) = (world.registered().await, world.registered().await, identity());
    let gone = world.unregistered(&root, 1).await;
    let token = world.invite(2, u64::MAX / 4);
    assert!(matches!(gone.register(&token).await, Answer::Welcome(_)));
    let all = [&alice, &bob, &gone];
    make(&all).await;
    let mut second = world.unregistered(&root, 2).await;
    second.person = next_record(&root, &gone.person, &[1], &[(2, &second.device)]);
    assert!(matches!(second.register(&token).await, Answer::Welcome(_)));
    let dropped = welcome(&alice).await.dropped;
    let renewal = commit(say(alice.frame(3, b"commit"), 1, &all), &all, Vec::new());
    assert!(matches!(put_one(&alice, renewal).await, Answer::Stored(_)));
    // Alice has taken her share of Bob's mailbox with the welcome.
    assert_eq!(welcome(&alice).await.dropped, dropped + 1);
    assert_eq!(waiting(&bob).await, ["welcome"]);
    let row = |peer: PeerId| {
        let devices = world.in_store(|store| store.devices()).unwrap();
        devices.into_iter().find(|it| it.peer == peer).unwrap()
    };
    assert_eq!((row(gone.peer).frames, row(bob.peer).frames), (0, 1));
    // A full mailbox of a new member keeps the commit from being stored.
    let left = [&alice, &bob];
    let remove = commit(say(alice.frame(4, b"commit"), 2, &all), &left, Vec::new());
    assert!(matches!(put_one(&alice, remove).await, Answer::Stored(_)));
    let carol = world.registered().await;
    for node in [&alice, &bob] {
        let text = put(&[&carol], &node.frame(20, b"direct"));
        assert!(matches!(put_one(node, text).await, Answer::Stored(_)));
    }
    let with = [&alice, &bob, &carol];
    let add = commit(say(alice.frame(21, b"x"), 3, &left), &with, alice.frame(22, b"welcome"));
    let refused = refusal(put_one(&alice, add).await);
    assert_eq!((refused.code, refused.mailboxes), (Code::FULL, vec![*carol.peer.as_bytes()]));
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// The sequence of a welcome is used up: another frame under it is one of another copy of the node.
#[tokio::test(flavor = "multi_thread")]
async fn a_welcome_uses_its_sequence() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    make(&[&alice, &bob]).await;
    let again = put_one(&alice, put(&[&bob], &alice.frame(2, b"other"))).await;
    assert_eq!(refusal(again).code, Code::USED);
    let same = put_one(&alice, put(&[&bob], &alice.frame(2, b"welcome"))).await;
    assert!(matches!(same, Answer::Stored(_)), "{same:?}");
    // A commit whose welcome would take a used sequence is not stored.
    let text = put_one(&alice, put(&[&bob], &alice.frame(11, b"direct"))).await;
    assert!(matches!(text, Answer::Stored(_)), "{text:?}");
    let (both, carol) = ([&alice, &bob], world.registered().await);
    let all = [&alice, &bob, &carol];
    let add = commit(say(alice.frame(10, b"x"), 1, &both), &all, alice.frame(11, b"welcome"));
    assert_eq!(refusal(put_one(&alice, add).await).code, Code::USED);
    assert_eq!(waiting(&carol).await, Vec::<String>::new());
    assert_eq!(waiting(&bob).await, ["welcome", "direct"]);
}

/// Commits and frames to groups cost what the specification says.
#[tokio::test(flavor = "multi_thread")]
async fn frames_of_groups_cost_their_deliveries() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (100, 1);
    let world = World::with(limits);
    let mut nodes = Vec::new();
    for _ in 0..34 {
        nodes.push(world.registered().await);
    }
    let all: Vec<&Node> = nodes.iter().collect();
    let first = all[0];
    // 34 are the members, 16 the welcome, and 2 the deliveries of it.
    let long = first.frame(2, &vec![b'x'; 1_000_000]);
    let begin = commit(say(first.frame(1, b"commit"), 0, &[first]), &all, long);
    assert!(matches!(put_one(first, begin).await, Answer::Stored(_)));
    // Each text costs 1, and 2 more for 33 members.
    let mut exchange = first.exchange().await;
    let mut stored = 0;
    for sequence in 3.. {
        exchange.send(Request::Put(say(first.frame(sequence, b"text"), 1, &all))).await;
        match exchange.receive().await.unwrap() {
            Answer::Stored(_) => stored += 1,
            Answer::Refused(refused) => {
                assert_eq!(refused.code, Code::RATE);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    let spent = 1 + 34 + 16 + 2;
    // The bucket fills by a frame in each second of the test.
    let left = (100 - spent) / 3;
    assert!((left - 1..left + 4).contains(&stored), "{stored} of {left}");
}

/// A group and its members move with the database, and groups are made after it.
#[tokio::test(flavor = "multi_thread")]
async fn conversations_move_to_another_engine() {
    let mut world = World::new();
    let (mut alice, mut bob, mut carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    make(&[&alice, &bob]).await;
    let folder = Scratch::new();
    for (round, to) in
        [Database::Sqlite(folder.path("one.db")), Database::new(&folder)].into_iter().enumerate()
    {
        world.stop().await;
        let from = &world.database;
        let copy = || endseal_hub::migrate(&mut *from.open(), &mut *to.open()).unwrap();
        std::thread::scope(|scope| scope.spawn(copy).join().unwrap());
        world.database = to;
        world.start();
        for node in [&mut alice, &mut bob, &mut carol] {
            node.reconnect(&world).await;
        }
        let (both, epoch) = ([&alice, &bob], round as u64 + 1);
        let mallory = Request::Put(say(carol.frame(100 + epoch, b"x"), epoch, &both));
        assert_eq!(refusal(put_one(&carol, mallory).await).code, Code::CONVERSATION);
        let renewal = commit(say(bob.frame(epoch, b"commit"), epoch, &both), &both, Vec::new());
        assert!(matches!(put_one(&bob, renewal).await, Answer::Stored(_)));
        let mut begin = say(carol.frame(10 * epoch, b"commit"), 0, &[&carol]);
        begin.conversation.as_mut().unwrap().group = [u8::try_from(20 + round).unwrap(); 16];
        let begin = commit(begin, &[&bob, &carol], carol.frame(10 * epoch + 1, b"welcome"));
        let answer = put_one(&carol, begin).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
        assert!(world.faults().is_empty(), "{:?}", world.faults());
    }
    assert_eq!(waiting(&alice).await, ["commit", "commit"]);
}

/// Prints the figures of docs/design/conversations.md.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: prints times"]
async fn times_of_texts_to_a_hundred_members() {
    let world = World::new();
    let mut nodes = Vec::new();
    for _ in 0..100 {
        nodes.push(world.registered().await);
    }
    let all: Vec<&Node> = nodes.iter().collect();
    make(&all).await;
    let first = all[0];
    for burst in [1, 200] {
        let begin = Instant::now();
        for round in 0..400 / burst {
            let mut exchange = first.exchange().await;
            let from = 1_000 * burst + round * burst;
            for sequence in from..from + burst {
                let frame = first.frame(sequence, &[7; 1_374]);
                exchange.send(Request::Put(say(frame, 1, &all))).await;
            }
            loop {
                match exchange.receive().await {
                    Some(Answer::Stored(it)) if it.sequence == from + burst - 1 => break,
                    Some(Answer::Stored(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        println!("in exchanges of {burst}: {:?} a text", begin.elapsed() / 400);
    }
}
