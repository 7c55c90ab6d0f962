//! A service that is connected to a hub, and the requests that it serves.

use core::future::pending;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::Mutex;

use endseal_hub::HubLimits;
use endseal_node::api::{
    CallError, Client, Error, ErrorKind, Followed, Reply, Request, SecretText, TextRow,
};
use endseal_node::messages::{Conversation, MAX_TEXT_LEN, NodeFiles, Status, SyncReport, status};
use endseal_node::service::{DialError, Dialed, Service, ServiceEvent, ServiceOptions};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::returns::revoke;
use super::teams::{group, second_device, write};
use super::world::{People, Person, World};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A client whose calls return the result of their request.
#[derive(Clone)]
pub(super) struct Caller(Client);

impl Caller {
    /// Returns the counts of waiting messages, and true if the service is connected.
    pub(super) fn status(&self) -> Result<(Status, bool), CallError> {
        match self.0.call(&Request::Status {})? {
            Reply::Status(now) => Ok((now.status, now.connected == Some(true))),
            _ => Err(CallError::Unexpected),
        }
    }

    pub(super) fn say(&self, to: &Conversation, texts: &[&str]) -> Result<u64, CallError> {
        let texts = texts.iter().map(|text| SecretText::new((*text).to_owned())).collect();
        match self.0.call(&Request::Say { to: *to, texts })? {
            Reply::Said(said) => Ok(said.texts),
            _ => Err(CallError::Unexpected),
        }
    }

    pub(super) fn sync(&self, attempts: u32) -> Result<SyncReport, CallError> {
        match self.0.call(&Request::Sync { attempts })? {
            Reply::Report(report) => Ok(*report),
            _ => Err(CallError::Unexpected),
        }
    }

    /// Returns a page of texts, and the number after which the next one starts.
    pub(super) fn texts(
        &self,
        request: &Request,
    ) -> Result<(Vec<TextRow>, Option<u64>), CallError> {
        match self.0.call(request)? {
            Reply::Texts(page) => Ok((page.rows, page.next)),
            _ => Err(CallError::Unexpected),
        }
    }

    pub(super) fn call(&self, request: &Request) -> Result<Reply, CallError> {
        self.0.call(request)
    }

    pub(super) fn done(&self, request: &Request) -> Result<(), CallError> {
        self.call(request).map(drop)
    }

    fn mark_read(&self, numbers: &[u64]) -> Result<(), CallError> {
        self.0.call(&Request::MarkRead { numbers: numbers.to_vec() }).map(drop)
    }

    pub(super) fn follow(&self, after: u64) -> Result<Followed, CallError> {
        self.0.follow(after)
    }
}

fn text_of(row: &TextRow) -> &str {
    row.text.as_ref().unwrap().expose_secret()
}

/// Serves `person` while `work` runs. Returns the result of `work` and the events.
pub(super) async fn serving<T: Send + 'static>(
    world: &World,
    person: &mut Person,
    work: impl AsyncFnOnce(Caller) -> T,
) -> (T, Vec<ServiceEvent>) {
    let key = person.key();
    let dial = async |_: &str| match &world.hub {
        Some(_) => {
            let (endpoint, connection) = world.connect(&key).await;
            Ok(Dialed { endpoint, connection, addresses: String::new() })
        }
        None => Err(DialError { cause: "no hub".to_owned(), is_transient: true }),
    };
    serving_at(dial, Duration::from_millis(200), person, work).await
}

/// Like [`serving`], at another hub. Failed attempts are repeated after `retry`.
pub(super) async fn serving_at<T: Send + 'static>(
    dial: impl AsyncFn(&str) -> Result<Dialed, DialError>,
    retry: Duration,
    person: &mut Person,
    work: impl AsyncFnOnce(Caller) -> T,
) -> (T, Vec<ServiceEvent>) {
    person.meet();
    let mut options = ServiceOptions::default();
    (options.retry, options.timeout) = (retry, TIMEOUT);
    let service = Service::bind(&person.home, options).unwrap();
    let client = Caller(Client::find(&person.home).unwrap().unwrap());
    let events = Mutex::new(Vec::new());
    let notify = |event| events.lock().unwrap().push(event);
    let Person { home, device, engine, record, .. } = person;
    let files = NodeFiles::new(home);
    let run = service.run(engine, (record, device), &files, dial, notify, pending());
    let done = tokio::select! {
        () = run => unreachable!("nothing stops it"),
        done = timeout(TIMEOUT, work(client)) => done.expect("it is served in time"),
    };
    (done, events.into_inner().unwrap())
}

