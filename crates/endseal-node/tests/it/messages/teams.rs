//! Texts to teams.

use alloc::sync::Arc;
use core::num::NonZeroU32;
use core::time::Duration;

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::random::OsRandom;
use endseal_hub::HubLimits;
use endseal_keyring::device::DeviceId;
use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::{GroupId, Member, RosterChanges};
use endseal_keyring::{Name, Roster};
use endseal_node::Home;
use endseal_node::messages::{
    self, Conversation, SkippedReason, SyncReport, TeamChangeKind, history, problems, status,
};

use super::intruders::{GROUP_LEN, GROUPS, groups_of, name_of, now};
use super::returns::revoke;
use super::world::{People, Person, World};

pub(super) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(super) fn member(at: usize, person: &Person) -> Member {
    Member::new(name(&format!("m{at}")), person.root.public().clone())
}

/// A team of the first person, whose roster all of them have.
pub(super) fn group(people: &mut [&mut Person], others: &[&Person]) -> Roster {
    group_named("team", people, others)
}

pub(super) fn group_named(of_team: &str, people: &mut [&mut Person], others: &[&Person]) -> Roster {
    let all = people.iter().map(|it| &**it).chain(others.iter().copied());
    let members = all.enumerate().map(|(at, person)| member(at, person)).collect();
    let owner = &people[0];
    let lock = owner.home.lock().unwrap();
    let groups = owner.home.groups();
    let roster = groups.create(&owner.root, name(of_team), members, &lock).unwrap();
    for person in &people[1..] {
        import(person, &roster);
    }
    roster
}

pub(super) fn import(person: &Person, roster: &Roster) {
    let lock = person.home.lock().unwrap();
    person.home.groups().import(roster.as_bytes(), None, |_| true, &lock).unwrap();
}

/// The next epoch, with changes of the members.
pub(super) fn change(owner: &Person, removed: Option<&str>, added: Option<Member>) -> Roster {
    let mut changes = RosterChanges::new();
    removed.map(|it| changes.remove(name(it)));
    added.map(|it| changes.add(it));
    let lock = owner.home.lock().unwrap();
    owner.home.groups().change(&owner.root, &name("team"), &changes, &lock).unwrap()
}

pub(super) fn write(person: &mut Person, group: &GroupId, text: &str) {
    let to = Conversation::Group(*group);
    messages::say(&mut person.engine, &to, &[text]).unwrap();
}

pub(super) fn texts(person: &mut Person) -> Vec<String> {
    person.read().into_iter().map(|(_, text)| text).collect()
}

/// A second device of a person, which is not registered, with the next record.
pub(super) fn second_device(world: &World, first: &Person, folder: &str) -> Person {
    let device = Identity::generate(&mut OsRandom).unwrap();
    let number = NonZeroU32::new(2).unwrap();
    let mut changes = PersonChanges::new();
    changes.add(number, device.public());
    let record = first.record.next_epoch(&first.root, &changes).unwrap();
    let home = Home::create(&world.folder.path(folder)).unwrap();
    let now = 1_790_000_000_000;
    let engine =
        home.make_sessions(&first.root, &device, DeviceId::new(2), now, Duration::ZERO).unwrap();
    home.store_person(&record, &home.lock().unwrap()).unwrap();
    let root = Identity::from_root_seed(RootSeed::from_bytes(
        first.root.root_seed().unwrap().expose_secret(),
    ));
    let people = Arc::clone(&first.people);
    Person { identity: first.identity, root, device, home, engine, record, people }
}

pub(super) fn classes(person: &mut Person) -> Vec<String> {
    problems(&mut person.engine).unwrap().iter().map(|it| it.class.to_string()).collect()
}

