//! Tests of the output of a ping.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::mpsc;
use std::thread;

use endseal_codec::RichMessageView;
use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::PeerIdText;
use endseal_node::transfer::{
    Inbox, ReceiveFileError, ReceiveMessagesError, Reception, Stored, TransferQuota, receive,
};
use endseal_testing::Scratch;
use endseal_transport::{Accept, Endpoint, Limits, PeerId, Policy, TransportKey};
use serde_json::Value;
use tokio::runtime::Builder;

use crate::listener::Listener;
use crate::path::Path;
use crate::people::Person;

const ONE_WAY: Duration = Duration::from_millis(25);

#[test]
fn a_ping_shows_what_was_agreed() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let listener = Listener::start(&bob, &[]);
    let shown = alice.run(&["ping", &listener.address, "-c", "5"]).ok();
    for part in ["X25519MLKEM768 (0x11ec)", "ML-DSA-65 (0x0905)", "5 times: min "] {
        assert!(shown.text().contains(part), "{}", shown.text());
    }
    let json = alice.run(&["--json", "ping", &listener.address, "-c", "0"]).ok().json();
    assert_eq!(json["group"]["number"], 0x11ec);
    assert_eq!(json["signature"]["name"], "ML-DSA-65");
    assert_eq!((&json["echo"], &json["round_trips"]), (&Value::Null, &Value::Null));
    // A public key and a signature of ML-DSA-65 in each direction need that many bytes.
    for direction in ["bytes_sent", "bytes_received"] {
        assert!(json[direction].as_u64().unwrap() > 1_952 + 3_309, "{json}");
    }
}

#[test]
fn round_trips_are_shown_where_echoes_tell_them() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let listener = Listener::start(&bob, &[]);
    let path = Path::new(listener.host().parse().unwrap(), ONE_WAY);
    let far = format!("bob@{}", path.address());
    let trips = fewest(&alice, &far);
    assert!((0.9..1.5).contains(&trips), "{trips}");
    let shown = alice.run(&["ping", &far, "-c", "3"]).ok();
    assert!(shown.text().contains(" round trips\n"), "{}", shown.text());

    let shown = alice.run(&["ping", &far, "-c", "2"]).ok();
    assert!(shown.text().contains("round trips n/a: 3 echoes are needed\n"), "{}", shown.text());
    // The fastest of many echoes on this machine takes less than 5 ms, even if it is busy.
    let json = alice.run(&["--json", "ping", &listener.address, "-c", "50"]).ok().json();
    assert_eq!(json["round_trips"], Value::Null, "{json}");
    let shown = alice.run(&["ping", &listener.address, "-c", "50"]).ok();
    let told = "round trips n/a: path too short to measure\n";
    assert!(shown.text().contains(told), "{}", shown.text());
}

#[test]
fn a_proof_of_the_address_is_shown_as_one_round_trip_more() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let alice_id: PeerIdText = alice.peer_id().parse().unwrap();
    let careful = Careful::new(alice_id.peer_id());
    let path = Path::new(careful.address, ONE_WAY);
    let at = format!("{}@{}", PeerIdText::from(careful.peer), path.address());
    let trips = fewest(&alice, &at);
    assert!((1.9..2.5).contains(&trips), "{trips}");
    assert!(careful.endpoint.statistics().retries > 0);
}

/// Returns the fewest round trips of several pings, because the machine may be busy during some.
fn fewest(alice: &Person<'_>, at: &str) -> f64 {
    let pings = (0..4).map(|_| {
        let json = alice.run(&["--json", "ping", at, "-c", "5"]).ok().json();
        assert_eq!(json["group"]["name"], "X25519MLKEM768");
        let round_trip = json["echo"]["min_us"].as_f64().unwrap();
        assert!(round_trip >= 2.0 * ONE_WAY.as_micros() as f64, "{json}");
        json["round_trips"].as_f64().unwrap()
    });
    pings.fold(f64::MAX, f64::min)
}

/// A peer that requires address validation from all clients, as others do under load.
struct Careful {
    endpoint: Endpoint,
    peer: PeerId,
    address: SocketAddr,
}

impl Careful {
    fn new(accepted: PeerId) -> Self {
        let key = TransportKey::new(&Identity::generate(&mut OsRandom).unwrap());
        let peer = key.peer_id();
        let (bound, endpoint) = mpsc::channel();
        // The thread ends when the endpoint is closed.
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut limits = Limits::default();
                limits.retry_above = 0;
                let (here, accept) = ("127.0.0.1:0".parse().unwrap(), Accept::pinned([accepted]));
                let endpoint =
                    Endpoint::bind_with(here, &key, Policy::default(), accept, limits).unwrap();
                bound.send(endpoint.clone()).unwrap();
                while let Some(connection) = endpoint.accept().await {
                    let folder = std::env::temp_dir();
                    let reception = Reception {
                        folder,
                        max_size: 0,
                        quota: TransferQuota::new(0, 0),
                        stall: Duration::from_secs(60),
                        own: [0; 32],
                        now: || 0,
                    };
                    receive(&connection, &reception, &Nothing).await;
                }
            });
        });
        let endpoint: Endpoint = endpoint.recv().unwrap();
        let address = endpoint.local_address().unwrap();
        Self { endpoint, peer, address }
    }
}

/// An inbox that expects only echoes.
struct Nothing;

impl Inbox for Nothing {
    fn progress(&self, _: PeerId, _: u64) {}

    fn file(&self, _: PeerId, _: Result<Stored, ReceiveFileError>) {}

    fn message(&self, _: PeerId, _: &RichMessageView<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn messages(&self, _: PeerId, _: Result<u64, ReceiveMessagesError>) {}
}
