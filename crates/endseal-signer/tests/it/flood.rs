//! An unknown sender floods the signer, and an app still gets its responses.

use core::cell::Cell;
use core::net::SocketAddr;
use core::time::Duration;

use endseal_nostr::connect::Call;
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::key::SigningKey;
use endseal_relay::auth::SignedEvent;
use endseal_test_relay::{Server, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::remote::{Serving, connected, hex, now, parse, with_relay};
use crate::world::secret_key;

/// Number of events that the unknown sender sends per second.
const RATE: usize = 2_000;
/// Number of events that are sent at a time.
const STEP: usize = 40;
/// Maximum time until a response.
const LATE: Duration = Duration::from_secs(1);

/// Signs events to the app with a key that is not its client's, with contents of `len` bytes.
fn outsiders(signer: &str, count: usize, len: usize) -> Vec<SignedEvent> {
    let key = SigningKey::new(secret_key(66));
    let event = |number: usize| {
        let content = format!("{number:0132}{}", "x".repeat(len.saturating_sub(132)));
        let tags: &[&[&str]] = &[&["p", signer]];
        let (tags, content) = (Tags::List(tags), content.as_str().into());
        let template = Template { pubkey: None, created_at: now(), kind: 24_133, tags, content };
        SignedEvent::from(&template.sign(&key, &[0; 32]).unwrap())
    };
    (0..count).map(event).collect()
}

/// Has the relay forward `rate` events per second, `step` at a time.
async fn forward(relay: &Server, events: &[SignedEvent], rate: usize, step: usize) {
    let mut ticks = interval(Duration::from_secs(1) / u32::try_from(rate / step).unwrap());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for events in events.chunks(step) {
        ticks.tick().await;
        assert!(events.iter().all(|event| relay.forward(&event.json)));
    }
}

/// Returns the number of events that were ignored because of their author or their size.
async fn ignored(metrics: SocketAddr) -> usize {
    let mut stream = TcpStream::connect(metrics).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let of = |cause: &str| {
        let name = format!("endseal_signer_ignored_total{{cause=\"{cause}\"}} ");
        let count = text.lines().find_map(|line| line.strip_prefix(name.as_str()));
        count.unwrap().parse::<usize>().unwrap()
    };
    of("unknown-sender") + of("size")
}

#[test]
fn an_app_is_answered_while_an_outsider_sends_without_a_pause() {
    ask_amid_floods(&[Flood { count: 400, rate: RATE, step: STEP, len: 132 }], None);
}

#[test]
#[ignore = "nightly: measures time"]
fn an_app_is_answered_within_a_second_while_an_outsider_sends_2000_events_a_second() {
    ask_amid_floods(&[Flood { count: 5 * RATE, rate: RATE, step: STEP, len: 132 }], Some(LATE));
}

/// Sizes of events, of which the first is above the limit of a message.
const SIZES: [usize; 3] = [660_000, 64_000, 1_000];

#[test]
fn an_app_is_answered_while_an_outsider_sends_large_events() {
    let floods = SIZES.map(|len| Flood { count: 15, rate: 50, step: 1, len });
    ask_amid_floods(&floods, None);
}

#[test]
#[ignore = "nightly: measures time"]
fn an_app_is_answered_within_a_second_whatever_the_size_of_an_outsiders_events() {
    let floods =
        SIZES.map(|len| [1, 10, 100].map(|rate| Flood { count: 5 * rate, rate, step: 1, len }));
    ask_amid_floods(floods.as_flattened(), Some(LATE));
}

/// Events of an unknown sender.
struct Flood {
    count: usize,
    /// Events per second.
    rate: usize,
    /// Events at a time.
    step: usize,
    /// Length of their contents in bytes.
    len: usize,
}

/// Sends requests of an app one after another, while an unknown sender sends events. Each response
/// must arrive within `late`.
fn ask_amid_floods(floods: &[Flood], late: Option<Duration>) {
    let mut settings = Settings::default();
    settings.limits.message = 2 << 20;
    settings.limits.queued_bytes = 64 << 20;
    with_relay(settings, async |relay| {
        let signer = Serving::start(relay).await;
        let uri = signer.invite("sign:1").await;
        let mut app = connected(&uri, 7).await;
        let transport = hex(&parse(&uri, &mut vec![0; uri.len()]).signer.to_bytes());
        let mut sent = 0;
        for Flood { count, rate, step, len } in floods {
            let events = outsiders(&transport, *count, *len);
            let (mut answers, is_over) = (0, Cell::new(false));
            let ask = async {
                while answers == 0 || !is_over.get() {
                    let asked = Instant::now();
                    assert_eq!(*app.call(&Call::Ping, now()).await.unwrap(), "pong");
                    let elapsed = asked.elapsed();
                    assert!(late.is_none_or(|late| elapsed < late), "{elapsed:?} {len} {rate}");
                    answers += 1;
                    sleep(Duration::from_millis(20)).await;
                }
            };
            let flood = async {
                forward(relay, &events, *rate, *step).await;
                is_over.set(true);
            };
            tokio::join!(ask, flood);
            assert!(answers > 5 || late.is_none(), "{answers}");
            // All of the events have arrived at the signer.
            sent += count;
            let end = Instant::now() + Duration::from_secs(60);
            while ignored(signer.metrics).await < sent {
                assert!(Instant::now() < end, "{}", ignored(signer.metrics).await);
                sleep(Duration::from_millis(50)).await;
            }
        }
        signer.end().await;
    });
}
