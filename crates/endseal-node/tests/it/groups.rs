//! Groups, including those of a dishonest owner.

use endseal_crypto::ed25519;
use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{OpenError, Opener, Policy, Recipients, Sealer, Suite};
use endseal_keyring::roster::{
    GroupId, Member, OwnerOnly, RosterChainError, RosterChanges, SignRosterError,
};
use endseal_keyring::{Name, Roster};
use endseal_node::{GroupError, Home, ImportError, OWN_NAME, epoch_key};

use endseal_testing::Scratch;

fn identity() -> Identity {
    Identity::generate(&mut OsRandom).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn member(text: &str, identity: &Identity) -> Member {
    Member::new(name(text), identity.public().clone())
}

#[test]
fn every_epoch_has_a_key_of_its_own_for_its_members() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let lock = home.lock().unwrap();
    let [owner, bob, carol] = [identity(), identity(), identity()];
    let members = vec![member("owner", &owner), member("bob", &bob)];
    let first = home.groups().create(&owner, name("team"), members, &lock).unwrap();
    let mut changes = RosterChanges::new();
    changes.remove(name("bob")).add(member("carol", &carol));
    let second = home.groups().change(&owner, &name("team"), &changes, &lock).unwrap();
    let refused = |identity, roster| {
        matches!(epoch_key(identity, roster), Err(GroupError::EpochKey(OpenError::Authentication)))
    };
    assert!(epoch_key(&owner, &first).unwrap() == epoch_key(&bob, &first).unwrap());
    let (context, mut hybrid) = (first.context(), Policy::new().suites([Suite::X25519MlKem768]));
    let opened = Opener::new(&bob, &context).open(first.sealed_epoch_key(), &mut hybrid);
    assert!(opened.is_ok(), "each member has the key of the hybrid suite");
    assert!(epoch_key(&owner, &second).unwrap() == epoch_key(&carol, &second).unwrap());
    assert!(epoch_key(&owner, &first).unwrap() != epoch_key(&owner, &second).unwrap());
    assert!(refused(&bob, &second) && refused(&carol, &first));
    assert_eq!(home.groups().epochs(&name("team")).unwrap(), [1, 2]);
    assert_eq!(home.groups().current(&name("team")).unwrap(), second);
    assert_eq!(home.groups().epoch(&name("team"), 1).unwrap(), first);
    assert!(matches!(
        home.groups().create(&owner, name("team"), vec![member("owner", &owner)], &lock),
        Err(GroupError::Exists(_))
    ));
    assert!(matches!(
        home.groups().change(&bob, &name("team"), &changes, &lock),
        Err(GroupError::NotPermitted(_))
    ));
}

#[test]
fn two_histories_of_one_owner_are_seen() {
    let scratch = Scratch::new();
    let [owner_home, other_home, bob_home] =
        ["owner", "other", "bob"].map(|name| Home::create(&scratch.path(name)).unwrap());
    let (owner, bob) = (identity(), identity());
    let team = name("team");
    let members = vec![member("owner", &owner), member("bob", &bob)];
    let lock = owner_home.lock().unwrap();
    let first = owner_home.groups().create(&owner, team.clone(), members, &lock).unwrap();
    let other_lock = other_home.lock().unwrap();
    other_home.groups().import(first.as_bytes(), None, |_| true, &other_lock).unwrap();

    let one = RosterChanges::new();
    let mut two = RosterChanges::new();
    two.remove(name("bob"));
    let one = owner_home.groups().change(&owner, &team, &one, &lock).unwrap();
    let two = other_home.groups().change(&owner, &team, &two, &other_lock).unwrap();

    let lock = bob_home.lock().unwrap();
    let import = |roster: &Roster| {
        bob_home.groups().import(roster.as_bytes(), None, |_| true, &lock).map(|done| done.missing)
    };
    assert_eq!(import(&first).unwrap(), 0);
    assert_eq!(import(&one).unwrap(), 0);
    assert!(matches!(import(&two), Err(ImportError::Chain(RosterChainError::Fork))));
    assert!(matches!(import(&one), Err(ImportError::Chain(RosterChainError::Same))));
    assert!(matches!(import(&first), Err(ImportError::Chain(RosterChainError::Rollback { .. }))));
    assert_eq!(bob_home.groups().current(&team).unwrap(), one);
}

