//! Tests of events that are not requests, of clock jumps and of floods.

use endseal_nostr::nip04;

use super::*;

#[test]
fn what_is_no_request_of_the_app_is_ignored() {
    let mut world = World::new();
    let client = world.paired("notes", allow("sign"));
    let now = world.now;
    let event = client.request(now, "r1", "ping", &[]);
    let last = event.len() - 2;
    let flipped = |at: usize| {
        let mut bytes = event.clone().into_bytes();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        String::from_utf8(bytes).unwrap()
    };
    let id = event.find("\"id\":\"").unwrap() + 6;
    let unknown_sender = Client::new(77, client.signer, "");
    for bad in [
        "",
        "{}",
        "[]",
        "not JSON",
        &flipped(last - 2),
        &flipped(id),
        &event.replace("24133", "24134"),
        &event.replace(&client.signer_hex(), &client.public_hex()),
        &client.sign(now, ""),
        &client.sign(now, "not a payload"),
        &client.event(now, "not JSON"),
        &client.event(now, "{}"),
        &client.event(now, "{\"method\":\"ping\",\"params\":[]}"),
        &unknown_sender.request(now, "r1", "ping", &[]),
    ] {
        assert_eq!(world.send(&client, bad), [], "{bad}");
    }
    // A request that has an id gets a response.
    for request in [
        "{\"id\":\"r1\",\"method\":\"x\"}",
        "{\"id\":\"r1\",\"method\":\"sign_event\",\"params\":7}",
        "{\"id\":\"r1\",\"method\":\"sign_event\",\"params\":[7]}",
    ] {
        let answers = world.send(&client, &client.event(now, request));
        assert!(answers.len() == 1 && answers[0].error.is_some(), "{request}");
    }
    assert_eq!(world.send(&client, &event), [Answer::result("pong")]);
}

#[test]
fn odd_ids_are_repeated_as_they_are() {
    let mut world = World::new();
    let client = world.paired("notes", Vec::new());
    for id in ["", "\u{0}", "a\"b\\c\u{202e}", &"x".repeat(10_000)] {
        let event = client.request(world.now, id, "ping", &[]);
        let answers = world.send(&client, &event);
        assert_eq!((answers[0].id.as_str(), answers[0].result.as_deref()), (id, Some("pong")));
    }
}

#[test]
fn five_minutes_are_fresh_for_an_app_and_outsiders_learn_nothing() {
    let mut world = World::new();
    let uri = world.invite("other", Vec::new());
    let unknown_sender = Client::with_key(&uri, 12);
    let client = world.paired("notes", Vec::new());
    let stale = Answer::error("the request is older or newer than five minutes");
    for (offset, is_fresh) in [(-301, false), (-300, true), (300, true), (301, false)] {
        let created_at = world.now.checked_add_signed(offset).unwrap();
        let answers = world.send(&client, &client.request(created_at, "r1", "ping", &[]));
        let expected = if is_fresh { Answer::result("pong") } else { stale.clone() };
        assert_eq!(answers, [expected], "{offset}");
    }
    let late = unknown_sender.connect(world.now - 301);
    assert_eq!(world.send(&unknown_sender, &late), []);
}

#[test]
fn a_clock_that_jumps_opens_no_replay() {
    let mut world = World::new();
    let client = world.paired("notes", allow("nip44_encrypt,sign"));
    let event = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    assert_eq!(world.send(&client, &event).len(), 1);
    let right = world.now;
    // The clock jumps ahead by a day, so everything expires, and back.
    world.now = right - right % 60 + 86_400;
    world.engine.tick(world.now);
    world.now = right;
    let stale = Answer::error("the request is older or newer than five minutes");
    assert_eq!(world.send(&client, &event), [stale]);
    assert_eq!(world.verdicts(), ["allowed"]);
    world.now += 1;
    assert_eq!(world.call(&client, "ping", &[]), Answer::result("pong"));
}