fn rows(person: &mut Person, team: GroupId) -> Vec<String> {
    let to = Conversation::Group(team);
    let rows = history(&mut person.engine, &to, 0, 100).unwrap();
    let text =
        |row: &messages::HistoryRow| row.text(&person.identity, &to).unwrap().text.to_owned();
    rows.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_reaches_all_members() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let id = *group(&mut [&mut alice, &mut bob, &mut carol], &[]).id();
    write(&mut alice, &id, "to all");
    write(&mut alice, &id, "again");
    let report = alice.sync(&world).await;
    assert_eq!((report.encrypted, report.sent), (2, 2), "{report:?}");
    assert!(report.skipped.is_empty(), "{report:?}");
    for person in [&mut bob, &mut carol] {
        assert_eq!(person.sync(&world).await.received, 2);
        let (page, _) = messages::unread(&mut person.engine, 0).unwrap();
        assert!(page.iter().all(|it| it.conversation == Conversation::Group(id)));
        let texts = ["to all", "again"].map(|text| (alice.identity, text.to_owned()));
        assert_eq!(person.read(), texts);
    }
    write(&mut bob, &id, "from bob");
    bob.sync(&world).await;
    for person in [&mut alice, &mut carol] {
        assert_eq!(person.sync(&world).await.received, 1);
        assert_eq!(person.read(), [(bob.identity, "from bob".to_owned())]);
    }
    for person in [&mut alice, &mut bob, &mut carol] {
        assert_eq!(rows(person, id), ["to all", "again", "from bob"]);
        assert_eq!(classes(person), [""; 0]);
    }
    // A text to one of them is in another conversation.
    assert_eq!(
        history(&mut bob.engine, &Conversation::Person(alice.identity), 0, 10).unwrap().len(),
        0
    );
}

/// The owner is no contact of bob: nothing of the team is shown before bob has the roster.
#[tokio::test(flavor = "multi_thread")]
async fn texts_of_an_unknown_team_wait() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    bob.people = People::default();
    let roster = group(&mut [&mut alice], &[&bob]);
    for text in ["one", "two"] {
        write(&mut alice, roster.id(), text);
    }
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!(report.problems, 0, "{report:?}");
    assert_eq!((report.teams.len(), report.teams[0].owner), (1, alice.identity));
    assert_eq!(bob.read(), []);
    bob = bob.restart();
    import(&bob, &roster);
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["one", "two"]);
    assert_eq!(status(&mut bob.engine).unwrap().parked, 0);
}

/// No roster is carried by hand: bob knows the owner, and carol comes with the next epoch.
#[tokio::test(flavor = "multi_thread")]
async fn rosters_travel_in_the_conversation() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let id = *group(&mut [&mut alice], &[&bob]).id();
    for person in [&bob, &carol] {
        person.knows(&alice, "alice");
    }
    write(&mut alice, &id, "hello bob");
    alice.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["hello bob"]);
    change(&alice, None, Some(member(7, &carol)));
    write(&mut alice, &id, "hello carol");
    let report = alice.sync(&world).await;
    assert!(report.skipped.is_empty(), "{report:?}");
    for person in [&mut bob, &mut carol] {
        person.sync(&world).await;
        assert_eq!(texts(person), ["hello carol"]);
        assert_eq!(person.home.groups().current(&name("team")).unwrap().epoch(), 2);
    }
    // Carol, whom bob did not know before, writes to both.
    write(&mut carol, &id, "from carol");
    carol.sync(&world).await;
    for person in [&mut alice, &mut bob] {
        person.sync(&world).await;
        assert_eq!(texts(person), ["from carol"]);
        assert_eq!(classes(person), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_reads_and_writes_nothing() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut mallory = world.member("mallory").await;
    let first = group(&mut [&mut alice, &mut bob, &mut mallory], &[]);
    write(&mut alice, first.id(), "to all");
    alice.sync(&world).await;
    for person in [&mut bob, &mut mallory] {
        person.sync(&world).await;
        assert_eq!(texts(person), ["to all"]);
    }
    change(&alice, Some("m2"), None);
    write(&mut alice, first.id(), "without her");
    alice.sync(&world).await;
    // She does not know that she was removed: her text is refused.
    write(&mut mallory, first.id(), "still here");
    let report = mallory.sync(&world).await;
    assert_eq!(report.left.len(), 1, "{report:?}");
    assert_eq!(report.left[0].conversation, Conversation::Group(*first.id()));
    assert_eq!(report.sent, 0, "{report:?}");
    assert_eq!(mallory.read(), []);
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["without her"]);
    // The commit had the roster.
    let report = mallory.sync(&world).await;
    assert_eq!(report.skipped[0].reason, SkippedReason::NotMember, "{report:?}");
    assert_eq!(alice.sync(&world).await.received, 0);
}

