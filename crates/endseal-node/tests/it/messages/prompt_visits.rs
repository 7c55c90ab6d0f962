//! Syncs over connections that are slow and break.

use core::time::Duration;
use std::sync::Mutex;

use endseal_codec::hub::{Answer, CaughtUp, Deliver, Request};
use endseal_node::messages::status;
use endseal_node::service::Dialed;
use tokio::sync::watch;
use tokio::time::timeout;

use super::faults::{Lies, Memory};
use super::hostile_hub::{deliver, junk};
use super::liar::{Liar, Line};
use super::service::serving_at;
use super::world::{Person, World};

/// A hub behind a slow connection, which delivers the frames after the subscribed position.
fn hub(line: Line) -> Liar {
    let memory = Mutex::new(Memory::default());
    Liar::behind(line, move |peer, request| {
        let mut memory = memory.lock().unwrap();
        Some(match request {
            Request::Subscribe(it) => {
                let frames = memory.boxes.get(peer.as_bytes()).cloned().unwrap_or_default();
                let left = (1..).zip(frames).filter(|(position, _)| *position > it.after);
                let deliver = |(position, frame): (u64, Vec<u8>)| {
                    let frame = frame.into();
                    Answer::Deliver(Deliver { position, frame })
                };
                let mut answers: Vec<_> = left.map(deliver).collect();
                answers.push(Answer::CaughtUp(CaughtUp::default()));
                answers
            }
            other => memory.answers(*peer.as_bytes(), other, &Lies::default()),
        })
    })
}

/// Makes Bob, to whom Alice has written numbered texts.
async fn receiver(hub: &Liar, world: &World, count: usize) -> Person {
    let (mut alice, bob) = (hub.member(world, "alice").await, hub.member(world, "bob").await);
    for number in 0..count {
        alice.say(&bob.identity, &number.to_string());
    }
    hub.visit(&mut alice).await.1.unwrap();
    bob
}

fn numbers(person: &mut Person) -> Vec<usize> {
    person.read().into_iter().map(|(_, text)| text.parse().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_visit_over_a_line_that_breaks_keeps_what_came() {
    const TEXTS: usize = 12;
    for pace in [20, 200] {
        let world = World::new();
        let hub = hub(Line { pace: Duration::from_millis(pace), cut: 6 });
        let mut bob = receiver(&hub, &world, TEXTS).await;
        let mut visits = 1;
        while hub.visit(&mut bob).await.1.is_err() {
            visits += 1;
            assert!(visits <= TEXTS / 4, "with {pace} ms no visit ends");
        }
        assert_eq!(numbers(&mut bob), (0..TEXTS).collect::<Vec<_>>());
    }
}

/// A process that is killed during a sync has opened all frames except those of the last second.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: measures time"]
async fn frames_are_opened_within_a_second() {
    let world = World::new();
    let hub = hub(Line { pace: Duration::from_millis(50), cut: usize::MAX });
    let mut bob = receiver(&hub, &world, 200).await;
    let cut = timeout(Duration::from_secs(4), hub.visit(&mut bob)).await;
    assert!(cut.is_err(), "the visit takes ten seconds");
    let mut bob = bob.restart();
    let kept = status(&mut bob.engine).unwrap().unread;
    assert!((20..100).contains(&kept), "{kept} were kept");
    let kept: usize = kept.try_into().unwrap();
    assert_eq!(numbers(&mut bob), (0..kept).collect::<Vec<_>>());
    assert_eq!(hub.visit(&mut bob).await.0.received, 200 - kept as u64);
}

/// An endless series of messages of unknown groups does not delay outgoing texts.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_keeps_no_text_from_leaving() {
    let world = World::new();
    let mallory = world.person("mallory");
    for is_stay in [false, true] {
        let frames: Vec<_> = (1..=1_000).map(|sequence| junk(&mallory, sequence)).collect();
        let (left, has_left) = watch::channel(false);
        let memory = Mutex::new(Memory::default());
        // The series lasts for a minute.
        let line = Line { pace: Duration::from_millis(60), cut: usize::MAX };
        let hub = Liar::behind(line, move |peer, request| {
            Some(match request {
                Request::Subscribe(_) => {
                    (1..).zip(&frames).map(|(at, frame)| deliver(at, frame)).collect()
                }
                other => {
                    left.send_if_modified(|left| {
                        *left |= matches!(other, Request::Put(_));
                        *left
                    });
                    memory.lock().unwrap().answers(*peer.as_bytes(), other, &Lies::default())
                }
            })
        });
        let name = |it: &str| format!("{it} {is_stay}");
        let mut alice = hub.member(&world, &name("alice")).await;
        let bob = hub.member(&world, &name("bob")).await;
        alice.say(&bob.identity, "text");
        let key = alice.key();
        let dial = async |_: &str| {
            let (endpoint, connection) = hub.connect(&key).await;
            Ok(Dialed { endpoint, connection, addresses: String::new() })
        };
        let mut has_left = has_left;
        let has_left = async move { has_left.wait_for(|it| *it).await.map(drop).unwrap() };
        let sent = async {
            if is_stay {
                let retry = Duration::from_secs(60);
                serving_at(dial, retry, &mut alice, async move |_| has_left.await).await;
            } else {
                tokio::select! {
                    _ = hub.visit(&mut alice) => panic!("the flood ends first"),
                    () = has_left => {}
                }
            }
        };
        timeout(Duration::from_secs(50), sent).await.expect("the text leaves amid the flood");
    }
}
