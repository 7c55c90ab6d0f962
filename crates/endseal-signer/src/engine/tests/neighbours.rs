//! Tests of apps that share an address, the user's key, and of what one app can do to others.

use super::*;
use crate::control::SecretText;
use crate::limit::MAX_EVENTS;

const ACK: &str = "ack";

fn invite(world: &mut World, name: &str, rules: &str) -> String {
    let command = Command::Invite {
        name: name.to_owned(),
        user: None,
        grants: allow(rules),
        lifetime: None,
        invitation: 3_600,
        relays: Vec::new(),
        as_user_key: true,
    };
    let Ok(Reply::Invited { uri: Some(uri), .. }) = world.command(command) else { panic!() };
    uri.expose_secret().to_owned()
}

fn revoke(world: &mut World, app: &str) {
    assert!(world.command(Command::Revoke { app: app.to_owned() }).is_ok());
}

fn states(world: &mut World) -> Vec<crate::control::AppState> {
    world.apps().into_iter().map(|it| it.state).collect()
}

/// Payload of an event, as a client at the user's key sees it on a relay.
fn content(event: &str) -> String {
    let event: serde_json::Value = serde_json::from_str(event).unwrap();
    event["content"].as_str().unwrap().to_owned()
}

#[test]
fn no_neighbour_reads_what_others_send_to_the_signer() {
    let mut world = World::new();
    let rules = "nip44_decrypt,nip44_encrypt,sign:1";
    let spy = Client::with_key(&invite(&mut world, "spy", rules), 20);
    let event = spy.connect(world.now);
    assert_eq!(world.send(&spy, &event), [Answer::result(ACK)]);
    let editor = Client::with_key(&invite(&mut world, "editor", "sign:1"), 21);
    let connect = editor.connect(world.now);
    // Before the editor is paired, its secret is in a text that anyone on the relay sees.
    let read = |world: &mut World, payload: &str| {
        let peer = editor.public_hex();
        world.call(&spy, "nip44_decrypt", &[&peer, payload])
    };
    let failed = Answer::error("decryption failed");
    assert_eq!(read(&mut world, &content(&connect)), failed);
    assert_eq!(world.send(&editor, &connect), [Answer::result(ACK)]);
    let ping = editor.request(world.now, "r1", "ping", &[]);
    let denied = Answer::error("not allowed");
    assert_eq!(read(&mut world, &content(&ping)), denied);
    let forged = r#"{"id":"r1","result":"x"}"#;
    assert_eq!(world.call(&spy, "nip44_encrypt", &[&editor.public_hex(), forged]), denied);
    // Others are written to and read as before.
    let friend = Client::new(30, spy.signer, "");
    let sealed = content(&friend.event(world.now, "at noon"));
    let read = world.call(&spy, "nip44_decrypt", &[&friend.public_hex(), &sealed]);
    assert_eq!(read, Answer::result("at noon"));
    let sealed = content(&friend.event(world.now, r#"{"id":1}"#));
    let read = world.call(&spy, "nip44_decrypt", &[&friend.public_hex(), &sealed]);
    assert_eq!(read, Answer::result(r#"{"id":1}"#));
}

#[test]
fn ended_invitations_do_not_stand_before_others() {
    let mut world = World::new();
    for at in 0..4 {
        let name = format!("ended {at}");
        invite(&mut world, &name, "sign:1");
        revoke(&mut world, &name);
    }
    for at in 0..4 {
        let uri = invite(&mut world, &format!("open {at}"), "sign:1");
        let client = Client::with_key(&uri, 40 + at);
        let event = client.connect(world.now);
        assert_eq!(world.send(&client, &event), [Answer::result(ACK)], "{at}");
    }
    // One that has expired is none, even by its secret.
    let uri = invite(&mut world, "late", "sign:1");
    world.now += 3_600;
    invite(&mut world, "waits", "sign:1");
    let late = Client::with_key(&uri, 50);
    let event = late.connect(world.now);
    assert_eq!(world.send(&late, &event), []);
}

#[test]
fn a_client_connects_to_the_app_whose_secret_it_names() {
    let mut world = World::new();
    let first = Client::with_key(&invite(&mut world, "first", "sign:1"), 20);
    let event = first.connect(world.now);
    assert_eq!(world.send(&first, &event), [Answer::result(ACK)]);
    revoke(&mut world, "first");
    let second = Client::with_key(&invite(&mut world, "second", "sign:7"), 20);
    let event = second.connect(world.now);
    assert_eq!(world.send(&second, &event), [Answer::result(ACK)]);
    assert!(world.call(&second, "sign_event", &[&note(7, "x")]).result.is_some());
    // A further invitation to the same client takes the place of the present app.
    let third = Client::with_key(&invite(&mut world, "third", "sign:4"), 20);
    let event = third.connect(world.now);
    assert_eq!(world.send(&third, &event), [Answer::result(ACK)]);
    use crate::control::AppState::{LoggedOut, Paired, Revoked};
    assert_eq!(states(&mut world), [Revoked, LoggedOut, Paired]);
    let mut world = world.restarted();
    assert!(world.call(&third, "sign_event", &[&note(4, "x")]).result.is_some());
    let event = third.request(world.now, "r2", "sign_event", &[&note(7, "x")]);
    assert_eq!(world.send(&third, &event)[0].error.as_deref(), Some("not allowed"));
    // A URI with its key as the client's is another app's claim.
    let uri = format!(
        "nostrconnect://{}?relay=wss%3A%2F%2Fx.example&secret=s&name=thief",
        third.public_hex()
    );
    let command = |as_user_key| Command::Connect {
        uri: SecretText::new(uri.clone()),
        name: None,
        user: None,
        grants: allow("sign:1"),
        lifetime: None,
        allow_private: false,
        as_user_key,
        grant_requested: false,
    };
    let Err(CommandError::Invalid(cause)) = world.command(command(true)) else { panic!() };
    assert_eq!(cause, "app 3 is connected with this client already: revoke it first");
    assert!(world.command(command(false)).is_ok());
}

#[test]
fn a_users_key_logs_in_to_no_relay_of_a_clients_choice() {
    let mut world = World::new();
    let client = Client::new(20, *world.user.public_key(), "");
    for (name, as_user_key) in [("own", false), ("shared", true)] {
        let uri = format!(
            "nostrconnect://{}?relay=wss%3A%2F%2Ftheir.example&secret=s&name={name}",
            client.public_hex()
        );
        let command = Command::Connect {
            uri: SecretText::new(uri),
            name: None,
            user: None,
            grants: Vec::new(),
            lifetime: None,
            allow_private: false,
            as_user_key,
            grant_requested: false,
        };
        assert!(world.command(command).is_ok());
    }
    let keys: Vec<_> = world.engine.store.state().apps().map(|it| it.app().address()).collect();
    let user = world.user.public_key().to_bytes();
    let mut authors = |relay: &str| {
        let address = endseal_relay::address::Address::parse(relay).unwrap();
        let events = world.engine.authenticate(&address, &keys, "challenge", world.now);
        let author = |event: &endseal_relay::auth::SignedEvent| {
            let parsed = endseal_nostr::event::Event::parse(&event.json).unwrap();
            parsed.verify().unwrap().to_bytes()
        };
        events.iter().map(author).collect::<Vec<_>>()
    };
    assert_eq!(authors(RELAY).len(), 2);
    let foreign = authors("wss://their.example/");
    assert_eq!((foreign.len(), foreign.contains(&user)), (1, false));
}

#[test]
fn wishes_for_kinds_that_act_elsewhere_are_asked_for_each_time() {
    let mut world = World::new();
    let uri = world.invite("web", Vec::new());
    let client = Client::of_bunker(&uri);
    let wishes = [
        "sign_event:27235:https://wallet.example",
        "sign_event:22242:wss://inbox.example",
        "sign_event:24242",
        "sign_event:13",
        "sign_event:1",
    ];
    let params = ["", client.secret.as_str(), &wishes.join(",")];
    let event = client.request(world.now, "r1", "connect", &params);
    assert_eq!(world.send(&client, &event), [Answer::result(ACK)]);
    // A person reads places, not their digests.
    let shown = world.apps().remove(0).requested;
    assert_eq!(shown[..2], wishes[..2]);
    let requested = crate::control::Requested { rules: shown, lifetime: None };
    let command = Command::GrantRequested { app: "web".to_owned(), requested };
    assert!(world.command(command).is_ok());
    let effects: Vec<_> = world.rules("web").iter().map(|it| it.effect).collect();
    let (ask, allow) = (GrantEffect::Ask, GrantEffect::Allow);
    assert_eq!(effects, [ask, ask, ask, ask, allow]);
}

#[test]
fn wishes_are_cut_between_two_of_them() {
    let mut world = World::new();
    let uri = world.invite("web", Vec::new());
    let client = Client::of_bunker(&uri);
    // Cut within the last kind, this would be a wish for kind 1.
    let mut wishes = "ping,".repeat(201);
    wishes.push_str("nip44_encrypt,");
    wishes.truncate(1_012);
    let wishes = format!("{wishes}sign_event:1111");
    assert_eq!(&wishes[..1_024], format!("{}sign_event:1", &wishes[..1_012]));
    let params = ["", client.secret.as_str(), &wishes];
    let event = client.request(world.now, "r1", "connect", &params);
    assert_eq!(world.send(&client, &event), [Answer::result(ACK)]);
    assert!(world.apps()[0].requested.iter().all(|it| it != "sign:1"), "{:?}", world.apps()[0]);
}

#[test]
fn a_request_that_waited_asks_again_after_a_restart() {
    let mut world = World::new();
    let client = world.paired("web", vec![grant(GrantEffect::Ask, "sign")]);
    let event = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    assert_eq!(world.send(&client, &event), []);
    let mut world = world.restarted();
    let again = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    assert_eq!(world.send(&client, &again), []);
    assert_eq!(world.status().waiting, 1);
}

#[test]
fn conversations_of_users_are_wiped_with_their_keys() {
    let mut world = World::new();
    let client = world.paired("web", allow("nip44_encrypt"));
    let peer = client.public_hex();
    assert!(world.call(&client, "nip44_encrypt", &[&peer, "x"]).result.is_some());
    let is_kept = |world: &mut World| {
        let mut is_made = false;
        let (user, peer) = (&world.user, client.key.public_key());
        world.engine.parts.user_conversations.get_or_insert_with(user.public_key(), peer, || {
            is_made = true;
            endseal_nostr::nip44::Conversation::new(user.secret_key(), peer)
        });
        !is_made
    };
    assert!(is_kept(&mut world));
    assert!(world.command(Command::Lock).is_ok());
    assert!(!is_kept(&mut world));
}

#[test]
fn events_of_one_app_leave_others_their_share() {
    let mut world = World::new();
    let eager = world.paired("eager", Vec::new());
    let victim = world.paired("victim", allow("sign"));
    let mut transaction = world.engine.store.begin().unwrap();
    let mut taken = 0_usize;
    for number in 0..MAX_EVENTS {
        let mut id = [0xee; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        taken += usize::from(transaction.note_event(id, NOW + 300, 1).is_ok());
    }
    transaction.commit().unwrap();
    assert!(taken <= MAX_EVENTS / 2, "{taken}");
    let event = eager.request(world.now, "r1", "ping", &[]);
    let busy = Answer::error("too many requests wait for a decision");
    assert_eq!(world.send(&eager, &event), [busy]);
    assert!(world.call(&victim, "sign_event", &[&note(1, "x")]).result.is_some());
}

#[test]
fn a_stale_event_has_one_error_however_often_a_relay_repeats_it() {
    let mut world = World::new();
    let client = world.paired("web", Vec::new());
    let stale = client.request(world.now - 400, "r1", "ping", &[]);
    let mut sent = 0;
    for _ in 0..200 {
        sent += world.send(&client, &stale).len();
    }
    assert_eq!(sent, 1);
    for at in 0..200 {
        let event = client.request(world.now - 400, &at.to_string(), "ping", &[]);
        sent += world.send(&client, &event).len();
    }
    assert!(sent <= 100, "{sent} errors");
    // Requests that can be decided are answered all the same.
    assert_eq!(world.call(&client, "ping", &[]), Answer::result("pong"));
}

#[test]
fn forged_events_at_an_invitation_leave_others_theirs() {
    let mut world = World::new();
    let uri = world.invite("flooded", Vec::new());
    let flooded = Client::of_bunker(&uri);
    let other = Client::with_key(&world.invite("other", Vec::new()), 12);
    world.engine.parts.clock = super::super::quota::Clock::Stopped(std::time::Instant::now());
    let event = flooded.request(world.now, "r1", "ping", &[]);
    let forged = swap_last_digit(&event);
    for _ in 0..3_200 {
        assert_eq!(world.send(&flooded, &forged), []);
    }
    let count = |world: &mut World, cause: &str| {
        let ignored = world.status().ignored;
        ignored.iter().find(|it| it.cause == cause).map_or(0, |it| it.count)
    };
    assert!(count(&mut world, "flood") > 0, "{:?}", world.status().ignored);
    let event = other.connect(world.now);
    assert_eq!(world.send(&other, &event), [Answer::result(ACK)]);
}

/// Returns the event with another signature.
fn swap_last_digit(event: &str) -> String {
    let at = event.find("\"sig\":\"").unwrap() + 10;
    let digit = if &event[at..=at] == "0" { "1" } else { "0" };
    format!("{}{digit}{}", &event[..at], &event[at + 1..])
}

#[test]
fn an_approval_grants_what_was_shown_with_the_request() {
    let mut world = World::new();
    let uri = world.invite("web", vec![grant(GrantEffect::Ask, "sign")]);
    let client = Client::of_bunker(&uri);
    let connect = |world: &mut World, id: &str, wishes: &str| {
        let params = ["", client.secret.as_str(), wishes];
        let event = client.request(world.now, id, "connect", &params);
        assert_eq!(world.send(&client, &event)[0].result.as_deref(), Some(ACK));
    };
    connect(&mut world, "r1", "sign_event:1");
    let event = client.request(world.now, "r2", "sign_event", &[&note(1, "x")]);
    assert_eq!(world.send(&client, &event), []);
    let Ok(Reply::Waiting(shown)) = world.command(Command::Waiting { id: None }) else { panic!() };
    let requested = |rules: &[String]| {
        Some(crate::control::Requested { rules: rules.to_vec(), lifetime: Some(60) })
    };
    let approve = |requested| Command::Approve { id: shown[0].id, remember: None, requested };
    connect(&mut world, "r3", "sign_event,nip44_decrypt");
    let refused = world.command(approve(requested(&shown[0].requested)));
    assert_eq!(refused.err(), Some(CommandError::Asks));
    assert_eq!((world.rules("web").len(), world.status().waiting), (1, 1));
    connect(&mut world, "r4", "sign_event:1");
    assert!(world.command(approve(requested(&shown[0].requested))).is_ok());
    let rules: Vec<_> = world.rules("web").into_iter().map(|it| it.text).collect();
    assert_eq!(rules, ["sign", "sign:1"]);
    assert_eq!(world.verdicts(), ["asks", "allowed"]);
}
