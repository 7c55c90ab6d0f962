//! Two peers on one machine that know each other.

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_transport::{Accept, Connection, Endpoint, Limits, Policy, TransportKey};
use tokio::runtime::{Builder, Runtime};

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) struct Pair {
    asking: Endpoint,
    taking: Endpoint,
}

impl Pair {
    pub(crate) async fn new() -> Self {
        Self::with_asking_limits(Limits::default()).await
    }

    /// Makes a pair whose connecting side has these limits.
    pub(crate) async fn with_asking_limits(limits: Limits) -> Self {
        let key = || TransportKey::new(&Identity::generate(&mut OsRandom).unwrap());
        let (asking, taking) = (key(), key());
        let here = "127.0.0.1:0".parse().unwrap();
        let accept = Accept::pinned([asking.peer_id()]);
        let asks = Endpoint::bind_with(here, &asking, Policy::default(), Accept::none(), limits);
        let takes = Endpoint::bind(here, &taking, Policy::default(), accept);
        Self { asking: asks.unwrap(), taking: takes.unwrap() }
    }

    /// Makes a new connection. Returns the connecting side and the accepting side.
    pub(crate) async fn connect(&self) -> (Connection, Connection) {
        let address = self.taking.local_address().unwrap();
        let asked = self.asking.connect(self.taking.peer_id(), address);
        let (asked, taken) = tokio::join!(asked, self.taking.accept());
        (asked.unwrap(), taken.unwrap())
    }
}
