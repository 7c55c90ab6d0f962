//! Tests of requests that a person decides.

use super::*;
use crate::control::{Remember, WaitingView};

const REFUSED: &str = "not allowed";

fn waiting(world: &mut World) -> Vec<WaitingView> {
    match world.command(Command::Waiting { id: None }) {
        Ok(Reply::Waiting(waiting)) => waiting,
        _ => panic!("no list"),
    }
}

fn asked(world: &mut World) -> Client {
    world.paired("web", vec![grant(GrantEffect::Ask, "sign")])
}

/// Executes a command and returns the responses that it causes.
fn resolve(world: &mut World, client: &Client, command: Command) -> Vec<Answer> {
    let request = Request { command, secret: Zeroizing::new(Vec::new()) };
    let (reply, outgoing) = world.engine.command(world.now, request);
    assert!(reply.is_ok());
    client.read_all(&outgoing)
}

#[test]
fn a_person_allows_or_denies() {
    let mut world = World::new();
    let client = asked(&mut world);
    let now = world.now;
    let hostile = note(1, "a\\u0007\\u202eb");
    let event = client.request(now, "r1", "sign_event", &[&hostile]);
    assert_eq!(world.send(&client, &event), []);
    // A waiting request blocks no other, and its repetition does not prompt again.
    assert_eq!(world.call(&client, "ping", &[]).result.as_deref(), Some("pong"));
    let again = client.request(now, "r1", "sign_event", &[&hostile]);
    assert_eq!(world.send(&client, &again), []);
    let shown = waiting(&mut world);
    assert_eq!(shown.len(), 1);
    assert_eq!((shown[0].content.as_str(), shown[0].seconds), ("a\u{fffd}\u{fffd}b", 60));
    let id = shown[0].id;
    let answers =
        resolve(&mut world, &client, Command::Approve { id, remember: None, requested: None });
    assert!(answers[0].result.is_some() && answers[0].id == "r1");
    assert!(matches!(
        world.command(Command::Approve { id, remember: None, requested: None }),
        Err(CommandError::NotWaiting(_))
    ));
    // A repetition after the decision gets the same response.
    assert_eq!(world.call(&client, "sign_event", &[&hostile]), answers[0]);
    let event = client.request(now, "r2", "sign_event", &[&note(1, "c")]);
    world.send(&client, &event);
    let id = waiting(&mut world)[0].id;
    let answers = resolve(&mut world, &client, Command::Deny { id, remember: None });
    assert_eq!(answers[0].error.as_deref(), Some(REFUSED));
    assert_eq!(world.verdicts(), ["asks", "allowed", "asks", "denied"]);
}

#[test]
fn a_decision_is_remembered_as_narrowly_as_it_was_asked() {
    let mut world = World::new();
    let client = asked(&mut world);
    let remember = Some(Remember { lifetime: Some(3_600) });
    for (id, kind) in [("a", 1), ("b", 4)] {
        let event = client.request(world.now, id, "sign_event", &[&note(kind, "x")]);
        world.send(&client, &event);
    }
    let shown = waiting(&mut world);
    resolve(&mut world, &client, Command::Approve { id: shown[0].id, remember, requested: None });
    resolve(&mut world, &client, Command::Deny { id: shown[1].id, remember });
    assert!(world.call(&client, "sign_event", &[&note(1, "y")]).result.is_some());
    assert_eq!(world.call(&client, "sign_event", &[&note(4, "y")]), Answer::error(REFUSED));
    let event = client.request(world.now, "r9", "sign_event", &[&note(2, "y")]);
    assert_eq!(world.send(&client, &event), []);
    world.now += 3_600;
    let event = client.request(world.now, "r10", "sign_event", &[&note(1, "z")]);
    assert_eq!(world.send(&client, &event), []);
}

#[test]
fn a_log_in_is_remembered_for_its_relay_and_as_long_as_was_said() {
    let mut world = World::new();
    let client = asked(&mut world);
    let login = |now: u64, relay: &str, challenge: &str| {
        format!(
            "{{\"kind\":22242,\"created_at\":{now},\"tags\":[[\"relay\",\"{relay}\"],\
             [\"challenge\",\"{challenge}\"]],\"content\":\"\"}}"
        )
    };
    let event =
        client.request(world.now, "a", "sign_event", &[&login(NOW, "wss://a.example", "1")]);
    world.send(&client, &event);
    let shown = waiting(&mut world);
    assert_eq!(shown[0].scope.as_deref(), Some("wss://a.example"));
    let remember = Some(Remember { lifetime: Some(86_400) });
    resolve(&mut world, &client, Command::Approve { id: shown[0].id, remember, requested: None });
    // Most clients write the path.
    let again = login(NOW, "wss://a.example/", "2");
    assert!(world.call(&client, "sign_event", &[&again]).result.is_some());
    for (relay, later) in [("wss://b.example", 0), ("wss://a.example", 86_400)] {
        world.now += later;
        let event =
            client.request(world.now, relay, "sign_event", &[&login(world.now, relay, "3")]);
        assert_eq!(world.send(&client, &event), [], "{relay} {later}");
    }
}

