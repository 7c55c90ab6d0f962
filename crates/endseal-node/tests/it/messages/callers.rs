//! Callers of a service's socket: many at once, and some that close the connection early.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use endseal_codec::hub::{Code, Request};
use endseal_node::api::{CallError, ErrorKind, Id, Request as ApiRequest, SecretText};
use endseal_node::messages::{Conversation, status};
use endseal_node::service::{DialError, Dialed};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use super::faults::{Lies, Memory};
use super::hostile_hub::refused;
use super::liar::Liar;
use super::service::{Caller, ask, serving_at};
use super::world::World;

async fn no_hub(_: &str) -> Result<Dialed, DialError> {
    Err(DialError { cause: "no hub".to_owned(), is_transient: true })
}

/// Many callers at once: each is served, or refused before its text is stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_texts_is_kept_or_refused() {
    const CALLERS: usize = 100;
    let world = World::new();
    let (mut alice, bob) = (world.person("alice"), world.person("bob"));
    let to = Conversation::Person(bob.identity);
    let ((kept, busy, others), _) =
        serving_at(no_hub, Duration::from_secs(60), &mut alice, async |client: Caller| {
            let mut callers = JoinSet::new();
            for _ in 0..CALLERS {
                let client = client.clone();
                // A long text is not received by the remote side at once.
                let text = "x".repeat(400_000);
                callers.spawn_blocking(move || client.say(&to, &[&text]));
            }
            let (mut kept, mut busy, mut others) = (0, 0, Vec::new());
            while let Some(said) = callers.join_next().await {
                match said.unwrap() {
                    Ok(count) => kept += count,
                    Err(CallError::Failed(error)) if error.kind == ErrorKind::Busy => busy += 1,
                    Err(error) => others.push(error.to_string()),
                }
            }
            (kept, busy, others)
        })
        .await;
    assert!(others.is_empty(), "{} of {CALLERS}: {}", others.len(), others[0]);
    assert_eq!((kept + busy, status(&mut alice.engine).unwrap().unsent), (CALLERS as u64, kept));
    assert!(kept > 0);
}

/// On one thread the service notices that the callers are gone before it executes their requests.
#[tokio::test]
async fn requests_of_callers_who_gave_up_are_not_done() {
    let world = World::new();
    let (mut alice, bob) = (world.person("alice"), world.person("bob"));
    let to = Conversation::Person(bob.identity);
    let texts = vec![SecretText::new("gone".to_owned())];
    let say = ApiRequest::Say { to, texts }.to_line(&Id::Number(1)).unwrap();
    let home = alice.home.clone();
    let gone = async |client: Caller| {
        for _ in 0..10 {
            let mut caller = UnixStream::connect(home.path().join("node.sock")).unwrap();
            caller.write_all(&say).unwrap();
        }
        ask(&client, move |it| it.say(&to, &["there"])).await;
        ask(&client, |it| it.status()).await.0.unsent
    };
    let (unsent, _) = serving_at(no_hub, Duration::from_secs(60), &mut alice, gone).await;
    assert_eq!(unsent, 1, "texts of callers who are gone were kept");
}

/// `sync` fails if the hub refuses the messages, and succeeds when the hub accepts them.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_hub_is_no_success() {
    let world = World::new();
    let (memory, is_refusing) = (Mutex::new(Memory::default()), Arc::new(AtomicBool::new(true)));
    let is_refused = Arc::clone(&is_refusing);
    let hub = Liar::new(move |peer, request| match request {
        Request::Put(_) if is_refused.load(Ordering::SeqCst) => Some(vec![refused(Code::STORAGE)]),
        other => Some(memory.lock().unwrap().answers(*peer.as_bytes(), other, &Lies::default())),
    });
    let (mut alice, bob) = (hub.member(&world, "alice").await, hub.member(&world, "bob").await);
    alice.say(&bob.identity, "text");
    let key = alice.key();
    let dial = async |_: &str| {
        let (endpoint, connection) = hub.connect(&key).await;
        Ok(Dialed { endpoint, connection, addresses: String::new() })
    };
    let retry = Duration::from_millis(100);
    let ((), _) = serving_at(dial, retry, &mut alice, async move |client| {
        for attempts in [1, 3] {
            let failed = ask(&client, move |it| Ok(it.sync(attempts))).await;
            let Err(CallError::Failed(error)) = failed else { panic!("{attempts} attempts") };
            assert_eq!(error.kind, ErrorKind::Hub { is_transient: true });
        }
        let later = client.clone();
        let later = spawn_blocking(move || later.sync(100));
        // The service stays connected meanwhile.
        assert!(ask(&client, |it| it.status()).await.1);
        is_refusing.store(false, Ordering::SeqCst);
        assert_eq!(later.await.unwrap().unwrap().sent, 1);
        assert_eq!(ask(&client, |it| it.sync(1)).await.sent, 0);
    })
    .await;
}

/// A hub that temporarily accepts nothing is not asked again because of new texts.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_does_not_shorten_the_wait_after_a_refusal() {
    let world = World::new();
    let (memory, puts) = (Mutex::new(Memory::default()), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&puts);
    let hub = Liar::new(move |peer, request| match request {
        Request::Put(_) => {
            counted.fetch_add(1, Ordering::SeqCst);
            Some(vec![refused(Code::STORAGE)])
        }
        other => Some(memory.lock().unwrap().answers(*peer.as_bytes(), other, &Lies::default())),
    });
    let (mut alice, bob) = (hub.member(&world, "alice").await, hub.member(&world, "bob").await);
    let key = alice.key();
    let dial = async |_: &str| {
        let (endpoint, connection) = hub.connect(&key).await;
        Ok(Dialed { endpoint, connection, addresses: String::new() })
    };
    let to = Conversation::Person(bob.identity);
    serving_at(dial, Duration::from_secs(60), &mut alice, async move |client| {
        for _ in 0..30 {
            ask(&client, move |it| it.say(&to, &["text"])).await;
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let puts = puts.load(Ordering::SeqCst);
    assert!((1..10).contains(&puts), "{puts} attempts");
}