/// A text that is sent again, because a member who was away has another device, is not for those
/// who became members since.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_member_gets_nothing_from_before() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let (mut carol, mut dora) = (world.member("carol").await, world.member("dora").await);
    let first = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut carol] {
            person.sync(&world).await;
        }
    }
    write(&mut alice, first.id(), "before dora");
    alice.sync(&world).await;
    bob.sync(&world).await;
    change(&alice, None, Some(member(3, &dora)));
    alice.sync(&world).await;
    dora.knows(&alice, "alice");
    dora.sync(&world).await;
    let mut phone = second_device(&world, &carol, "phone");
    phone.join(&world).await;
    phone.knows(&alice, "alice");
    for _ in 0..3 {
        for person in [&mut alice, &mut bob, &mut phone, &mut dora] {
            person.sync(&world).await;
        }
    }
    assert_eq!(texts(&mut dora), [""; 0]);
    assert_eq!(texts(&mut phone), ["before dora"]);
    write(&mut alice, first.id(), "to dora, too");
    for person in [&mut alice, &mut dora, &mut phone] {
        person.sync(&world).await;
    }
    assert_eq!(texts(&mut dora), ["to dora, too"]);
    assert_eq!(texts(&mut phone), ["to dora, too"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_who_have_not_joined_are_left_out() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut carol = world.person("carol");
    let roster = group(&mut [&mut alice, &mut bob], &[&carol]);
    write(&mut alice, roster.id(), "hello");
    let report = alice.sync(&world).await;
    assert_eq!(report.skipped.len(), 1, "{report:?}");
    assert_eq!(report.skipped[0].to, Conversation::Person(carol.identity));
    assert_eq!(report.skipped[0].reason, SkippedReason::NoDevice);
    assert_eq!(bob.sync(&world).await.received, 1);
    // She joins the hub, and is added with the next text.
    carol.join(&world).await;
    import(&carol, &roster);
    write(&mut alice, roster.id(), "hello carol");
    alice.sync(&world).await;
    carol.sync(&world).await;
    assert_eq!(texts(&mut carol), ["hello carol"]);
    bob.sync(&world).await;
    // A team without anyone to write to: the text waits.
    let dave = world.person("dave");
    let mut erin = world.member("erin").await;
    let roster = group(&mut [&mut erin], &[&dave]);
    write(&mut erin, roster.id(), "hello");
    assert_eq!(erin.sync(&world).await.encrypted, 0);
    assert_eq!(status(&mut erin.engine).unwrap().unsent, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_does_not_keep_a_text_from_others() {
    let mut limits = HubLimits::default();
    // One sender has half of it.
    limits.mailbox_frames = 6;
    let world = World::with(limits);
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let roster = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    for text in ["1", "2"] {
        alice.say(&bob.identity, text);
    }
    alice.sync(&world).await;
    for text in ["a", "b", "c"] {
        write(&mut alice, roster.id(), text);
    }
    let report = alice.sync(&world).await;
    assert!(report.mailbox_full, "{report:?}");
    assert!(carol.sync(&world).await.received >= 2);
    for _ in 0..4 {
        bob.sync(&world).await;
        carol.sync(&world).await;
        alice.sync(&world).await;
    }
    bob.sync(&world).await;
    carol.sync(&world).await;
    assert_eq!(texts(&mut carol), ["a", "b", "c"]);
    let mut of_bob = texts(&mut bob);
    of_bob.sort();
    assert_eq!(of_bob, ["1", "2", "a", "b", "c"]);
    let waits = status(&mut alice.engine).unwrap();
    assert_eq!((waits.frames, waits.unsent, waits.problems), (0, 0, 0));
}

/// The group is made while the mailbox of a member is full, so that it is made without that member,
/// who is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_with_a_full_mailbox_is_named_and_gets_later_texts() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 6;
    let world = World::with(limits);
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    // A welcome and two texts are the share of one sender.
    for text in ["1", "2", "3"] {
        alice.say(&bob.identity, text);
    }
    assert!(alice.sync(&world).await.mailbox_full);
    let roster = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    write(&mut alice, roster.id(), "a");
    let report = alice.sync(&world).await;
    assert!(report.mailbox_full, "{report:?}");
    let skipped: Vec<_> = report.skipped.iter().map(|it| (it.device, it.reason)).collect();
    assert_eq!(skipped, [(Some(bob.engine.address()), SkippedReason::Full)]);
    for _ in 0..4 {
        bob.sync(&world).await;
        carol.sync(&world).await;
        alice.sync(&world).await;
    }
    write(&mut alice, roster.id(), "b");
    alice.sync(&world).await;
    bob.sync(&world).await;
    carol.sync(&world).await;
    assert_eq!(texts(&mut carol), ["a", "b"]);
    assert_eq!(texts(&mut bob), ["1", "2", "3", "b"]);
}

/// Changes of a roster by a person who may make them.
pub(super) fn change_as(person: &Person, changes: &RosterChanges) -> Roster {
    let lock = person.home.lock().unwrap();
    person.home.groups().change(&person.root, &name("team"), changes, &lock).unwrap()
}

/// The owner and an admin change a team at the same time: the first one that the hub takes is in
/// force, and the other one learns that the change must be made again.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_changes_at_once_one_is_in_force_and_the_other_is_reported() {
    for (offline, first_changes) in [(1, 1), (2, 1), (1, 2)] {
        let world = World::new();
        let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
        let (mut carol, mut dave) = (world.member("carol").await, world.member("dave").await);
        let id = *group(&mut [&mut alice, &mut bob], &[]).id();
        let mut changes = RosterChanges::new();
        change_as(&alice, changes.appoint(name("m1")));
        for _ in 0..2 {
            alice.sync(&world).await;
            bob.sync(&world).await;
        }
        for person in [&carol, &dave] {
            person.knows(&alice, "alice");
        }
        // Bob adds dave before he learns that alice has added carol.
        for at in 0..offline {
            let mut changes = RosterChanges::new();
            if at == 0 {
                changes.add(member(4, &dave));
            }
            change_as(&bob, &changes);
        }
        for at in 0..first_changes {
            let mut changes = RosterChanges::new();
            if at == 0 {
                changes.add(member(3, &carol));
            }
            change_as(&alice, &changes);
        }
        alice.sync(&world).await;
        let report = bob.sync(&world).await;
        let replaced: Vec<_> = report.replaced.iter().map(|it| it.conversation).collect();
        assert_eq!(replaced, [Conversation::Group(id)], "{report:?}");
        let current = |person: &Person| person.home.groups().current(&name("team")).unwrap();
        assert_eq!(current(&bob), current(&alice));
        let refused = bob.home.path().join("groups/team/3.refused");
        assert!(refused.exists(), "the change is kept beside the others");
        assert_eq!(alice.sync(&world).await.replaced, []);
        // He makes it again.
        let mut changes = RosterChanges::new();
        change_as(&bob, changes.add(member(4, &dave)));
        write(&mut bob, &id, "to four");
        let report = bob.sync(&world).await;
        assert!(report.skipped.is_empty() && report.replaced.is_empty(), "{report:?}");
        for person in [&mut alice, &mut carol, &mut dave] {
            person.sync(&world).await;
            assert_eq!(texts(person), ["to four"]);
            assert_eq!(classes(person), [""; 0]);
        }
    }
}

/// A device changes the team, and is revoked by the other one, which makes a change of the same
/// epoch before it has learned of the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_a_revoked_device_does_not_split_the_team() {
    for (is_first_visit, members) in [(true, 2), (false, 2), (true, 3)] {
        let world = World::new();
        let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
        let (mut carol, dave) = (world.member("carol").await, world.member("dave").await);
        let roster = group(&mut [&mut alice, &mut bob], &[]);
        let id = *roster.id();
        carol.knows(&alice, "alice");
        if is_first_visit {
            alice.sync(&world).await;
            bob.sync(&world).await;
        }
        let mut lost = second_device(&world, &alice, "lost");
        lost.join(&world).await;
        alice.record = lost.record.clone();
        import(&lost, &roster);
        change(&lost, None, Some(member(2, &carol)));
        lost.sync(&world).await;
        for person in [&mut bob, &mut carol] {
            person.sync(&world).await;
        }
        revoke(&world, &mut alice, 2).await;
        let added = if members == 2 { &carol } else { &dave };
        change(&alice, None, Some(member(members, added)));
        let report = alice.sync(&world).await;
        let replaced: Vec<_> = report.replaced.iter().map(|it| it.conversation).collect();
        assert_eq!(replaced, [Conversation::Group(id)], "{report:?}");
        write(&mut alice, &id, "to all");
        write(&mut bob, &id, "of bob");
        let mut shown = Vec::new();
        for _ in 0..3 {
            for person in [&mut alice, &mut bob, &mut carol] {
                person.sync(&world).await;
                shown.extend(texts(person));
            }
        }
        shown.sort();
        assert_eq!(shown, ["of bob", "of bob", "to all", "to all"]);
        let current = |person: &Person| person.home.groups().current(&name("team")).unwrap();
        assert_eq!(current(&alice), current(&bob));
        assert_eq!(current(&carol), current(&bob));
    }
}

