//! Tests of invitations, secrets, logouts and revocations.

use endseal_nostr::Relays;
use endseal_nostr::connect::{Bunker, ConnectSecret, MAX_URI, NostrConnect};

use super::*;
use crate::control::{AppState, Requested, SecretText};

const ACK: &str = "ack";

#[test]
fn a_secret_pairs_one_client_once() {
    let mut world = World::new();
    let uri = world.invite("notes", allow("sign:1"));
    assert!(uri.starts_with("bunker://") && uri.contains("relay=wss%3A%2F%2Frelay.example"));
    let (client, other) = (Client::of_bunker(&uri), Client::with_key(&uri, 10));
    let now = world.now;
    // A wrong or missing secret gets no response.
    for secret in ["", "0", &"0".repeat(32)] {
        let event = client.request(now, "r1", "connect", &[&client.signer_hex(), secret]);
        assert_eq!(world.send(&client, &event), []);
    }
    assert_eq!(world.send(&client, &client.request(now, "r1", "ping", &[])), []);
    assert_eq!(world.send(&client, &client.connect(now)), [Answer::result(ACK)]);
    // The secret is valid only for its client now, which repeats it at each start.
    assert_eq!(world.send(&other, &other.connect(now)), []);
    assert_eq!(world.send(&other, &other.request(now, "r1", "ping", &[])), []);
    assert_eq!(world.send(&client, &client.connect(now)), [Answer::result(ACK)]);
    let mut world = world.restarted();
    assert_eq!(world.send(&client, &client.connect(now)), [Answer::result(ACK)]);
    assert_eq!(world.send(&other, &other.connect(now)), []);
    let wrong = client.request(now, "r1", "connect", &[&client.signer_hex(), "wrong"]);
    assert_eq!(world.send(&client, &wrong), [Answer::error("the connection secret is wrong")]);
}

#[test]
fn the_first_parameter_and_claims_decide_nothing() {
    let mut world = World::new();
    for (i, signer) in ["", "x", &"0".repeat(64)].iter().enumerate() {
        let uri = world.invite(&format!("app {i}"), Vec::new());
        let client = Client::of_bunker(&uri);
        let claims = r#"{"name":"Evil \u202e\u0007name","url":"https://x"}"#;
        let params = [*signer, client.secret.as_str(), "sign_event:4", claims];
        let event = client.request(world.now, "r1", "connect", &params);
        assert_eq!(world.send(&client, &event), [Answer::result(ACK)]);
        let answer = world.call(&client, "sign_event", &[&note(4, "x")]);
        assert_eq!(answer, Answer::error("not allowed"));
    }
    // Malformed metadata and permissions do not prevent pairing.
    let uri = world.invite("malformed", Vec::new());
    let client = Client::of_bunker(&uri);
    let params = ["", client.secret.as_str(), "sign_event:x", "{"];
    let event = client.request(world.now, "r1", "connect", &params);
    assert_eq!(world.send(&client, &event), [Answer::result(ACK)]);
    let Ok(Reply::Apps(apps)) = world.command(Command::Apps) else { panic!() };
    assert_eq!(apps[0].claimed_name, "Evil \u{fffd}\u{fffd}name");
}

