//! Saved states are compact, complete, and refused when damaged.

use endseal_session::olm::{OlmAccount, OlmRatchet};
use endseal_session::{PairwiseAccount, Ratchet, RatchetBody, StateError};
use endseal_testing::SplitMix64;

use crate::device::{Device, pair, seal_many};

#[test]
fn a_session_in_chain_takes_less_than_a_kilobyte() {
    let (mut one, mut other) = pair();
    let mut sizes = Vec::new();
    for turn in 0..1_000_u32 {
        let there = one.seal(&turn.to_le_bytes()).unwrap();
        other.open(there.as_body()).unwrap();
        sizes.push(other.save().len());
        // The first hundred rounds change direction; the others are on one chain.
        if turn < 100 {
            let back = other.seal(&[]).unwrap();
            one.open(back.as_body()).unwrap();
            sizes.push(other.save().len());
            sizes.push(one.save().len());
        }
    }
    let largest = sizes.iter().max().unwrap();
    assert!((500..640).contains(largest), "{largest}");
}

#[test]
fn a_session_takes_at_most_ten_kilobytes() {
    let (mut one, mut other) = pair();
    for _ in 0..6 {
        let there = seal_many(&mut one, 2_000).pop().unwrap();
        other.open(there.as_body()).unwrap();
        let back = other.seal(&[]).unwrap();
        one.open(back.as_body()).unwrap();
    }
    let state = other.save();
    assert!((5 * 40 * 33..10_000).contains(&state.len()), "{}", state.len());
    let mut other = OlmRatchet::load(&state).unwrap();
    assert!(*state == *other.save());
    let there = one.seal(b"next").unwrap();
    assert_eq!(*other.open(there.as_body()).unwrap(), b"next");
}

#[test]
fn a_state_of_another_form_is_refused() {
    let session = pair().0.save();
    let account = Device::new(1).account.save();
    assert_eq!(OlmRatchet::load(&[]).err(), Some(StateError::Malformed));
    assert_eq!(OlmAccount::load(&[]).err(), Some(StateError::Malformed));
    for version in [0, 3, 255] {
        let changed = |state: &[u8]| [&[version], &state[1..]].concat();
        let error = Some(StateError::Version(version));
        assert_eq!(OlmRatchet::load(&changed(&session)).err(), error);
        assert_eq!(OlmAccount::load(&changed(&account)).err(), error);
    }
    let longer = |state: &[u8]| [state, &[0]].concat();
    assert_eq!(OlmRatchet::load(&longer(&session)).err(), Some(StateError::Malformed));
    assert_eq!(OlmAccount::load(&longer(&account)).err(), Some(StateError::Malformed));
    for len in 0..session.len() {
        assert!(OlmRatchet::load(&session[..len]).is_err(), "{len}");
    }
    for len in 0..account.len() {
        assert!(OlmAccount::load(&account[..len]).is_err(), "{len}");
    }
}

#[test]
fn mutants_of_states_are_refused_or_loaded() {
    load_mutants(4_000);
}

#[test]
#[ignore = "nightly: five times as many mutants as by default"]
fn many_mutants_of_states_are_refused_or_loaded() {
    load_mutants(20_000);
}

fn load_mutants(count: usize) {
    let mut random = SplitMix64::new(4);
    let (mut one, mut other) = pair();
    let late = seal_many(&mut one, 30).pop().unwrap();
    other.open(late.as_body()).unwrap();
    let inactive = other.save();
    other.seal(&[]).unwrap();
    let active = other.save();
    let mut device = Device::new(1);
    device.account.add_one_time_keys(5, 7).unwrap();
    device.fallback_at(7);
    device.fallback_at(7 + (7 << 32));
    let account = device.account.save();
    let mut loaded = 0;
    for _ in 0..count {
        for state in [&inactive, &active] {
            let mutant = random.mutant(state);
            if let Ok(ratchet) = OlmRatchet::load(&mutant) {
                ratchet.save();
                loaded += 1;
            }
        }
    }
    for _ in 0..count {
        if let Ok(account) = OlmAccount::load(&random.mutant(&account)) {
            account.save();
            loaded += 1;
        }
    }
    assert!(loaded > count / 20, "a changed key is a key: {loaded}");
}

#[test]
fn an_account_comes_back_as_it_was_saved() {
    let (alice, mut bob) = (Device::new(1), Device::new(2));
    bob.account.add_one_time_keys(3, 7).unwrap();
    bob.fallback_at(7);
    let bundle = bob.one_time();
    let mut one = alice.begin(&bundle);
    let hello = one.seal(b"hello").unwrap().body;

    let state = bob.account.save();
    let mut loaded = OlmAccount::load(&state).unwrap();
    assert!(*loaded.save() == *state);
    assert_eq!(loaded.keys(), bob.account.keys());
    assert_eq!(loaded.one_time_keys_left(), 4);
    let bundles = |account: &OlmAccount| account.pending(&bob.certificate).unwrap();
    assert_eq!(bundles(&loaded), bundles(&bob.account));
    let agreement = alice.certificate.keys().agreement;
    let (_, text) = loaded.accept(one.tag(), &agreement, &hello, |_| true).unwrap();
    assert_eq!(*text, b"hello");
    assert_eq!(loaded.one_time_keys_left(), 3);
}

/// States that were saved when the format was made. If this test fails, a newer library writes
/// other pickles, and the version must change.
#[test]
fn states_that_were_saved_before_are_read() {
    let kept = include_str!("saved_states.txt");
    let mut lines = kept.lines().filter(|line| !line.starts_with('#'));
    let mut next = || unhex(lines.next().unwrap());
    let (account, receiver, message, sender) = (next(), next(), next(), next());

    let account_read = OlmAccount::load(&account).unwrap();
    assert_eq!(*account_read.save(), account);
    assert_eq!(account_read.one_time_keys_left(), 2);

    let mut ratchet = OlmRatchet::load(&receiver).unwrap();
    assert_eq!(*ratchet.save(), receiver);
    assert_eq!(*ratchet.open(RatchetBody::Ratchet(&message)).unwrap(), b"from the first version");

    let mut sender_read = OlmRatchet::load(&sender).unwrap();
    assert_eq!(*sender_read.save(), sender);
    assert_eq!(sender_read.tag(), ratchet.tag());
    let next = sender_read.seal(b"and on").unwrap();
    assert_eq!(*ratchet.open(next.as_body()).unwrap(), b"and on");
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