#[test]
fn after_a_minute_a_request_is_refused() {
    let mut world = World::new();
    let client = asked(&mut world);
    let event = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    world.send(&client, &event);
    world.now += 59;
    assert!(world.engine.tick(world.now).is_empty());
    world.now += 1;
    let outgoing = world.engine.tick(world.now);
    let timeout = Answer::error("not allowed: no decision in time");
    assert!(client.read_all(&outgoing) == [timeout.clone()]);
    assert!(waiting(&mut world).is_empty());
    // The same request does not prompt a second time.
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "x")]), timeout);
    assert_eq!(world.verdicts(), ["asks", "timeout"]);
}

#[test]
fn only_so_many_requests_wait() {
    let mut world = World::new();
    let client = asked(&mut world);
    for i in 0..8 {
        let id = format!("w{i}");
        let event = client.request(world.now, &id, "sign_event", &[&note(1, &id)]);
        assert_eq!(world.send(&client, &event), []);
    }
    let busy = Answer::error("too many requests wait for a decision");
    assert_eq!(world.call(&client, "sign_event", &[&note(1, "more")]), busy);
    assert!(world.command(Command::Revoke { app: "web".to_owned() }).is_ok());
    assert!(waiting(&mut world).is_empty());
}

#[test]
fn a_page_is_named_at_once() {
    let mut world = World::new();
    world.engine.set_page(Some("http://127.0.0.1:8080".to_owned()));
    let client = asked(&mut world);
    let answer = world.call(&client, "sign_event", &[&note(1, "x")]);
    assert_eq!(answer.result.as_deref(), Some("auth_url"));
    let id = waiting(&mut world)[0].id;
    assert_eq!(answer.error, Some(format!("http://127.0.0.1:8080/request/{id}")));
}

#[test]
fn nothing_is_executed_after_the_end_of_an_app_or_while_the_signer_is_locked() {
    let mut world = World::new();
    let client = asked(&mut world);
    let event = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    world.send(&client, &event);
    let id = waiting(&mut world)[0].id;
    assert!(world.command(Command::Lock).is_ok());
    let approve = Command::Approve { id, remember: None, requested: None };
    assert!(matches!(world.command(approve), Err(CommandError::Locked)));
    assert_eq!(waiting(&mut world).len(), 1);
    world.engine.open_keys(world.now, PASSPHRASE).unwrap();
    // If the client logs out, the request is refused at once.
    let event = client.request(world.now, "r2", "logout", &[]);
    let answers = world.send(&client, &event);
    let gone = "this connection was revoked";
    assert_eq!(answers.iter().filter(|it| it.error.as_deref() == Some(gone)).count(), 1);
    assert!(waiting(&mut world).is_empty());
    // Another app expires while its request waits.
    let command = Command::Invite {
        name: "short".to_owned(),
        user: None,
        grants: vec![grant(GrantEffect::Ask, "sign")],
        lifetime: Some(30),
        invitation: 60,
        relays: Vec::new(),
        as_user_key: false,
    };
    let Ok(Reply::Invited { uri: Some(uri), .. }) = world.command(command) else { panic!() };
    let client = Client::of_bunker(uri.expose_secret());
    world.send(&client, &client.connect(world.now));
    world.send(&client, &client.request(world.now, "r1", "sign_event", &[&note(1, "x")]));
    let id = waiting(&mut world)[0].id;
    world.now += 30;
    let remember = Some(Remember { lifetime: None });
    let command = Command::Approve { id, remember, requested: None };
    let request = Request { command, secret: Zeroizing::new(Vec::new()) };
    let (reply, outgoing) = world.engine.command(world.now, request);
    assert!(matches!(reply, Err(CommandError::NotWaiting(_))));
    let timeout = Answer::error("not allowed: no decision in time");
    assert_eq!(client.read_all(&outgoing), [timeout]);
    assert_eq!(world.verdicts(), ["asks", "asks", "timeout"]);
}

#[test]
fn a_signer_that_ends_refuses_what_waits() {
    let mut world = World::new();
    let client = asked(&mut world);
    let event = client.request(world.now, "r1", "sign_event", &[&note(1, "x")]);
    world.send(&client, &event);
    let first = waiting(&mut world)[0].id;
    let outgoing = world.engine.stop(world.now);
    let timeout = Answer::error("not allowed: no decision in time");
    assert_eq!(client.read_all(&outgoing), [timeout]);
    let mut world = world.restarted();
    let event = client.request(world.now, "r2", "sign_event", &[&note(1, "y")]);
    world.send(&client, &event);
    assert_ne!(waiting(&mut world)[0].id, first);
}

#[test]
fn tags_and_time_are_shown() {
    let mut world = World::new();
    let client = asked(&mut world);
    let tags: String = (0..30).map(|i| format!("[\"e\",\"{i}\\u202e\"],")).collect();
    let event = format!(
        "{{\"kind\":5,\"created_at\":77,\"tags\":[{}],\"content\":\"\"}}",
        tags.trim_end_matches(',')
    );
    world.send(&client, &client.request(world.now, "r1", "sign_event", &[&event]));
    let shown = waiting(&mut world).remove(0);
    assert_eq!((shown.created_at, shown.tag_count, shown.tags.len()), (Some(77), 30, 20));
    assert_eq!(shown.tags[19], ["e", "19\u{fffd}"]);
}