/// Runs a request in a thread that may block.
pub(super) async fn ask<T: Send + 'static>(
    client: &Caller,
    work: impl FnOnce(Caller) -> Result<T, CallError> + Send + 'static,
) -> T {
    let client = client.clone();
    spawn_blocking(move || work(client)).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_for_a_full_mailbox_are_sent_when_it_has_room() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 2;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    for number in 1..=5 {
        alice.say(&bob.identity, &format!("text {number}"));
    }
    let ((), events) = serving(&world, &mut alice, async |client| {
        let mut received = 0;
        while received < 5 {
            sleep(Duration::from_millis(50)).await;
            received += bob.sync(&world).await.received;
        }
        // The last frames are acknowledged after the delivery.
        while ask(&client, |it| it.status()).await.0.frames > 0 {
            sleep(Duration::from_millis(50)).await;
        }
        sleep(Duration::from_millis(500)).await;
    })
    .await;
    let expected: Vec<_> =
        (1..=5).map(|number| (alice.identity, format!("text {number}"))).collect();
    assert_eq!(bob.read(), expected);
    let changes = [ServiceEvent::MailboxFull(true), ServiceEvent::MailboxFull(false)];
    let full: Vec<_> = events.iter().filter(|it| changes.contains(it)).collect();
    assert_eq!(full, [&changes[0], &changes[1]], "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_waits_until_its_receiver_joins() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let mut bob = world.person("bob");
    alice.say(&bob.identity, "for later");
    let bob_is = Conversation::Person(bob.identity);
    serving(&world, &mut alice, async |client| {
        let report = ask(&client, |it| it.sync(1)).await;
        assert_eq!(report.skipped[0].to, bob_is);
        bob.join(&world).await;
        while ask(&client, |it| it.status()).await.0.unsent > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(bob.sync(&world).await.received, 1);
    assert_eq!(bob.read(), [(alice.identity, "for later".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_come_in_pages_and_move_to_the_history_whole() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let text = |number: usize| char::from(b'a' + u8::try_from(number).unwrap()).to_string();
    let lens = [700_000, MAX_TEXT_LEN - 1, 3, MAX_TEXT_LEN, 0, 700_000, 500_000];
    for (number, len) in lens.into_iter().enumerate() {
        bob.say(&alice.identity, &text(number).repeat(len));
    }
    bob.sync(&world).await;
    let from = bob.identity;
    let is_whole = move |texts: &[TextRow]| {
        texts.len() == lens.len()
            && texts.iter().zip(lens).enumerate().all(|(number, (it, len))| {
                it.from == from && text_of(it) == text(number).repeat(len)
            })
    };
    serving(&world, &mut alice, async move |client| {
        ask(&client, |it| it.sync(1)).await;
        let (count, history) = ask(&client, move |client| {
            let (mut after, mut texts, mut pages) = (0, Vec::new(), 0);
            while let (page, Some(next)) = client.texts(&Request::Unread { after })? {
                (after, pages) = (next, pages + 1);
                texts.extend(page);
            }
            assert!(is_whole(&texts) && pages >= 4, "{pages}");
            // Followers receive the same texts.
            let (mut followed, mut texts) = (client.follow(0)?, Vec::new());
            while texts.len() < lens.len() {
                texts.extend(followed.next()?);
            }
            assert!(is_whole(&texts));
            let numbers: Vec<_> = texts.iter().map(|it| it.number).collect();
            client.mark_read(&numbers)?;
            // Mark them again, as two commands that showed the same texts would.
            client.mark_read(&numbers)?;
            let (mut after, mut rows) = (0, Vec::new());
            loop {
                let with = Conversation::Person(from);
                let history = Request::History { with, after, limit: 256 };
                let (page, next) = client.texts(&history)?;
                rows.extend(page);
                let Some(next) = next else { break };
                after = next;
            }
            Ok((client.texts(&Request::Unread { after: 0 })?.0.len(), rows))
        })
        .await;
        assert_eq!((count, history.len()), (0, lens.len()));
        for (row, (number, len)) in history.iter().zip(lens.into_iter().enumerate()) {
            assert_eq!(text_of(row), text(number).repeat(len));
            assert!(!row.is_sent && row.from == from);
        }
    })
    .await;
    assert_eq!(status(&mut alice.engine).unwrap().unread, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_fail_after_their_attempts_and_requests_go_on() {
    let mut world = World::new();
    let mut alice = world.member("alice").await;
    let bob = world.person("bob");
    world.stop().await;
    let ((), events) = serving(&world, &mut alice, async move |client| {
        for attempts in [1, 3] {
            let failed = ask(&client, move |it| Ok(it.sync(attempts))).await;
            let is_no_hub = |it: &Error| it.to_string() == "no hub";
            assert!(matches!(&failed, Err(CallError::Failed(it)) if is_no_hub(it)));
        }
        let to = Conversation::Person(bob.identity);
        assert_eq!(ask(&client, move |it| it.say(&to, &["1", "2"])).await, 2);
        let (status, connected) = ask(&client, |it| it.status()).await;
        assert_eq!((status.unsent, connected), (2, false));
        let own = ask(&client, |it| it.status()).await.0.membership.unwrap();
        assert_eq!(own.sequence, 0);
    })
    .await;
    assert_eq!(events, [ServiceEvent::Disconnected { cause: "no hub".to_owned() }]);
}

/// The owner of the team is no contact of Bob, who imports the roster while the service runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_an_unknown_team_is_shown_when_its_roster_has_come() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    bob.people = People::default();
    let roster = group(&mut [&mut alice], &[&bob]);
    write(&mut alice, roster.id(), "to the group");
    alice.sync(&world).await;
    let home = bob.home.clone();
    serving(&world, &mut bob, async move |client| {
        ask(&client, |it| it.sync(1)).await;
        let (hidden, _) = ask(&client, |it| it.texts(&Request::Unread { after: 0 })).await;
        assert!(hidden.is_empty());
        let follow = client.clone();
        let followed = spawn_blocking(move || follow.follow(0).unwrap().next().unwrap());
        // The program that follows has got that there is nothing.
        sleep(Duration::from_millis(300)).await;
        home.groups().import(roster.as_bytes(), None, |_| true, &home.lock().unwrap()).unwrap();
        let (shown, _) = ask(&client, |it| it.texts(&Request::Unread { after: 0 })).await;
        assert_eq!(shown.iter().map(text_of).collect::<Vec<_>>(), ["to the group"]);
        let texts = timeout(Duration::from_secs(10), followed).await.expect("it follows").unwrap();
        assert_eq!(text_of(&texts[0]), "to the group");
    })
    .await;
}

/// A program that follows gets the texts of a request when it is accepted, and none of a muted
/// person. A blocked person is refused while the service runs, too.
#[tokio::test(flavor = "multi_thread")]
async fn who_follows_gets_accepted_texts_and_none_of_muted_persons() {
    let world = World::new();
    let (mut alice, mut carol) = (world.member("alice").await, world.member("carol").await);
    let mut bob = world.member("bob").await;
    bob.people = People::default();
    for (person, text) in [(&mut alice, "from alice"), (&mut carol, "from carol")] {
        person.say(&bob.identity, text);
        person.sync(&world).await;
    }
    let (of_alice, of_carol) = (alice.identity, carol.identity);
    let ((), events) = serving(&world, &mut bob, async move |client| {
        assert_eq!(ask(&client, |it| it.sync(1)).await.received, 0);
        let now = ask(&client, |it| it.status()).await.0;
        assert_eq!((now.unread, now.requests), (0, 2));
        ask(&client, move |it| it.done(&Request::Mute { person: of_alice, is_muted: true })).await;
        let follow = client.clone();
        let followed = spawn_blocking(move || follow.follow(0).unwrap().next().unwrap());
        ask(&client, move |it| it.done(&Request::Accept { person: of_alice })).await;
        ask(&client, move |it| it.done(&Request::Accept { person: of_carol })).await;
        let followed = followed.await.unwrap();
        assert_eq!(followed.iter().map(text_of).collect::<Vec<_>>(), ["from carol"]);
        let (rows, _) = ask(&client, |it| it.texts(&Request::Unread { after: 0 })).await;
        let mut shown: Vec<_> = rows.iter().map(|row| (text_of(row), row.is_muted)).collect();
        shown.sort_unstable();
        assert_eq!(shown, [("from alice", true), ("from carol", false)]);
        ask(&client, move |it| it.done(&Request::Block { person: of_alice })).await;
        let refused = spawn_blocking(move || client.say(&Conversation::Person(of_alice), &["no"]));
        let Err(CallError::Failed(error)) = refused.await.unwrap() else { panic!("not refused") };
        assert_eq!(error.kind, ErrorKind::Blocked);
    })
    .await;
    let waiting = events.iter().map(|event| match event {
        ServiceEvent::Unasked { requests, .. } => *requests,
        _ => 0,
    });
    assert_eq!(waiting.sum::<u64>(), 2);
}

/// A device that is revoked while a program follows it: the program learns it after all texts.
#[tokio::test(flavor = "multi_thread")]
async fn who_follows_learns_that_the_hub_refuses_the_device() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut second = second_device(&world, &bob, "bob second");
    second.join(&world).await;
    bob.record = second.record.clone();
    alice.say(&bob.identity, "before");
    alice.sync(&world).await;
    let ((), events) = serving(&world, &mut second, async |client| {
        let follow = client.clone();
        let mut followed = spawn_blocking(move || follow.follow(0).unwrap()).await.unwrap();
        let (mut followed, texts) = spawn_blocking(move || {
            let texts = followed.next().unwrap();
            (followed, texts)
        })
        .await
        .unwrap();
        assert_eq!(texts.iter().map(text_of).collect::<Vec<_>>(), ["before"]);
        revoke(&world, &mut bob, 2).await;
        let ended = spawn_blocking(move || followed.next().map(|_| ())).await.unwrap();
        let again = spawn_blocking(move || {
            let mut followed = client.follow(0).unwrap();
            let texts = followed.next().unwrap();
            (texts, followed.next().map(|_| ()))
        });
        let (texts, again) = again.await.unwrap();
        assert_eq!(texts.iter().map(text_of).collect::<Vec<_>>(), ["before"]);
        for ended in [ended, again] {
            let Err(CallError::Failed(error)) = ended else { panic!("{ended:?}") };
            assert_eq!(error.kind, ErrorKind::Hub { is_transient: false });
            assert_eq!(error.message, "this device was revoked, or removed from the hub");
        }
    })
    .await;
    assert!(matches!(events.last(), Some(ServiceEvent::Refused { .. })), "{events:?}");
}

/// Another peer that answers in the place of the hub does not end it.
#[tokio::test(flavor = "multi_thread")]
async fn who_follows_waits_for_the_hub_itself() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let key = bob.key();
    let of_bob = bob.identity;
    let is_hub = AtomicBool::new(false);
    let dial = async |_: &str| {
        if !is_hub.load(Relaxed) {
            return Err(DialError { cause: "another peer".to_owned(), is_transient: false });
        }
        let (endpoint, connection) = world.connect(&key).await;
        Ok(Dialed { endpoint, connection, addresses: String::new() })
    };
    let ((), events) = serving_at(dial, Duration::from_millis(200), &mut bob, async |client| {
        let follow = client.clone();
        let followed = spawn_blocking(move || follow.follow(0).unwrap().next());
        let failed = ask(&client, |it| Ok(it.sync(1))).await;
        assert!(failed.is_err());
        alice.say(&of_bob, "for later");
        alice.sync(&world).await;
        is_hub.store(true, Relaxed);
        ask(&client, |it| it.sync(3)).await;
        let texts = timeout(TIMEOUT, followed).await.expect("it follows").unwrap().unwrap();
        assert_eq!(texts.iter().map(text_of).collect::<Vec<_>>(), ["for later"]);
    })
    .await;
    assert_eq!(events.first(), Some(&ServiceEvent::Refused { cause: "another peer".to_owned() }));
}

/// A text is refused to a group without a roster, and may be cancelled while the service runs.
#[tokio::test(flavor = "multi_thread")]
async fn texts_are_cancelled_while_the_service_runs() {
    let world = World::new();
    let (mut alice, dora) = (world.member("alice").await, world.person("dora"));
    let to = Conversation::Person(dora.identity);
    let nowhere = Conversation::Group(endseal_keyring::roster::GroupId::from_bytes([7; 16]));
    serving(&world, &mut alice, async move |client| {
        ask(&client, move |it| it.say(&to, &["one", "two"])).await;
        ask(&client, |it| it.sync(1)).await;
        let unsent = ask(&client, |it| it.0.call(&Request::Unsent { after: 0 })).await;
        let Reply::Unsent(page) = unsent else { panic!("another reply") };
        assert!(page.rows.iter().all(|row| row.can_unsend && row.conversation == to));
        let numbers = vec![page.rows[0].number];
        ask(&client, move |it| it.done(&Request::Unsend { to, numbers })).await;
        assert_eq!(ask(&client, |it| it.status()).await.0.unsent, 1);
        ask(&client, move |it| it.done(&Request::UnsendAll { to })).await;
        assert!(ask(&client, |it| it.sync(1)).await.skipped.is_empty());
        let refused = spawn_blocking(move || client.say(&nowhere, &["no"])).await.unwrap();
        let Err(CallError::Failed(error)) = refused else { panic!("not refused") };
        assert_eq!(error.kind, ErrorKind::NoGroup);
    })
    .await;
}