#[test]
fn wishes_are_shown_and_granted_by_a_command_alone() {
    let mut world = World::new();
    let uri = world.invite("web", Vec::new());
    let client = Client::of_bunker(&uri);
    let wishes = "sign_event:1,ping,nip44_encrypt,sign_event:all,,sign_event:22242,sign_event:1";
    let connect = |world: &World, id: &str, wishes: &str| {
        client.request(world.now, id, "connect", &["", &client.secret, wishes])
    };
    let event = connect(&world, "r1", wishes);
    assert_eq!(world.send(&client, &event), [Answer::result("ack")]);
    let app = world.apps().remove(0);
    assert_eq!(app.requested, ["sign:1", "nip44_encrypt", "sign:22242"]);
    assert_eq!(app.not_understood, ["sign_event:all"]);
    assert!(app.rules.is_empty());
    let granted = |world: &mut World, rules: &[&str]| {
        let rules = rules.iter().map(|it| (*it).to_owned()).collect();
        let requested = Requested { rules, lifetime: Some(60) };
        let reply = world.command(Command::GrantRequested { app: "web".to_owned(), requested });
        reply.map(|it| match it {
            Reply::Granted(numbers) => numbers,
            _ => panic!(),
        })
    };
    let shown = ["sign:1", "nip44_encrypt", "sign:22242"];
    // Permissions that no one has seen are not granted.
    for other in [&shown[..2], &["sign:1", "nip44_encrypt", "sign:22242", "sign:2"], &["sign"]] {
        assert_eq!(granted(&mut world, other), Err(CommandError::Asks));
    }
    assert!(world.apps()[0].rules.is_empty());
    assert_eq!(granted(&mut world, &shown).unwrap(), [1, 2, 3]);
    let rules = world.apps().remove(0).rules;
    let shown: Vec<_> = rules.iter().map(|it| (it.effect, it.text.as_str())).collect();
    let (allow, ask) = (GrantEffect::Allow, GrantEffect::Ask);
    // A log-in needs its relay.
    assert_eq!(shown, [(allow, "sign:1"), (allow, "nip44_encrypt"), (ask, "sign:22242")]);
    assert!(rules.iter().all(|it| it.expires == Some(world.now + 60)));
    assert!(granted(&mut world, &["sign:1", "nip44_encrypt", "sign:22242"]).unwrap().is_empty());
    // The wishes of the last log-in count; those that are too long are cut at a comma.
    let long = format!("sign_event:7,{}", "x".repeat(2_000));
    let event = connect(&world, "r2", &long);
    assert_eq!(world.send(&client, &event).remove(0).result.as_deref(), Some("ack"));
    assert_eq!(world.apps()[0].requested, ["sign:7"]);
    let event = connect(&world, "r3", "sign_event:7");
    world.send(&client, &event);
    // The log has each list once, and not when it is repeated.
    let lines = world.lines().into_iter().filter(|it| it.matter == "permissions_asked");
    let asked: Vec<_> = lines.map(|it| it.name).collect();
    assert_eq!(asked, [wishes, "sign_event:7"]);
}

#[test]
fn an_invitation_and_an_app_expire() {
    let mut world = World::new();
    let uri = world.invite("late", Vec::new());
    let client = Client::of_bunker(&uri);
    world.now += 3_600;
    assert_eq!(world.send(&client, &client.connect(world.now)), []);
    let command = Command::Invite {
        name: "short".to_owned(),
        user: None,
        grants: allow("sign"),
        lifetime: Some(600),
        invitation: 60,
        relays: Vec::new(),
        as_user_key: false,
    };
    let Ok(Reply::Invited { uri: Some(uri), .. }) = world.command(command) else { panic!() };
    let client = Client::of_bunker(uri.expose_secret());
    assert_eq!(world.send(&client, &client.connect(world.now)), [Answer::result(ACK)]);
    world.now += 599;
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
    world.now += 1;
    let expired = Answer::error("this connection has expired");
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "y")]), expired);
    assert_eq!(world.call(&client, "ping", &[]), expired);
}

#[test]
fn a_revoked_app_has_an_error_for_each_request() {
    let mut world = World::new();
    let client = world.paired("notes", allow("sign"));
    let signed = client.request(world.now, "r7", "sign_event", &[&note(1, "x")]);
    assert!(world.send(&client, &signed)[0].result.is_some());
    assert!(world.command(Command::Revoke { app: "notes".to_owned() }).is_ok());
    let revoked = "this connection was revoked";
    assert_eq!(world.call(&client, "ping", &[]), Answer::error(revoked));
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "x")]), Answer::error(revoked));
    // Even a repetition of an allowed request is refused.
    let again = client.request(world.now, "r7", "sign_event", &[&note(1, "x")]);
    assert_eq!(world.send(&client, &again)[0].error.as_deref(), Some(revoked));
    let mut world = world.restarted();
    assert_eq!(world.call(&client, "ping", &[]), Answer::error(revoked));
    // The name can be used again.
    world.paired("notes", Vec::new());
    let Ok(Reply::Apps(apps)) = world.command(Command::Apps) else { panic!() };
    let states: Vec<_> = apps.iter().map(|app| app.state).collect();
    assert_eq!(states, [AppState::Revoked, AppState::Paired]);
}

