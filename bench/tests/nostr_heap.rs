//! The Nostr core allocates nothing, for valid and for hostile input. This is a program of its own,
//! because its global allocator counts for the whole program.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, reason = "tests run where there is an operating system")]

use std::fs;
use std::path::Path;

use endseal_bench::allocation::{CountingAllocator, measure};
use endseal_crypto::random::OsRandom;
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::gift_wrap::{Layer, Lifetime, Wrapping, unwrap, wrap};
use endseal_nostr::json::Text;
use endseal_nostr::key::{SecretKey, SigningKey};
use endseal_nostr::nip44::{Cache, Conversation, Lengths, payload_len};
use endseal_nostr::{event::Event, nip04};
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Asserts that `work` allocates nothing.
#[track_caller]
fn free<T>(work: impl FnOnce() -> T) -> T {
    let mut result = None;
    let counted = measure(|| result = Some(work()));
    assert_eq!((counted.calls, counted.peak), (0, 0));
    result.unwrap()
}

fn key(byte: u8) -> SecretKey {
    SecretKey::from_bytes(&[byte; 32]).unwrap()
}

/// Returns the texts of a field in a file of vectors.
fn texts(file: &str, field: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/nostr").join(file);
    let Value::Array(cases) = serde_json::from_slice(&fs::read(path).unwrap()).unwrap() else {
        panic!("{file} is no list")
    };
    cases.iter().filter_map(|case| case[field].as_str()).map(str::to_owned).collect()
}

// One test, because the counters belong to the whole program.
#[test]
fn nothing_is_allocated() {
    let counted = measure(|| drop(core::hint::black_box(vec![1_u8; 1_000])));
    assert_eq!((counted.calls, counted.peak), (1, 1_000), "counting is on");

    // The curve's library builds its tables, and the random generator its state, at the first use.
    let warm = SigningKey::new(SecretKey::generate(&mut OsRandom).unwrap());
    let _x = warm.secret_key().ecdh_x(warm.public_key());
    let _signature = warm.sign(&[1; 32], &[2; 32]);
    payloads();
    wraps();
    hostile_input();
}

fn payloads() {
    let (a, b) = (key(3), key(5));
    let mut cache = Cache::<4>::new();
    for len in [1, 16, 1_024, 65_535, 65_536, 200_000] {
        let plaintext = vec![0x61; len];
        let mut out = vec![0; payload_len(len, Lengths::Extended).unwrap()];
        let mut content = vec![0; nip04::content_len(len)];
        free(|| {
            let peer = b.public_key();
            let own =
                cache.get_or_insert_with(&a.public_key(), &peer, || Conversation::new(&a, &peer));
            own.seal(&plaintext, &[7; 32], Lengths::Extended, &mut out).unwrap();
            assert_eq!(own.open(&mut out).unwrap(), plaintext);
            let own = nip04::Key::new(&a, &peer);
            own.encrypt(&plaintext, &[7; 16], &mut content).unwrap();
            assert_eq!(own.decrypt(&mut content).unwrap(), plaintext);
        });
    }
}

fn wraps() {
    let (author, receiver) = (SigningKey::new(key(3)), key(5));
    let layer = Layer { created_at: 1_700_000_000, expiration: Some(1_800_000_000) };
    let wrapping = Wrapping { seal: layer, wrap: layer, lifetime: Lifetime::Stored };
    let rumor = Template {
        pubkey: None,
        created_at: 1_700_000_000,
        kind: 14,
        tags: Tags::List(&[&["p", "x"]]),
        content: Text::Plain("Are you there?\n"),
    };
    let (mut scratch, mut out) = ([0; 4_096], [0; 4_096]);
    free(|| {
        let peer = receiver.public_key();
        let random = &mut OsRandom;
        let wrap = wrap(&rumor, &author, &peer, &wrapping, random, &mut scratch, &mut out).unwrap();
        Event::parse(wrap).unwrap().verify().unwrap();
        let unwrapped = unwrap(wrap, &receiver).unwrap();
        assert_eq!(unwrapped.rumor.content, rumor.content);
    });
}

fn hostile_input() {
    let conversation = Conversation::from_key(&[9; 32]);
    let (a, b) = (key(3), key(5));
    let own = nip04::Key::new(&a, &b.public_key());
    let inputs = [("nip44.json", "payload"), ("nip04.json", "content"), ("gift-wrap.json", "wrap")];
    let inputs: Vec<_> = inputs.iter().flat_map(|(file, field)| texts(file, field)).collect();
    assert!(inputs.len() > 120);
    for input in inputs {
        let mut copies = [(); 3].map(|()| input.clone().into_bytes());
        let [one, two, three] = &mut copies;
        let opened = free(|| {
            // Under another key one of 256 contents ends like padding, so both results are
            // possible.
            let _whatever = own.decrypt(two);
            conversation.open(one).is_ok() || unwrap(three, &a).is_ok()
        });
        assert!(!opened, "{input}");
    }
}
