//! Tests that the state in memory equals the state in the store.

use endseal_nostr::key::PublicKey;
use endseal_signer::limit::{KEPT_ENDED, KEPT_SEEN, MAX_APPS, MAX_EVENTS, MAX_RULES};
use endseal_signer::{
    App, AppState, BoundedText, LoadError, LogEntry, LogVerdict, Matter, OpenSignerError,
    SignerStore, State, StateError, StateLimit, StateTransaction,
};
use endseal_store::{OpenOptions, StoreError, WriteTransaction};

use crate::world::{
    NOW, PASSPHRASE, World, connect_secret, invitation, public_key, rule, secret_key, user_key,
};

/// Returns all content of a state as bytes, for comparisons.
fn content(state: &State) -> Vec<Vec<u8>> {
    let mut all = vec![state.settings().to_bytes().to_vec(), state.head().to_bytes().to_vec()];
    all.extend(state.users().map(|user| user.to_bytes().to_vec()));
    for app in state.apps() {
        all.push(app.app().to_bytes().to_vec());
        all.extend(app.rules().map(|rule| rule.to_bytes().to_vec()));
    }
    let mut seen: Vec<_> = state
        .events()
        .map(|event| format!("{event:?}").into_bytes())
        .chain(state.requests().map(|request| format!("{request:?}").into_bytes()))
        .collect();
    seen.sort();
    all.extend(seen);
    all
}

/// Notes an event and logs the decision on its request.
fn decide(transaction: &mut StateTransaction<'_>, id: [u8; 32], verdict: LogVerdict, time: u64) {
    assert!(transaction.note_event(id, time, 1).unwrap());
    let mut entry = LogEntry::new(Matter::Request, time);
    (entry.app, entry.verdict, entry.request) = (1, verdict, DIGEST);
    (entry.carrier, entry.created_at) = (id, time);
    transaction.append(entry).unwrap();
}

const DIGEST: [u8; 32] = [7; 32];