#[test]
fn a_log_out_is_answered_and_ends_the_app() {
    let mut world = World::new();
    let client = world.paired("notes", allow("sign"));
    assert_eq!(world.call(&client, "logout", &[]), Answer::result(ACK));
    let gone = Answer::error("this connection was revoked");
    assert_eq!(world.call(&client, "ping", &[]), gone);
    assert_eq!(world.restarted().call(&client, "connect", &["", &client.secret]), gone);
}

#[test]
fn a_clients_uri_is_answered_by_its_secret() {
    let mut world = World::new();
    let client = SecretKey::from_bytes(&[11; 32]).unwrap().public_key();
    let mut buffer = [0; MAX_URI];
    let uri = NostrConnect {
        client,
        relays: Relays::new(&["wss://their.example"]),
        ignored_relays: 0,
        secret: ConnectSecret::new("s3cret").unwrap(),
        permissions: Default::default(),
        metadata: Default::default(),
    };
    let uri = uri.write(&mut buffer).unwrap().to_owned();
    let connect = |uri: &str, allow_private| Command::Connect {
        uri: SecretText::new(uri.to_owned()),
        name: Some("web".to_owned()),
        user: None,
        grants: allow("sign:1"),
        lifetime: None,
        allow_private,
        as_user_key: false,
        grant_requested: false,
    };
    assert!(matches!(
        world.command(connect("nostrconnect://x", false)),
        Err(CommandError::Invalid(_))
    ));
    assert!(world.command(connect(&uri, false)).is_ok());
    let transport = world.engine.new_greeting().unwrap();
    assert!(world.engine.new_greeting().is_none());
    let (greeting, relays) = world.engine.greet(NOW, &transport).unwrap();
    assert_eq!((greeting.transport, &relays[..]), (transport, &["wss://their.example".into()][..]));
    let signer = endseal_nostr::key::PublicKey::from_bytes(&greeting.transport).unwrap();
    let client = Client::new(11, signer, "s3cret");
    let read = client.read_all(&[greeting]);
    assert_eq!((read[0].result.as_deref(), &read[0].error), (Some("s3cret"), &None));
    // The signer listens at the client's relays and at its own, and names its own.
    let subscriptions = world.engine.new_subscriptions().unwrap();
    let relays: Vec<_> = subscriptions
        .iter()
        .filter(|it| it.transport == transport)
        .map(|it| (it.relays.clone(), it.is_foreign))
        .collect();
    assert_eq!(
        relays,
        [(vec![RELAY.to_owned()], false), (vec!["wss://their.example".to_owned()], true),]
    );
    let own = Answer::result(r#"["wss://relay.example"]"#);
    assert_eq!(world.call(&client, "switch_relays", &[]), own);
    assert_eq!(world.call(&client, "connect", &["", "s3cret"]), Answer::result(ACK));
    assert!(world.call(&client, "sign_event", &[&note(1, "x")]).result.is_some());
    assert!(matches!(world.command(connect(&uri, false)), Err(CommandError::NameTaken(_))));
}

#[test]
fn an_app_without_a_name_has_that_of_its_uri_as_far_as_it_is_one() {
    let mut world = World::new();
    let long = "é".repeat(60);
    for (claimed, expected) in [
        ("mail", "mail".to_owned()),
        ("123", "app 123".to_owned()),
        (long.as_str(), "é".repeat(32)),
        ("a\u{202e}\u{7}b", "a\u{fffd}\u{fffd}b".to_owned()),
    ] {
        let mut buffer = [0; MAX_URI];
        let metadata =
            endseal_nostr::connect::Metadata { name: Some(claimed.into()), ..Default::default() };
        let uri = NostrConnect {
            client: SecretKey::from_bytes(&[11; 32]).unwrap().public_key(),
            relays: Relays::new(&["wss://their.example"]),
            ignored_relays: 0,
            secret: ConnectSecret::new("s3cret").unwrap(),
            permissions: Default::default(),
            metadata,
        };
        let command = Command::Connect {
            uri: SecretText::new(uri.write(&mut buffer).unwrap().to_owned()),
            name: None,
            user: None,
            grants: Vec::new(),
            lifetime: None,
            allow_private: false,
            as_user_key: false,
            grant_requested: false,
        };
        let connected = world.command(command);
        assert!(connected.is_ok(), "{claimed}: {:?}", connected.err());
        let Ok(Reply::Apps(apps)) = world.command(Command::Apps) else { panic!() };
        assert_eq!(apps.last().unwrap().name, expected);
    }
}

#[test]
fn an_invited_app_is_subscribed_at_the_relays_that_its_uri_names() {
    let mut world = World::new();
    assert!(world.engine.new_subscriptions().unwrap().is_empty());
    assert!(world.engine.new_subscriptions().is_none());
    let other = "wss://other.example";
    for (name, named, expected) in
        [("own", &[][..], &[RELAY][..]), ("named", &[other], &[RELAY, other])]
    {
        let command = Command::Invite {
            name: name.to_owned(),
            user: None,
            grants: Vec::new(),
            lifetime: None,
            invitation: 3_600,
            relays: named.iter().map(|it| (*it).to_owned()).collect(),
            as_user_key: false,
        };
        let Ok(Reply::Invited { uri: Some(uri), .. }) = world.command(command) else { panic!() };
        let client = Client::of_bunker(uri.expose_secret());
        let subscriptions = world.engine.new_subscriptions().unwrap();
        let of_app = subscriptions.iter().filter(|it| it.transport == client.signer.to_bytes());
        let of_app: Vec<_> = of_app.flat_map(|it| it.relays.clone()).collect();
        assert_eq!(of_app, expected, "{name}");
        assert!(subscriptions.iter().all(|it| !it.is_foreign));
    }
}

#[test]
fn relays_of_a_bunker_stay_as_they_are() {
    let mut world = World::new();
    let client = world.paired("notes", Vec::new());
    // The result is the text `null`, not JSON null.
    assert_eq!(world.call(&client, "switch_relays", &[]), Answer::result("null"));
}

#[test]
fn transport_keys_are_apart() {
    let mut world = World::new();
    let (first, second) = (world.invite("a", Vec::new()), world.invite("b", Vec::new()));
    let signer = |uri: &str| Client::of_bunker(uri).signer_hex();
    assert_ne!(signer(&first), signer(&second));
    let user = endseal_nostr::key::public_to_hex(world.user.public_key());
    assert_ne!(signer(&first).as_bytes(), user);
    let mut buffer = [0; MAX_URI];
    let other = Bunker {
        signer: *world.user.public_key(),
        relays: Relays::new(&[RELAY]),
        ignored_relays: 0,
        secret: None,
    };
    // The user's own key is not a transport key, so nothing is received under it.
    let client = Client::of_bunker(other.write(&mut buffer).unwrap());
    assert_eq!(world.send(&client, &client.request(NOW, "r1", "ping", &[])), []);
}

#[test]
fn a_client_is_greeted_until_its_first_request_for_ten_minutes_at_most() {
    let mut world = World::new();
    for (number, name) in ["first", "late", "revoked", "unwritten"].into_iter().enumerate() {
        let key = u8::try_from(20 + number).unwrap();
        let of = Client::new(key, *world.user.public_key(), "");
        let uri = format!(
            "nostrconnect://{}?relay=wss%3A%2F%2Ftheir.example&secret=s3cret&name={name}",
            of.public_hex()
        );
        let command = Command::Connect {
            uri: SecretText::new(uri),
            name: None,
            user: None,
            grants: Vec::new(),
            lifetime: None,
            allow_private: false,
            as_user_key: false,
            grant_requested: false,
        };
        world.command(command).unwrap();
        let transport = world.engine.new_greeting().unwrap();
        let signer = endseal_nostr::key::PublicKey::from_bytes(&transport).unwrap();
        let client = Client::new(key, signer, "s3cret");
        let mut ids = Vec::new();
        for second in [0, 10, 599] {
            let (greeting, _) = world.engine.greet(NOW + second, &transport).unwrap();
            ids.push(greeting.event.id);
            let answers = client.read_all(&[greeting]);
            assert_eq!(answers[0].result.as_deref(), Some("s3cret"));
        }
        // A relay that has seen an event does not deliver it again.
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3);
        let mut at = NOW;
        match name {
            "first" => {
                let event = client.request(NOW, "r1", "ping", &[]);
                assert_eq!(world.send(&client, &event), [Answer::result("pong")]);
            }
            "revoked" => drop(world.command(Command::Revoke { app: name.to_owned() }).unwrap()),
            _ => at = NOW + 600,
        }
        assert!(world.engine.greet(at, &transport).is_none(), "{name}");
        assert!(world.engine.greet(NOW, &transport).is_none(), "{name}");
    }
}