#[test]
fn a_clock_that_jumps_a_year_ahead_loses_no_app() {
    let mut world = World::new();
    let client = world.paired("notes", allow("sign"));
    let command = Command::Invite {
        name: "short".to_owned(),
        user: None,
        grants: allow("sign"),
        lifetime: Some(3_600),
        invitation: 60,
        relays: Vec::new(),
        as_user_key: false,
    };
    let Ok(Reply::Invited { uri: Some(uri), .. }) = world.command(command) else { panic!() };
    let short = Client::with_key(uri.expose_secret(), 13);
    assert_eq!(world.send(&short, &short.connect(world.now)), [Answer::result("ack")]);
    let right = world.now;
    world.now += 365 * 86_400;
    world.engine.tick(world.now);
    world.now = right;
    world.engine.tick(world.now);
    world.now += 1;
    for client in [&client, &short] {
        let answer = world.call(client, "sign_event", &[&note(1, "x")]);
        assert!(answer.result.is_some(), "{answer:?}");
    }
}

#[test]
fn relays_have_a_log_in_of_apps_that_did_not_end() {
    let mut world = World::new();
    let invited = Client::of_bunker(&world.invite("invited", Vec::new())).signer.to_bytes();
    let paired = world.paired("paired", Vec::new());
    let revoked = world.paired("revoked", Vec::new());
    let gone = world.paired("gone", Vec::new());
    assert!(world.command(Command::Revoke { app: "revoked".to_owned() }).is_ok());
    assert_eq!(world.call(&gone, "logout", &[]), Answer::result("ack"));
    let keys = [&paired, &revoked, &gone].map(|it| it.signer.to_bytes());
    let keys = [&[invited][..], &keys].concat();
    let relay = endseal_relay::address::Address::parse(RELAY).unwrap();
    let events = world.engine.authenticate(&relay, &keys, "challenge", world.now);
    let authors: Vec<_> = events
        .iter()
        .map(|it| endseal_nostr::event::Event::parse(&it.json).unwrap().pubkey)
        .collect();
    assert_eq!(authors, [invited, paired.signer.to_bytes()]);
}

/// Sends a request that is encrypted with NIP-04. Returns the answer, which is encrypted so, too.
fn ask_by_nip04(world: &mut World, client: &Client, request: &str) -> Option<serde_json::Value> {
    let key = nip04::Key::new(client.key.secret_key(), &client.signer);
    let mut content = vec![0; nip04::content_len(request.len())];
    let content = key.encrypt(request.as_bytes(), &[3; 16], &mut content).unwrap();
    let event = client.sign(world.now, content);
    let outgoing = world.engine.arrive(world.now, &mut [event.into_bytes()]);
    let event = endseal_nostr::event::Event::parse(&outgoing.first()?.event.json).unwrap();
    let mut content = event.content.to_string().into_bytes();
    let plaintext = key.decrypt(&mut content).unwrap();
    Some(serde_json::from_slice(plaintext).unwrap())
}

const PING: &str = "{\"id\":\"r1\",\"method\":\"ping\",\"params\":[]}";

fn connect(secret: &str) -> String {
    format!("{{\"id\":\"r1\",\"method\":\"connect\",\"params\":[\"\",\"{secret}\"]}}")
}

#[test]
fn a_client_is_answered_in_its_encryption() {
    let mut world = World::new();
    let uri = world.invite("old", allow("sign"));
    let client = Client::of_bunker(&uri);
    assert_eq!(ask_by_nip04(&mut world, &client, &connect("wrong")), None);
    let answer = ask_by_nip04(&mut world, &client, &connect(&client.secret)).unwrap();
    assert_eq!((&answer["id"], &answer["result"]), (&"r1".into(), &"ack".into()));
    assert!(world.apps()[0].legacy);
    let sign = serde_json::json!({"id": "r2", "method": "sign_event", "params": [note(1, "x")]});
    let answer = ask_by_nip04(&mut world, &client, &sign.to_string()).unwrap();
    assert!(answer["result"].as_str().unwrap().contains("\"sig\""), "{answer}");
    // Where it follows to NIP-44, so does the signer, and back.
    assert_eq!(world.call(&client, "ping", &[]), Answer::result("pong"));
    assert!(!world.apps()[0].legacy);
    assert_eq!(ask_by_nip04(&mut world, &client, PING).unwrap()["result"], "pong");
}