#[test]
fn state_survives_reopening() {
    let (world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    transaction.set_relays(vec![BoundedText::new("wss://relay.example.com").unwrap()]).unwrap();
    let mut names = Vec::new();
    for number in 1..=3 {
        let mut app = invitation(number);
        app.name = BoundedText::cut("phone");
        names.push(app.record_name());
        transaction.add_app(app).unwrap();
        for rule_number in 1..=number {
            transaction.put_rule(&names[names.len() - 1], rule(rule_number, 0)).unwrap();
        }
    }
    let client = public_key(7);
    transaction.update_app(&names[0], |app| app.pair(client)).unwrap().unwrap();
    transaction.put_rule(&names[2], rule(2, 5)).unwrap();
    assert!(transaction.remove_rule(&names[2], 1).unwrap());
    assert!(!transaction.remove_rule(&names[2], 1).unwrap());
    transaction.remove_app(&names[1]).unwrap();
    decide(&mut transaction, [1; 32], LogVerdict::Denied, NOW);
    decide(&mut transaction, [2; 32], LogVerdict::Allowed, NOW + 1);
    assert!(!transaction.note_event([1; 32], NOW, 1).unwrap());
    transaction.append(LogEntry::new(Matter::AppConnected, NOW)).unwrap();
    transaction.commit().unwrap();

    let before = content(signer.state());
    drop(signer);
    let mut signer = world.open();
    assert_eq!(content(signer.state()), before);
    let state = signer.state();
    assert_eq!(state.settings().next_app, 4);
    assert_eq!((state.apps().len(), state.users().len()), (2, 1));
    let first = state.app(&names[0]).unwrap();
    assert_eq!(first.app().state(), &AppState::Paired { client });
    assert_eq!(first.app().name.as_str(), "phone");
    assert_eq!(first.rules().len(), 1);
    assert!(state.app(&names[1]).is_none());
    let numbers: Vec<u32> = state.app(&names[2]).unwrap().rules().map(|it| it.number()).collect();
    assert_eq!(numbers, [2, 3]);
    assert_eq!(state.app(&names[2]).unwrap().rule(2), Some(&rule(2, 5)));
    assert!(state.has_event(&[1; 32]) && state.has_event(&[2; 32]) && !state.has_event(&[3; 32]));
    let decision = state.request(1, &DIGEST).unwrap();
    assert_eq!((decision.verdict, decision.time, decision.line), (LogVerdict::Allowed, NOW + 1, 2));
    assert_eq!((state.request(2, &DIGEST), state.request(1, &[8; 32])), (None, None));

    // The content is the same after it is loaded again.
    signer.recover().unwrap();
    assert_eq!(content(signer.state()), before);
}

#[test]
fn a_change_that_was_not_committed_is_not_believed() {
    let (_world, mut signer) = World::with_user();
    let before = content(signer.state());
    // A transaction without a change does not make the state stale.
    drop(signer.begin().unwrap());
    assert!(!signer.is_stale());
    let mut transaction = signer.begin().unwrap();
    transaction.add_app(invitation(1)).unwrap();
    drop(transaction);
    assert!(signer.is_stale());
    assert!(matches!(signer.begin().err(), Some(StateError::Stale)));
    signer.recover().unwrap();
    assert_eq!(content(signer.state()), before);
    let mut transaction = signer.begin().unwrap();
    transaction.add_app(invitation(1)).unwrap();
    transaction.commit().unwrap();
    assert!(!signer.is_stale());
}

#[test]
fn a_refusal_changes_nothing() {
    let (_world, mut signer) = World::with_user();
    let before = content(signer.state());
    let mut transaction = signer.begin().unwrap();
    let no_one = [9; 32];
    let foreign = App::invite(1, public_key(9), secret_key(2_000), &connect_secret(), NOW, NOW);
    let relays = vec![BoundedText::cut("wss://a"); 9];
    for (refused, expected) in [
        (transaction.add_app(invitation(2)), "AppNumber"),
        (transaction.add_app(invitation(0)), "AppNumber"),
        (transaction.add_app(foreign), "UnknownUser"),
        (transaction.add_user(crate::world::user()), "UserExists"),
        (transaction.remove_app(&no_one), "UnknownApp"),
        (transaction.update_app(&no_one, |_| ()), "UnknownApp"),
        (transaction.put_rule(&no_one, rule(1, 0)), "UnknownApp"),
        (transaction.remove_rule(&no_one, 1).map(drop), "UnknownApp"),
        (transaction.note_event([1; 32], 0, 1).map(drop), "Floor"),
        (transaction.set_relays(relays), "Limit(Relays)"),
    ] {
        assert_eq!(format!("{:?}", refused.unwrap_err()), expected);
    }
    drop(transaction);
    assert!(!signer.is_stale());
    assert_eq!(content(signer.state()), before);
}

#[test]
fn an_app_takes_the_next_number_and_a_transport_key_of_its_own() {
    let (_world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    transaction.add_app(invitation(1)).unwrap();
    let secret = connect_secret();
    let again = App::invite(2, user_key(), secret_key(1_001), &secret, NOW, NOW);
    assert!(matches!(transaction.add_app(again), Err(StateError::AppNumber)));
    // The number of a removed app is not used again.
    transaction.remove_app(&invitation(1).record_name()).unwrap();
    assert!(matches!(transaction.add_app(invitation(1)), Err(StateError::AppNumber)));
    let client = public_key(7);
    let app = App::connect(2, user_key(), secret_key(1_001), &secret, NOW, client);
    assert_eq!(app.client(), Some(&client));
    transaction.add_app(app).unwrap();
}

#[test]
fn pruning_removes_what_is_old_and_raises_the_floor() {
    let (world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    for (id, age) in [(1, KEPT_SEEN + 1), (2, KEPT_SEEN), (3, KEPT_SEEN + 50)] {
        assert!(transaction.note_event([id; 32], NOW - age, 1).unwrap());
        let mut entry = LogEntry::new(Matter::Request, NOW - age);
        (entry.app, entry.request, entry.carrier) = (1, [id; 32], [id; 32]);
        entry.created_at = NOW - age;
        transaction.append(entry).unwrap();
    }
    // This event has no log line, so a restart forgets it.
    assert!(transaction.note_event([5; 32], NOW, 1).unwrap());
    // Apps 1 to 3 ended long ago: by revocation, by expiry without a client, and by expiry of the
    // invitation. App 4 ended too recently, 5 and 6 have not ended, and 7 expired while paired.
    let ends = [NOW - KEPT_ENDED - 1, NOW - KEPT_ENDED];
    for number in 1..=7 {
        let transport = secret_key(1_000 + number);
        let until = if number == 3 { ends[0] } else { NOW };
        let mut app = App::invite(number, user_key(), transport, &connect_secret(), 1, until);
        match number {
            1 => assert!(app.revoke(ends[0])),
            2 => app.expires = ends[0],
            4 => assert!(app.revoke(ends[1])),
            5 => app.pair(public_key(7)).unwrap(),
            7 => {
                app.pair(public_key(7)).unwrap();
                app.expires = ends[0];
            }
            _ => {}
        }
        let name = app.record_name();
        transaction.add_app(app).unwrap();
        transaction.put_rule(&name, rule(1, 0)).unwrap();
    }
    let expired = transaction.prune(NOW).unwrap();
    assert_eq!((expired.events, expired.requests, expired.apps), (2, 2, 3));
    assert_eq!(transaction.settings().first_line, 2);
    transaction.commit().unwrap();
    assert!(signer.state().has_event(&[5; 32]));
    signer.recover().unwrap();
    assert!(!signer.state().has_event(&[5; 32]));
    let before = content(signer.state());
    drop(signer);
    let mut signer = world.open();
    assert_eq!(content(signer.state()), before);
    assert!(signer.state().has_event(&[2; 32]) && signer.state().events().len() == 1);
    assert!(signer.state().request(1, &[2; 32]).is_some());
    let mut left: Vec<u32> = signer.state().apps().map(|app| app.app().number()).collect();
    left.sort_unstable();
    assert_eq!(left, [4, 5, 6, 7]);
    assert_eq!(signer.state().settings().floor, NOW - KEPT_SEEN - 1);

    // If the clock goes back, forgotten events are still refused.
    let mut transaction = signer.begin().unwrap();
    for (id, age) in [(1, KEPT_SEEN + 1), (3, KEPT_SEEN + 50)] {
        let noted = transaction.note_event([id; 32], NOW - age, 1);
        assert!(matches!(noted, Err(StateError::Floor)));
    }
    assert!(transaction.note_event([4; 32], NOW - KEPT_SEEN, 1).unwrap());
    // The floor never decreases.
    transaction.prune(0).unwrap();
    assert_eq!(transaction.settings().floor, NOW - KEPT_SEEN - 1);
}

#[test]
fn more_than_the_limits_is_refused() {
    let (_world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    for number in 1..=u32::try_from(MAX_APPS).unwrap() {
        transaction.add_app(invitation(number)).unwrap();
    }
    let next = invitation(u32::try_from(MAX_APPS).unwrap() + 1);
    assert!(matches!(transaction.add_app(next), Err(StateError::Limit(StateLimit::Apps))));
    let name = invitation(1).record_name();
    for number in 1..=u32::try_from(MAX_RULES).unwrap() {
        transaction.put_rule(&name, rule(number, 0)).unwrap();
    }
    let next = rule(u32::try_from(MAX_RULES).unwrap() + 1, 0);
    let refused = transaction.put_rule(&name, next);
    assert!(matches!(refused, Err(StateError::Limit(StateLimit::Rules))));
    // An existing rule can still be replaced.
    transaction.put_rule(&name, rule(1, 1)).unwrap();
    let id = |number: u32| {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&number.to_le_bytes());
        id
    };
    let most = u32::try_from(MAX_EVENTS).unwrap();
    for number in 0..most {
        assert!(transaction.note_event(id(number), NOW, number).unwrap());
    }
    let refused = transaction.note_event(id(most), NOW, u32::MAX);
    assert!(matches!(refused, Err(StateError::Limit(StateLimit::Events))));
    assert!(!transaction.note_event(id(0), NOW, 1).unwrap());
}

/// Changes records by hand, opens the signer and returns the error.
fn reopened(change: impl FnOnce(&WriteTransaction<'_>) -> Result<(), StoreError>) -> LoadError {
    let (world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    transaction.add_app(invitation(1)).unwrap();
    transaction.put_rule(&invitation(1).record_name(), rule(1, 0)).unwrap();
    transaction.commit().unwrap();
    drop(signer);
    let mut store = world.store();
    let transaction = store.begin().unwrap();
    change(&transaction).unwrap();
    transaction.commit().unwrap();
    store.close().unwrap();
    match SignerStore::open(&world.path(), PASSPHRASE, OpenOptions::new()) {
        Err(OpenSignerError::Load(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it opens"),
    }
}

#[test]
fn records_that_contradict_each_other_are_refused() {
    let app = invitation(1).record_name();
    let user = PublicKey::to_bytes(&user_key());
    for error in [
        reopened(|store| store.remove_record(1, &[]).map(drop)),
        reopened(|store| store.remove_record(2, &user).map(drop)),
        reopened(|store| store.remove_record(3, &app).map(drop)),
        reopened(|store| {
            let other = App::invite(1, user_key(), secret_key(9), &connect_secret(), NOW, NOW);
            store.put_record(3, &other.record_name(), &other.to_bytes())
        }),
        reopened(|store| {
            let other = App::invite(2, user_key(), secret_key(9), &connect_secret(), NOW, NOW);
            store.put_record(3, &other.record_name(), &other.to_bytes())
        }),
        reopened(|store| {
            // The first line to remember is behind the next line.
            let mut settings = store.record(1, &[])?.unwrap();
            settings[9] = 2;
            store.put_record(1, &[], &settings)
        }),
        reopened(|store| store.put_record(5, b"x", b"x")),
    ] {
        assert!(matches!(error, LoadError::Inconsistent(_)), "{error:?}");
    }
    for kind in 2..=4 {
        let error = reopened(|store| store.put_record(kind, b"x", b"x"));
        assert!(matches!(error, LoadError::Record(it, _) if it == kind), "{error:?}");
        let error = reopened(|store| store.put_record(kind, &[], b"x"));
        assert!(matches!(error, LoadError::Record(it, _) if it == kind), "{error:?}");
    }
}