#[test]
fn no_app_gets_a_name_that_looks_like_anothers() {
    let mut world = World::new();
    let _client = world.paired("mail", Vec::new());
    let invite = |name: &str| Command::Invite {
        name: name.to_owned(),
        user: None,
        grants: Vec::new(),
        lifetime: None,
        invitation: 3_600,
        relays: Vec::new(),
        as_user_key: false,
    };
    for name in ["Mail", "m\u{430}il", "ma\u{456}l", "mai1", "\u{ff4d}ail", "mail"] {
        let refused = world.command(invite(name)).err();
        assert!(matches!(refused, Some(CommandError::NameTaken(_))), "{name}: {refused:?}");
    }
    for invisible in
        "\u{200b}\u{ad}\u{2060}\u{feff}\u{e0061}\u{115f}\u{a0}\u{2028}\u{202e}\u{200d}\u{fe0f} "
            .chars()
    {
        for name in [format!("mail{invisible}"), format!("{invisible}x")] {
            let refused = world.command(invite(&name)).err();
            assert!(matches!(refused, Some(CommandError::Invalid(_))), "{name:?}: {refused:?}");
        }
    }
    for name in ["mails", "e mail", "почта", "メール", "mail 2"] {
        assert!(world.command(invite(name)).is_ok(), "{name}");
    }
}