#[test]
fn a_strict_signer_refuses_nip04_in_nip04() {
    let mut world = World::new();
    assert!(world.engine.refuse_nip04(world.now).is_ok());
    let uri = world.invite("older", Vec::new());
    let invited = Client::of_bunker(&uri);
    let refusal = "NIP-04 is not accepted here: encrypt requests with NIP-44";
    // The right secret is not spent by it.
    let answer = ask_by_nip04(&mut world, &invited, &connect(&invited.secret)).unwrap();
    assert_eq!((&answer["id"], &answer["error"]), (&"r1".into(), &refusal.into()));
    // A relay that repeats it has no second answer.
    assert!(ask_by_nip04(&mut world, &invited, &connect(&invited.secret)).is_none());
    let event = invited.connect(world.now);
    assert_eq!(world.send(&invited, &event), [Answer::result("ack")]);
    let answer = ask_by_nip04(&mut world, &invited, PING).unwrap();
    assert_eq!((&answer["id"], &answer["error"]), (&"r1".into(), &refusal.into()));
    assert!(!world.apps()[0].legacy);
    // A NIP-04 request of an unknown sender gets no response at all.
    let unknown_sender = Client::new(50, invited.signer, "");
    let event =
        unknown_sender.sign(world.now, "AAAAAAAAAAAAAAAAAAAAAA==?iv=AAAAAAAAAAAAAAAAAAAAAA==");
    assert!(world.engine.arrive(world.now, &mut [event.into_bytes()]).is_empty());
}

#[test]
fn large_requests_have_an_answer() {
    let mut world = World::new();
    let client = world.paired("large", allow("nip44_encrypt,nip44_decrypt"));
    let peer = client.public_hex();
    let text = "x".repeat(60_000);
    let payload = world.call(&client, "nip44_encrypt", &[&peer, &text]).result.unwrap();
    assert_eq!(world.call(&client, "nip44_decrypt", &[&peer, &payload]), Answer::result(&text));
    let text = "x".repeat(290_000);
    let too_large = Answer::error("the answer is too large for the relay");
    assert_eq!(world.call(&client, "nip44_encrypt", &[&peer, &text]), too_large);
    // A response that a relay refuses is replaced by an error, too.
    let text = "y".repeat(60_000);
    let event = client.request(world.now, "r1", "nip44_encrypt", &[&peer, &text]);
    let outgoing = world.engine.arrive(world.now, &mut [event.into_bytes()]);
    let refused = world.engine.refused(world.now, &outgoing[0].event.id, "blocked: no");
    assert_eq!(client.read_all(&refused), [too_large]);
    assert!(world.engine.refused(world.now, &outgoing[0].event.id, "blocked: no").is_empty());
    let event = client.request(world.now, "r1", "ping", &[&"z".repeat(450_000)]);
    assert!(event.len() > 512 * 1024);
    assert_eq!(world.send(&client, &event), []);
    // The worker has such a request refused, but none of another key, nor an old one.
    let mut refused = |event: &str| {
        let mut json = event.as_bytes().to_vec();
        let outgoing = world.engine.refuse_long(NOW, &mut json);
        assert!(json.iter().all(|byte| *byte == 0));
        outgoing
    };
    let answers = client.read_all(&[refused(&event).unwrap()]);
    assert_eq!(answers, [Answer::error("the request is longer than 512 KiB")]);
    assert!(refused(&event).is_none(), "a relay that repeats it has no second answer");
    let other = Client::new(10, client.signer, "");
    for (client, now) in [(&other, NOW), (&client, NOW - 301)] {
        let event = client.request(now, "r1", "ping", &[&"z".repeat(450_000)]);
        assert!(refused(&event).is_none());
    }
}

#[test]
fn a_batch_is_answered_in_order() {
    let mut world = World::new();
    let client = world.paired("batch", allow("sign"));
    let events: Vec<String> = (0..50)
        .map(|i| client.request(world.now, &format!("r{i}"), "sign_event", &[&note(1, "x")]))
        .collect();
    let mut bytes: Vec<Vec<u8>> = events.iter().map(|it| it.clone().into_bytes()).collect();
    // One of the events arrives twice.
    bytes.push(events[7].clone().into_bytes());
    let outgoing = world.engine.arrive(world.now, &mut bytes);
    assert!(bytes.iter().all(|it| it.iter().all(|byte| *byte == 0)));
    let answers = client.read_all(&outgoing);
    let ids: Vec<_> = answers.iter().map(|it| it.id.clone()).collect();
    assert_eq!(ids, (0..50).map(|i| format!("r{i}")).collect::<Vec<_>>());
    assert!(answers.iter().all(|it| it.result.is_some()));
    assert_eq!(world.verdicts().len(), 50);
}