#[test]
fn a_group_is_known_by_its_id_under_every_name() {
    let scratch = Scratch::new();
    let [owner_home, reader] = ["owner", "reader"].map(|n| Home::create(&scratch.path(n)).unwrap());
    let (owner, bob) = (identity(), identity());
    let members = vec![member("owner", &owner), member("bob", &bob)];
    let lock = owner_home.lock().unwrap();
    let first = owner_home.groups().create(&owner, name("team"), members, &lock).unwrap();
    let mut changes = RosterChanges::new();
    changes.remove(name("bob"));
    let [second, third] = [(); 2].map(|()| {
        let changed = owner_home.groups().change(&owner, &name("team"), &changes, &lock).unwrap();
        changes = RosterChanges::new();
        changed
    });
    let lock = reader.lock().unwrap();
    let import = |roster: &Roster, as_name: Option<&str>| {
        let as_name = as_name.map(name);
        reader.groups().import(roster.as_bytes(), as_name, |_| true, &lock).map(|done| done.name)
    };
    assert_eq!(import(&second, Some("work")).unwrap(), name("work"));
    // The removed member presents an old roster, under the owner's name and under another one.
    for as_name in [None, Some("work")] {
        let old = import(&first, as_name);
        let rollback = matches!(old, Err(ImportError::Chain(RosterChainError::Rollback { .. })));
        assert!(rollback, "{as_name:?}: {old:?}");
    }
    for roster in [&first, &third] {
        let other = import(roster, Some("team"));
        assert!(
            matches!(&other, Err(ImportError::OtherName(n)) if *n == name("work")),
            "{other:?}"
        );
    }
    assert_eq!(import(&third, None).unwrap(), name("work"));
    assert_eq!(reader.groups().list().unwrap(), [name("work")]);
}

#[test]
fn two_groups_of_one_name_are_not_mixed() {
    let scratch = Scratch::new();
    let reader = Home::create(&scratch.path("reader")).unwrap();
    let lock = reader.lock().unwrap();
    let [first, second] = ["a", "b"].map(|path| {
        let home = Home::create(&scratch.path(path)).unwrap();
        let (owner, lock) = (identity(), home.lock().unwrap());
        home.groups().create(&owner, name("team"), vec![member("owner", &owner)], &lock).unwrap()
    });
    let import = |roster: &Roster, as_name: Option<&str>| {
        reader.groups().import(roster.as_bytes(), as_name.map(name), |_| true, &lock)
    };
    assert_eq!(import(&first, None).unwrap().name, name("team"));
    for as_name in [None, Some("team")] {
        let mixed = import(&second, as_name).map(|done| done.name);
        let is_refused =
            matches!(&mixed, Err(ImportError::Group(GroupError::Exists(n))) if *n == name("team"));
        assert!(is_refused, "{as_name:?}: {mixed:?}");
    }
    assert_eq!(reader.groups().current(&name("team")).unwrap(), first);
    assert_eq!(import(&second, Some("others")).unwrap().name, name("others"));
}

#[test]
fn no_group_gets_the_name_of_notes_to_oneself() {
    let scratch = Scratch::new();
    let [owner_home, reader, other] =
        ["owner", "reader", "other"].map(|n| Home::create(&scratch.path(n)).unwrap());
    let (owner, lock) = (identity(), owner_home.lock().unwrap());
    let groups = owner_home.groups();
    let create = |text: &str| groups.create(&owner, name(text), vec![member("a", &owner)], &lock);
    assert!(matches!(create(OWN_NAME), Err(GroupError::Reserved(_))));
    let first = create("team").unwrap();
    let renamed = groups.rename(&name("team"), &name(OWN_NAME), &lock);
    assert!(matches!(renamed, Err(GroupError::Reserved(_))));
    // Another program lets its owner choose the name in the roster.
    let mut changes = RosterChanges::new();
    changes.rename(name(OWN_NAME));
    let second = groups.change(&owner, &name("team"), &changes, &lock).unwrap();
    assert_eq!(second.group(), &name(OWN_NAME));
    let import = |home: &Home, roster: &Roster, as_name: Option<&str>| {
        let lock = home.lock().unwrap();
        let imported = home.groups().import(roster.as_bytes(), as_name.map(name), |_| true, &lock);
        imported.map(|done| done.name)
    };
    assert_eq!(import(&reader, &first, None).unwrap(), name("team"));
    assert_eq!(import(&reader, &second, None).unwrap(), name("team"));
    let refused = import(&other, &second, None);
    assert!(matches!(refused, Err(ImportError::Group(GroupError::Reserved(_)))), "{refused:?}");
    assert_eq!(import(&other, &second, Some("work")).unwrap(), name("work"));
}