/// Clients that take the key of the signer for that of the user: each is its own app all the same.
#[test]
fn clients_reach_their_apps_by_the_key_of_the_user() {
    let mut world = World::new();
    let invite = |world: &mut World, name: &str, kind: u16| {
        let command = Command::Invite {
            name: name.to_owned(),
            user: None,
            grants: allow(&format!("sign:{kind}")),
            lifetime: None,
            invitation: 3_600,
            relays: Vec::new(),
            as_user_key: true,
        };
        let Ok(Reply::Invited { uri: Some(uri), .. }) = world.command(command) else { panic!() };
        uri.expose_secret().to_owned()
    };
    let (notes, chat) = (invite(&mut world, "notes", 1), invite(&mut world, "chat", 4));
    let (notes, chat) = (Client::with_key(&notes, 20), Client::with_key(&chat, 21));
    let user = world.apps()[0].user.clone();
    assert_eq!((notes.signer_hex(), chat.signer_hex()), (user.clone(), user.clone()));
    let subscriptions = world.engine.new_subscriptions().unwrap();
    assert!(subscriptions.iter().all(|it| it.transport == notes.signer.to_bytes()));
    // The secret says which of the apps that wait is meant, whatever their order.
    for client in [&chat, &notes] {
        let event = client.connect(world.now);
        assert_eq!(world.send(client, &event), [Answer::result("ack")]);
    }
    let outsider = Client::new(22, notes.signer, &notes.secret);
    let event = outsider.connect(world.now);
    assert_eq!(world.send(&outsider, &event), []);
    let named = |kind| note(kind, "x").replacen('{', &format!("{{\"pubkey\":\"{user}\","), 1);
    assert!(world.call(&notes, "sign_event", &[&named(1)]).result.is_some());
    assert!(world.call(&chat, "sign_event", &[&named(4)]).result.is_some());
    for (client, kind) in [(&notes, 4), (&chat, 1)] {
        let event = client.request(world.now, "r2", "sign_event", &[&named(kind)]);
        let answers = world.send(client, &event);
        assert_eq!(answers[0].error.as_deref(), Some("not allowed"));
    }
    // A locked signer cannot read what comes, and says so in its counts.
    assert!(world.command(Command::Lock).is_ok());
    let event = notes.request(world.now, "r3", "ping", &[]);
    assert_eq!(world.send(&notes, &event), []);
    let ignored = world.status().ignored;
    assert_eq!(ignored.iter().find(|it| it.cause == "locked").map(|it| it.count), Some(1));
}
