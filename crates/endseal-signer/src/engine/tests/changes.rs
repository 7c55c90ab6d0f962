//! Tests of commands that change apps, keys and the log of a signer, and of what URIs bring.

use super::*;
use crate::control::SecretText;

const ACK: &str = "ack";

fn uri_of(client: &Client, relays: &str, rest: &str) -> SecretText {
    SecretText::new(format!("nostrconnect://{}?{relays}&secret=s3cret{rest}", client.public_hex()))
}

fn connect(uri: SecretText, grant_requested: bool) -> Command {
    Command::Connect {
        uri,
        name: None,
        user: None,
        grants: Vec::new(),
        lifetime: Some(60),
        allow_private: false,
        as_user_key: false,
        grant_requested,
    }
}

#[test]
fn one_relay_that_can_be_used_suffices() {
    let mut world = World::new();
    let client = Client::new(20, *world.user.public_key(), "");
    let good = "relay=wss%3A%2F%2Ftheir.example";
    for (at, relays, refused, ignored) in [
        (1, "relay=ws%3A%2F%2Fumbrel.local&", &["ws://umbrel.local"][..], 0),
        (2, "relay=&relay=%zz&relay=https%3A%2F%2Fx&", &[], 3),
        (3, "relay=wss%3A%2F%2Fa%3A99999&", &["wss://a:99999"], 0),
    ] {
        let uri = uri_of(&client, &format!("{relays}{good}"), &format!("&name=web{at}"));
        let Ok(Reply::Invited { greeted, ignored_relays, .. }) = world.command(connect(uri, false))
        else {
            panic!("{relays}")
        };
        let named: Vec<_> = greeted.iter().map(|it| it.relay.as_str()).collect();
        assert!(greeted.iter().all(|it| it.failure.is_some()));
        assert_eq!((&named[..], ignored_relays), (refused, ignored));
        assert_eq!(world.apps().last().unwrap().relays, ["wss://their.example"]);
    }
    let none = uri_of(&client, "relay=ws%3A%2F%2Fumbrel.local", "&name=none");
    let Err(CommandError::Invalid(cause)) = world.command(connect(none, false)) else { panic!() };
    assert!(cause.starts_with("'ws://umbrel.local': "), "{cause}");
    let many: String = (0..9).map(|at| format!("relay=wss%3A%2F%2F{at}.example&")).collect();
    let uri = uri_of(&client, &many, "&name=many");
    let Ok(Reply::Invited { greeted, .. }) = world.command(connect(uri, false)) else { panic!() };
    assert_eq!(greeted.len(), 1);
    assert_eq!(world.apps().last().unwrap().relays.len(), 8);
    let nameless = world.command(connect(uri_of(&client, good, ""), false));
    let Err(CommandError::Invalid(cause)) = nameless else { panic!() };
    assert_eq!(cause, "the app has no name: give it one");
}

#[test]
fn what_a_uri_asks_for_is_granted_with_it_if_that_is_wanted() {
    let mut world = World::new();
    let client = Client::new(20, *world.user.public_key(), "");
    let relay = "relay=wss%3A%2F%2Ftheir.example";
    for (is_wanted, name) in [(false, "no"), (true, "yes")] {
        let rest = format!("&name={name}&perms=sign_event%3A1%2Csign_event%3A27235");
        world
            .command(connect(uri_of(&client, relay, &rest), is_wanted))
            .unwrap_or_else(|_| panic!());
        let app = world.apps().pop().unwrap();
        let rules: Vec<_> = app.rules.iter().map(|it| (it.effect, it.text.as_str())).collect();
        let both = [(GrantEffect::Allow, "sign:1"), (GrantEffect::Ask, "sign:27235")];
        assert_eq!(rules, if is_wanted { &both[..] } else { &[] });
        assert!(app.rules.iter().all(|it| it.expires == Some(world.now + 60)));
    }
}

#[test]
fn a_client_that_lost_its_key_is_invited_again_with_its_rules() {
    let mut world = World::new();
    let first = world.paired("web", allow("sign:1"));
    let reinvite = || Command::Reinvite { app: "web".to_owned(), invitation: 600 };
    let Ok(Reply::Invited { app, uri: Some(uri), .. }) = world.command(reinvite()) else {
        panic!()
    };
    assert_eq!(app, 1);
    // The lost key and the former secret are worth nothing from then on, after a restart too.
    let mut world = world.restarted();
    let event = first.request(world.now, "old", "sign_event", &[&note(1, "x")]);
    assert_eq!(world.send(&first, &event), []);
    let event = first.connect(world.now);
    assert_eq!(world.send(&first, &event), []);
    let second = Client::new(33, first.signer, &Client::of_bunker(uri.expose_secret()).secret);
    let event = second.connect(world.now);
    assert_eq!(world.send(&second, &event), [Answer::result(ACK)]);
    assert!(world.call(&second, "sign_event", &[&note(1, "x")]).result.is_some());
    let app = world.apps().remove(0);
    assert_eq!((app.number, app.rules.len()), (1, 1));
    // One that was revoked, too, but for one whose name another app has meanwhile.
    world.command(Command::Revoke { app: "web".to_owned() }).unwrap_or_else(|_| panic!());
    assert!(world.command(reinvite()).is_ok());
    world.command(Command::Revoke { app: "web".to_owned() }).unwrap_or_else(|_| panic!());
    world.invite("web", Vec::new());
    let again = world.command(Command::Reinvite { app: "1".to_owned(), invitation: 600 });
    assert!(matches!(again, Err(CommandError::NameTaken(_))));
    let matters: Vec<_> = world.lines().into_iter().map(|it| it.matter).collect();
    assert_eq!(matters.iter().filter(|it| *it == "app_reinvited").count(), 2);
}