#[test]
fn an_epoch_key_that_another_sealed_is_refused() {
    let (owner, mallory) = (identity(), identity());
    let id = GroupId::generate(&mut OsRandom, &owner, &name("team")).unwrap();
    let key = *owner.public().ed25519();
    let to = Recipients::from_identities([owner.public()]).unwrap();
    for (sealer, content, good) in
        [(&owner, &[7; 32][..], true), (&mallory, &[7; 32], false), (&owner, &[7; 31], false)]
    {
        let draft = Roster::create(name("team"), id, key, vec![member("owner", &owner)]).unwrap();
        let context = draft.context();
        let sealed = Sealer::new(sealer, &to, &context).seal(content, &mut OsRandom);
        let roster = draft.sign(&owner, &sealed.unwrap()).unwrap();
        assert_eq!(epoch_key(&owner, &roster).is_ok(), good);
    }
}

#[test]
fn a_group_of_an_unknown_owner_is_not_taken() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let lock = home.lock().unwrap();
    let owner = identity();
    let members = vec![member("owner", &owner)];
    let roster = home.groups().create(&owner, name("team"), members, &lock).unwrap();
    let other = Home::create(&scratch.path("other")).unwrap();
    let lock = other.lock().unwrap();
    let import = |trusted| other.groups().import(roster.as_bytes(), None, |_| trusted, &lock);
    assert!(matches!(import(false), Err(ImportError::UnknownOwner(_))));
    assert!(other.groups().list().unwrap().is_empty());
    assert_eq!(import(true).unwrap().name, name("team"));
    assert_eq!(other.groups().list().unwrap(), [name("team")]);
}

#[test]
fn admins_and_the_former_owner_seal_the_epochs_that_they_sign() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let lock = home.lock().unwrap();
    let [alice, bob, carol] = [identity(), identity(), identity()];
    let members = vec![member("alice", &alice), member("bob", &bob), member("carol", &carol)];
    home.groups().create(&alice, name("team"), members, &lock).unwrap();
    let change = |signer: &Identity, changes: &RosterChanges| {
        home.groups().change(signer, &name("team"), changes, &lock)
    };
    let plain = RosterChanges::new();
    assert!(matches!(change(&bob, &plain), Err(GroupError::NotPermitted(_))));
    change(&alice, RosterChanges::new().appoint(name("bob"))).unwrap();
    let by_admin = change(&bob, RosterChanges::new().rename(name("crew"))).unwrap();
    assert!(matches!(
        change(&bob, RosterChanges::new().hand_on(name("carol"))),
        Err(GroupError::Sign(SignRosterError::OwnerOnly(OwnerOnly::HandOn)))
    ));
    let handed_on = change(&alice, RosterChanges::new().hand_on(name("carol"))).unwrap();
    assert!(matches!(change(&alice, &plain), Err(GroupError::NotPermitted(_))));
    let by_next_owner = change(&carol, &plain).unwrap();
    for (roster, signer) in [(by_admin, &bob), (handed_on, &alice), (by_next_owner, &carol)] {
        assert_eq!(roster.signer(), signer.public().ed25519());
        assert!(epoch_key(&alice, &roster).unwrap() == epoch_key(&carol, &roster).unwrap());
    }
}

#[test]
fn a_group_handed_on_is_taken_from_the_former_owner_alone() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let (mallory, alice, lock) = (identity(), identity(), home.lock().unwrap());
    let members = vec![member("mallory", &mallory), member("alice", &alice)];
    home.groups().create(&mallory, name("team"), members, &lock).unwrap();
    let mut changes = RosterChanges::new();
    changes.hand_on(name("alice"));
    let roster = home.groups().change(&mallory, &name("team"), &changes, &lock).unwrap();
    let other = Home::create(&scratch.path("other")).unwrap();
    let lock = other.lock().unwrap();
    // Alice is a contact, but did not take part in this roster, which names her as the owner.
    let of_alice = |owner: &ed25519::PublicKey| owner == alice.public().ed25519();
    let refused = other.groups().import(roster.as_bytes(), None, of_alice, &lock);
    let key = mallory.public().ed25519();
    assert!(matches!(refused, Err(ImportError::UnknownOwner(owner)) if owner == *key));
    let of_mallory = |owner: &ed25519::PublicKey| owner == key;
    assert!(other.groups().import(roster.as_bytes(), None, of_mallory, &lock).is_ok());
}
