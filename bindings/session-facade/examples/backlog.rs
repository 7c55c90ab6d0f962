//! Times the engine without any binding: `backlog STORE MESSAGES` prints the nanoseconds of one
//! batch in one transaction. bindings/kotlin/bench writes both arguments.
#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

use std::path::Path;
use std::time::Instant;

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::olm::OlmAccount;
use endseal_session::{BatchOptions, Engine, Envelope, Outcome};
use endseal_store::{OpenOptions, OuterKey, Store, Unlock};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (store, messages) = (arguments.next().unwrap(), arguments.next().unwrap());
    let file = std::fs::read(messages).unwrap();
    let messages = read(&file);
    let key = OuterKey::from_bytes(&core::array::from_fn(|n| u8::try_from(n).unwrap()));
    let store = Store::open(Path::new(&store), Unlock::OuterKey(&key), OpenOptions::new()).unwrap();
    let mut engine = Engine::<OlmAccount>::open(store).unwrap();
    let start = Instant::now();
    let envelopes: Vec<_> =
        messages.iter().map(|(id, from, body)| Envelope::from_device(id, *from, body)).collect();
    let report = engine.decrypt_batch(&envelopes, &BatchOptions::whole()).unwrap();
    let time = start.elapsed();
    assert!(report.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
    println!("{}", time.as_nanos());
}

/// Reads messages of first devices: a count, then id, identity and ciphertext of each with lengths.
fn read(file: &[u8]) -> Vec<(&[u8], Address, &[u8])> {
    let (count, mut rest) = number(file);
    let mut part = || {
        let (len, after) = number(rest);
        let (part, after) = after.split_at(len);
        rest = after;
        part
    };
    let device = DeviceId::new(1).unwrap();
    (0..count)
        .map(|_| {
            let (id, identity, body) = (part(), part(), part());
            let identity = PublicKey::from_bytes(identity.try_into().unwrap()).unwrap();
            (id, Address { identity, device }, body)
        })
        .collect()
}

fn number(bytes: &[u8]) -> (usize, &[u8]) {
    let (number, rest) = bytes.split_first_chunk().expect("the file was cut");
    (usize::try_from(u32::from_be_bytes(*number)).unwrap(), rest)
}
