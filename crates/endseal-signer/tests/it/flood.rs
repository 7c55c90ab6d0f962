//! An unknown sender floods the signer, and an app still gets its responses.

use core::net::SocketAddr;
use core::time::Duration;

use endseal_nostr::connect::Call;
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::key::SigningKey;
use endseal_relay::address::Address;
use endseal_relay::auth::SignedEvent;
use endseal_relay::client::{self, Notification, Relay};
use endseal_test_relay::Settings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::remote::{Serving, connected, hex, now, parse, with_relay};
use crate::world::secret_key;

/// Number of events that the unknown sender sends per second.
const RATE: usize = 2_000;
/// Number of events that are sent at a time.
const STEP: usize = 40;
/// Maximum time until a response.
const LATE: Duration = Duration::from_secs(1);

/// Signs events to the app with a key that is not its client's.
fn outsiders(signer: &str, count: usize) -> Vec<SignedEvent> {
    let key = SigningKey::new(secret_key(66));
    let event = |number: usize| {
        let content = format!("{number:0132}");
        let tags: &[&[&str]] = &[&["p", signer]];
        let (tags, content) = (Tags::List(tags), content.as_str().into());
        let template = Template { pubkey: None, created_at: now(), kind: 24_133, tags, content };
        SignedEvent::from(&template.sign(&key, &[0; 32]).unwrap())
    };
    (0..count).map(event).collect()
}

/// Sends the events at `RATE`.
async fn flood(relay: Relay, events: Vec<SignedEvent>) {
    let mut ticks = interval(Duration::from_secs(1) / u32::try_from(RATE / STEP).unwrap());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for events in events.chunks(STEP) {
        ticks.tick().await;
        for event in events {
            assert!(relay.publish(event).is_empty(), "the connection is slower than the sender");
        }
    }
    relay.stop(Duration::from_secs(60)).await;
}

/// Returns the number of events that were ignored because of their author.
async fn ignored(metrics: SocketAddr) -> usize {
    let mut stream = TcpStream::connect(metrics).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let name = "endseal_signer_ignored_total{cause=\"unknown-sender\"} ";
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
}

#[test]
fn an_app_is_answered_while_an_outsider_sends_without_a_pause() {
    ask_amid_a_flood(400, None);
}

#[test]
#[ignore = "nightly: measures time"]
fn an_app_is_answered_within_a_second_while_an_outsider_sends_2000_events_a_second() {
    ask_amid_a_flood(5 * RATE, Some(LATE));
}

/// Sends requests of an app one after another, while an unknown sender sends `count` events. Each
/// response must arrive within `late`.
fn ask_amid_a_flood(count: usize, late: Option<Duration>) {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        let uri = signer.invite("sign:1").await;
        let mut app = connected(&uri, 7).await;
        let transport = hex(&parse(&uri, &mut vec![0; uri.len()]).signer.to_bytes());
        let events = outsiders(&transport, count);
        let (sender, mut notifications) = mpsc::channel(4_096);
        let settings = client::Settings::new(Address::parse(&relay.url()).unwrap());
        let outsider = Relay::start(settings, 0, sender);
        while !matches!(notifications.recv().await, Some((_, Notification::Connected))) {}
        tokio::spawn(async move { while notifications.recv().await.is_some() {} });
        let flood = tokio::spawn(flood(outsider, events));
        let mut answers = 0;
        while answers == 0 || !flood.is_finished() {
            let asked = Instant::now();
            assert_eq!(*app.call(&Call::Ping, now()).await.unwrap(), "pong");
            assert!(late.is_none_or(|late| asked.elapsed() < late), "{:?}", asked.elapsed());
            answers += 1;
            sleep(Duration::from_millis(20)).await;
        }
        assert!(answers > 5 || late.is_none(), "{answers}");
        flood.await.unwrap();
        // All of the events have arrived at the signer.
        let end = Instant::now() + Duration::from_secs(60);
        while ignored(signer.metrics).await < count {
            assert!(Instant::now() < end, "{}", ignored(signer.metrics).await);
            sleep(Duration::from_millis(50)).await;
        }
        signer.end().await;
    });
}
