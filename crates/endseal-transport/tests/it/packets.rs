//! Packet lengths: as large as both sides and the whole path allow.

use std::net::SocketAddr;

use endseal_transport::{Limits, Policy};

use crate::pair::{Pair, eventually, frame, limits};
use crate::proxy::{Proxy, Weather};

const SMALLEST: u16 = 1200;
const ETHERNET: u16 = 1452;
const LONGEST: u16 = 6550;

fn at_most(mtu: u16) -> Limits {
    let mut limits = limits();
    limits.mtu = mtu;
    limits
}

/// Returns the packet lengths that both sides settle on while they exchange messages of several
/// packets.
async fn settled(pair: Pair, address: SocketAddr, wanted: impl Fn(u16) -> bool) -> (u16, u16) {
    let (asked, taken) = pair.connect(address).await;
    let (asked_path, taken_path) = (asked.clone(), taken.clone());
    let now = move || (asked_path.path().mtu, taken_path.path().mtu);
    let talk = async {
        for i in 0.. {
            asked.send_control(&frame(i, 10_000)).await.unwrap();
            assert_eq!(taken.receive_control().await.unwrap(), Some(frame(i, 10_000)));
            taken.send_control(&frame(i, 10_000)).await.unwrap();
            assert_eq!(asked.receive_control().await.unwrap(), Some(frame(i, 10_000)));
        }
    };
    tokio::select! {
        () = talk => {}
        _ = eventually(|| wanted(now().0) && wanted(now().1)) => {}
    }
    now()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interface_that_takes_long_packets_gets_them() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let address = pair.address();
    let found = settled(pair, address, |mtu| mtu == LONGEST).await;
    assert_eq!(found, (LONGEST, LONGEST));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_loses_long_packets_carries_short_ones() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let weather = Weather { longest: Some(1472), ..Weather::default() };
    let proxy = Proxy::new(pair.address(), weather, 1).await;
    let near = |mtu| (1440..=1472).contains(&mtu);
    let (asked, taken) = settled(pair, proxy.address(), near).await;
    assert!(near(asked) && near(taken), "{asked} {taken}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_one_is_sent_longer_ones_than_it_receives() {
    let (one, two) = (Pair::new(Policy::Hybrid, limits()), at_most(ETHERNET));
    let pair = Pair { client: one.client, server: Pair::new(Policy::Hybrid, two).server };
    let address = pair.address();
    let found = settled(pair, address, |mtu| mtu == ETHERNET).await;
    assert_eq!(found, (ETHERNET, ETHERNET));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_out_of_bounds_is_the_bound() {
    for (limit, bound) in [(0, SMALLEST), (u16::MAX, LONGEST)] {
        let pair = Pair::new(Policy::Hybrid, at_most(limit));
        let address = pair.address();
        let found = settled(pair, address, |mtu| mtu == bound).await;
        assert_eq!(found, (bound, bound));
    }
}