/// A team whose owner goes: the next owner changes it, and the former one can leave.
#[tokio::test(flavor = "multi_thread")]
async fn a_team_is_handed_on() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let (mut carol, mut dave) = (world.member("carol").await, world.member("dave").await);
    let id = *group(&mut [&mut alice, &mut bob, &mut carol], &[]).id();
    let to = Conversation::Group(id);
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.hand_on(name("m1")));
    messages::leave(&mut alice.engine, &alice.home, &to).unwrap();
    alice.sync(&world).await;
    let owner = bob.identity;
    for person in [&mut bob, &mut carol] {
        person.sync(&world).await;
        assert_eq!(*person.home.groups().current(&name("team")).unwrap().owner(), owner);
    }
    let mut changes = RosterChanges::new();
    change_as(&bob, changes.remove(name("m0")).add(member(4, &dave)).rename(name("new")));
    dave.knows(&bob, "bob");
    write(&mut bob, &id, "by the next owner");
    bob.sync(&world).await;
    for person in [&mut carol, &mut dave] {
        person.sync(&world).await;
        assert_eq!(texts(person), ["by the next owner"]);
    }
    assert_eq!(dave.home.groups().list().unwrap(), [name("new")]);
    assert_eq!(alice.sync(&world).await.received, 0);
}