#[test]
fn an_app_is_renamed_to_what_no_other_looks_like() {
    let mut world = World::new();
    let client = world.paired("web", allow("sign:1"));
    world.invite("mail", Vec::new());
    let rename =
        |app: &str, name: &str| Command::Rename { app: app.to_owned(), name: name.to_owned() };
    for name in ["", "7", "m\u{430}il", "mail", "a\u{200b}b", &"x".repeat(65)] {
        assert!(world.command(rename("web", name)).is_err(), "{name}");
    }
    assert!(world.command(rename("nobody", "x")).is_err());
    assert!(world.command(rename("web", "Web")).is_ok());
    assert!(world.command(rename("1", "notes")).is_ok());
    let mut world = world.restarted();
    assert_eq!(world.apps()[0].name, "notes");
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
    let line = world.lines().into_iter().rfind(|it| it.matter == "app_renamed").unwrap();
    assert_eq!((line.app, line.name.as_str()), (Some(1), "notes"));
}

#[test]
fn a_user_key_is_removed_when_no_app_uses_it() {
    let mut world = World::new();
    let client = world.paired("web", allow("sign:1"));
    let user = endseal_nostr::key::public_to_hex(world.user.public_key());
    let user = str::from_utf8(&user).unwrap().to_owned();
    let remove = || Command::RemoveUser { user: user.clone() };
    assert_eq!(world.command(remove()).err(), Some(CommandError::KeyInUse(1)));
    let Ok(Reply::EncryptedKey(text)) = world.command(Command::EncryptedKey { user: user.clone() })
    else {
        panic!()
    };
    let encrypted = endseal_nostr::encrypted_key::EncryptedKey::from_text(&text).unwrap();
    assert!(encrypted.open(PASSPHRASE, 18).unwrap().public_key() == *world.user.public_key());
    world.command(Command::Revoke { app: "web".to_owned() }).unwrap_or_else(|_| panic!());
    assert!(world.command(remove()).is_ok());
    assert!(world.apps().is_empty());
    let event = client.request(world.now, "late", "ping", &[]);
    assert_eq!(world.send(&client, &event), []);
    let mut world = world.restarted();
    assert!(matches!(world.command(remove()), Err(CommandError::User(_))));
    let line = world.lines().into_iter().find(|it| it.matter == "user_removed").unwrap();
    assert_eq!(line.peer.as_deref(), Some(user.as_str()));
}

#[test]
fn old_lines_leave_the_log_once_they_are_archived() {
    let mut world = World::new();
    let client = world.paired("web", allow("sign:1"));
    for at in 0..5 {
        assert!(world.call(&client, "sign_event", &[&note(1, &at.to_string())]).result.is_some());
    }
    let old = |world: &mut World| match world.command(Command::OldLines { after: 0, limit: 1_000 })
    {
        Ok(Reply::OldLines(lines)) => lines,
        _ => panic!(),
    };
    let before = world.lines();
    // Lines that say which events were seen stay.
    let count = before.iter().take_while(|it| it.matter != "app_connected").count();
    assert_eq!(old(&mut world).len(), count);
    world.now += 2_000;
    world.tick();
    let lines = old(&mut world);
    assert_eq!(lines.len(), before.len());
    let last = before.last().unwrap();
    let archive =
        |number: u64, hash: &str| Command::RemoveOldLines { number, hash: hash.to_owned() };
    for (number, hash) in [(last.number, "00"), (last.number + 1, &*last.hash), (0, "")] {
        assert!(world.command(archive(number, hash)).is_err());
    }
    let Ok(Reply::Removed(next)) = world.command(archive(last.number, &last.hash)) else {
        panic!()
    };
    assert_eq!(next, last.number + 1);
    assert!(world.command(archive(last.number, &last.hash)).is_err());
    let mut world = world.restarted();
    let left = world.lines();
    assert_eq!((left[0].number, left[0].matter.as_str()), (next, "log_archived"));
    assert_eq!(left[0].name, last.number.to_string());
    let Ok(Reply::Verified { archived, archived_hash, lines, .. }) = world.command(Command::Verify)
    else {
        panic!()
    };
    assert_eq!((archived, &archived_hash), (last.number, &last.hash));
    assert_eq!(lines, left.last().unwrap().number);
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
}
