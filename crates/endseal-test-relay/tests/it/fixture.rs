//! Keys, events, clients and relays for the tests.

use std::future::Future;
use std::time::Duration;

use endseal_crypto::secp256k1::{SecretKey, SigningKey};
use endseal_crypto::sha256;
use endseal_nostr::event::{Event, Tags, Template};
use endseal_relay::address::Address;
use endseal_relay::auth::SignedEvent;
use endseal_relay::client::{Notification, Relay, Settings};
use endseal_relay::message::Filter;
use endseal_test_relay::{Server, Settings as ServerSettings};
pub(crate) use endseal_testing::hex;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// Time limit of waiting, which is reached only if a test fails.
pub(crate) const LATE: Duration = Duration::from_secs(60);
/// Time in which nothing must arrive.
pub(crate) const SOON: Duration = Duration::from_millis(300);

pub(crate) fn key(label: &str) -> SigningKey {
    SigningKey::new(SecretKey::from_bytes(&sha256::digest(label.as_bytes())).unwrap())
}

pub(crate) fn public(label: &str) -> String {
    hex(&key(label).public_key().to_bytes())
}

pub(crate) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Creates an event of `author` with any tags.
pub(crate) fn event_of(
    author: &str,
    kind: u16,
    created_at: u64,
    tags: &[&[&str]],
    content: &str,
) -> SignedEvent {
    let (tags, content) = (Tags::List(tags), content.into());
    let template = Template { pubkey: None, created_at, kind, tags, content };
    SignedEvent::from(&template.sign(&key(author), &[0; 32]).unwrap())
}

/// Creates a message of remote signing to `receiver`.
pub(crate) fn message_to(receiver: &str, content: &str) -> SignedEvent {
    event_of("sender", 24_133, now(), &[&["p", &public(receiver)]], content)
}

pub(crate) fn filter(receivers: &[&str]) -> Filter {
    let keys = receivers.iter().map(|receiver| public(receiver)).collect();
    Filter { kinds: Some(vec![24_133]), tags: vec![('p', keys)], ..Filter::default() }
}

pub(crate) fn content(json: &[u8]) -> String {
    Event::parse(json).unwrap().content.to_string()
}

pub(crate) async fn server() -> Server {
    server_with(ServerSettings::default()).await
}

pub(crate) async fn server_with(settings: ServerSettings) -> Server {
    Server::bind("127.0.0.1:0".parse().unwrap(), settings).await.unwrap()
}

/// Returns settings with short waiting times.
pub(crate) fn settings(url: &str) -> Settings {
    let mut settings = Settings::new(Address::parse(url).unwrap());
    settings.timing.first_wait = Duration::from_millis(20);
    settings.timing.longest_wait = Duration::from_millis(100);
    settings.information = false;
    settings
}

pub(crate) struct Client {
    pub(crate) relay: Relay,
    pub(crate) notifications: mpsc::Receiver<(usize, Notification)>,
}

impl Client {
    pub(crate) fn start(settings: Settings) -> Self {
        Self::with_channel(settings, 64)
    }

    pub(crate) fn with_channel(settings: Settings, space: usize) -> Self {
        let (sender, notifications) = mpsc::channel(space);
        Self { relay: Relay::start(settings, 7, sender), notifications }
    }

    /// Connects a client that subscribes to events for `receivers`.
    pub(crate) async fn subscribed(server: &Server, receivers: &[&str]) -> Self {
        let before = server.subscriptions();
        let mut client = Self::start(settings(&server.url()));
        client.relay.subscribe(Some(filter(receivers)));
        client.connected().await;
        until(async || server.subscriptions() > before).await;
        client
    }

    pub(crate) async fn next(&mut self) -> Notification {
        let (number, notification) =
            timeout(LATE, self.notifications.recv()).await.expect("a notification").unwrap();
        assert_eq!(number, 7);
        notification
    }

    /// Reads notifications until `wanted` returns a value.
    pub(crate) async fn find<T>(
        &mut self,
        mut wanted: impl FnMut(&Notification) -> Option<T>,
    ) -> T {
        loop {
            if let Some(found) = wanted(&self.next().await) {
                return found;
            }
        }
    }

    pub(crate) async fn connected(&mut self) {
        self.find(|notification| matches!(notification, Notification::Connected).then_some(()))
            .await;
    }

    /// Returns the number of the next subscription that the relay confirms.
    pub(crate) async fn subscribed_to(&mut self) -> u64 {
        self.find(|notification| match notification {
            Notification::Subscribed(number) => Some(*number),
            _ => None,
        })
        .await
    }

    /// Returns the JSON of the next event.
    pub(crate) async fn event(&mut self) -> Vec<u8> {
        self.find(|notification| match notification {
            Notification::Event(json) => Some(json.to_vec()),
            _ => None,
        })
        .await
    }

    /// Waits for the relay's answer to an event.
    pub(crate) async fn result(&mut self, event: &SignedEvent) -> (bool, String) {
        self.find(|notification| match notification {
            Notification::Result { id, accepted, reason } if *id == event.id => {
                Some((*accepted, reason.clone()))
            }
            _ => None,
        })
        .await
    }

    /// Returns the contents of the next `count` events.
    pub(crate) async fn contents(&mut self, count: usize) -> Vec<String> {
        let mut contents = Vec::new();
        for _ in 0..count {
            contents.push(content(&self.event().await));
        }
        contents
    }

    /// Fails if an event arrives within a short time.
    pub(crate) async fn hears_nothing(&mut self) {
        let event = timeout(SOON, self.event()).await;
        assert!(event.is_err(), "{}", String::from_utf8_lossy(&event.unwrap()));
    }

    pub(crate) fn publish(&self, event: &SignedEvent) {
        assert!(self.relay.publish(event).is_empty());
    }
}

/// Waits until a condition is true.
pub(crate) async fn until(condition: impl AsyncFn() -> bool) {
    let wait = async {
        while !condition().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LATE, wait).await.expect("the condition holds in time");
}

/// Fails if `future` takes too long.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(LATE, future).await.expect("it ends in time")
}