/// In a large team one device a day renews its keys, and each has its turn.
#[tokio::test(flavor = "multi_thread")]
async fn keys_in_a_large_team_are_renewed_in_turns() {
    const DAY: u64 = 24 * 3_600_000;
    let world = World::new();
    let mut people = Vec::new();
    for at in 0..11 {
        people.push(world.member(&format!("p{at}")).await);
    }
    let mut all: Vec<_> = people.iter_mut().collect();
    let id = *group(&mut all, &[]).id();
    let alice = &mut people[0];
    write(alice, &id, "to all");
    alice.sync(&world).await;
    let to = Conversation::Group(id);
    let [(group, _)]: [_; 1] = groups_of(alice, &to).try_into().unwrap();
    let mut epoch = alice.engine.group(&group).unwrap().unwrap().epoch;
    for (renewed, changed, is_due) in
        [(12, 2, true), (2, 2, false), (12, 0, false), (0, 12, false), (400, 1, true)]
    {
        set_times(alice, &to, now() - renewed * DAY - 1, now() - changed * DAY);
        write(alice, &id, "again");
        alice.sync(&world).await;
        epoch += u64::from(is_due);
        let present = alice.engine.group(&group).unwrap().unwrap().epoch;
        assert_eq!(present, epoch, "{renewed} {changed}");
    }
}

/// Sets when this device renewed its keys in the groups of a conversation, and their last commits.
fn set_times(person: &mut Person, conversation: &Conversation, renewed: u64, changed: u64) {
    let name = name_of(conversation);
    let set = person.engine.transaction(|it| {
        let mut value = it.record(GROUPS, &name)?.unwrap().to_vec();
        for group in value[16..].chunks_mut(GROUP_LEN) {
            group[24..32].copy_from_slice(&renewed.to_le_bytes());
            group[51..59].copy_from_slice(&changed.to_le_bytes());
        }
        it.put_record(GROUPS, &name, &value)
    });
    set.unwrap();
}

#[tokio::test]
async fn a_visit_tells_what_others_changed() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let id = *group(&mut [&mut alice, &mut bob], &[]).id();
    for _ in 0..2 {
        alice.sync(&world).await;
        bob.sync(&world).await;
    }
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.appoint(name("m1")));
    assert_eq!(alice.sync(&world).await.team_changes, [], "she made it");
    let report = bob.sync(&world).await;
    let [appointed] = &report.team_changes[..] else { panic!("{report:?}") };
    assert_eq!(appointed.team, Conversation::Group(id));
    assert_eq!(appointed.by, Some(*alice.root.public().ed25519()));
    let person = *bob.root.public().ed25519();
    let kind = TeamChangeKind::Appointed { person, name: "m1".to_owned() };
    assert_eq!(appointed.kind, kind);
    assert_eq!(bob.sync(&world).await.team_changes, []);

    // Of two changes that come at once it is not known who signed the first one.
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.dismiss(name("m1")));
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.rename(name("crew")));
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    let renamed = TeamChangeKind::Renamed { from: "team".to_owned(), to: "crew".to_owned() };
    let dismissed = TeamChangeKind::Dismissed { person, name: "m1".to_owned() };
    let found: Vec<_> = report.team_changes.iter().map(|it| (it.by, it.kind.clone())).collect();
    assert_eq!(found, [(None, renamed), (None, dismissed)]);
    // As a program reads it.
    let line = serde_json::to_string(&report).unwrap();
    assert!(line.contains(r#""by":null,"kind":"renamed","from":"team","to":"crew""#), "{line}");
    let read: SyncReport = serde_json::from_str(&line).unwrap();
    assert_eq!(read.team_changes, report.team_changes);
}
