//! Post-quantum handshakes take as many round trips as classical ones, and report the number.

use std::time::{Duration, Instant};

use endseal_transport::{Connection, HandshakeInfo, Limits, Policy};

use crate::pair::{Pair, frame, limits};
use crate::proxy::{Proxy, Weather};

const ONE_WAY: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: measures time"]
async fn every_policy_connects_in_one_round_trip() {
    for policy in [Policy::Classical, Policy::Hybrid, Policy::MlKem768Only] {
        let (by_clock, by_echo) = fewest(policy, limits()).await;
        assert!((1.0..1.9).contains(&by_clock), "{policy:?}: {by_clock} round trips");
        assert!((0.9..1.9).contains(&by_echo), "{policy:?}: {by_echo} round trips");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: measures time"]
async fn a_proof_of_the_address_is_one_more() {
    let mut careful = limits();
    careful.retry_above = 0;
    let (by_clock, by_echo) = fewest(Policy::Hybrid, careful).await;
    assert!((2.0..2.9).contains(&by_clock), "{by_clock} round trips");
    assert!((1.9..2.9).contains(&by_echo), "{by_echo} round trips");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_path_does_not_tell_round_trips() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let (asked, _taken) = pair.connect(pair.address()).await;
    let just_short = HandshakeInfo::LONG_ENOUGH - Duration::from_nanos(1);
    assert_eq!(asked.handshake().round_trips(just_short), None);
    assert_eq!(asked.handshake().round_trips(Duration::ZERO), None);
    let trips = asked.handshake().round_trips(asked.handshake().duration * 4);
    assert_eq!(
        trips,
        (asked.handshake().duration >= HandshakeInfo::LONG_ENOUGH / 4).then_some(0.25)
    );
}

/// Returns the smallest number of round trips of some handshakes: computed from the known delay of
/// the path, and from measured echoes only. The machine may be busy, so the minimum shows what the
/// protocol needs.
async fn fewest(policy: Policy, limits: Limits) -> (f64, f64) {
    let mut fewest = (f64::MAX, f64::MAX);
    for seed in 0..4 {
        let pair = Pair::new(policy, limits.clone());
        let weather = Weather { delay: ONE_WAY, ..Weather::default() };
        let proxy = Proxy::new(pair.address(), weather, seed).await;
        let (asked, taken) = pair.connect(proxy.address()).await;
        let by_clock = asked.handshake().duration.as_secs_f64() / (2 * ONE_WAY).as_secs_f64();
        let by_echo = asked.handshake().round_trips(echo(&asked, &taken).await).unwrap();
        fewest = (fewest.0.min(by_clock), fewest.1.min(by_echo));
    }
    fewest
}

/// Returns the fastest of some echoes.
async fn echo(asked: &Connection, taken: &Connection) -> Duration {
    let answering = async {
        let (mut answers, mut stream) = taken.accept_exchange().await.unwrap();
        while let Some(frame) = stream.receive().await.unwrap() {
            answers.send(&frame).await.unwrap();
        }
    };
    let asking = async {
        let (mut stream, mut answers) = asked.open_exchange().await.unwrap();
        let mut fastest = Duration::MAX;
        for number in 0..4 {
            let started = Instant::now();
            stream.send(&frame(number, 32)).await.unwrap();
            assert_eq!(answers.receive().await, Ok(Some(frame(number, 32))));
            fastest = fastest.min(started.elapsed());
        }
        stream.end().await.unwrap();
        fastest
    };
    tokio::join!(asking, answering).0
}
