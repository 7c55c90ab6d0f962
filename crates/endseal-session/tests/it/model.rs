//! Random conversations, checked against a model of the receiver's results and against a twin that
//! is never saved.

use std::collections::{HashSet, VecDeque};

use endseal_session::olm::OlmRatchet;
use endseal_session::{OpenError, Ratchet, Sealed};
use endseal_testing::SplitMix64;

use crate::device::{Device, with_bytes};

#[test]
fn random_conversations_go_as_the_model_says() {
    conversations(4);
}

#[test]
#[ignore = "nightly: ten times as many conversations as by default"]
fn many_random_conversations_go_as_the_model_says() {
    conversations(40);
}

fn conversations(count: u64) {
    let mut totals = [0_u32; 5];
    for seed in 0..count {
        let mut random = SplitMix64::new(seed);
        let (alice, mut bob) = (Device::new(1), Device::new(2));
        let mut one = alice.begin(&bob.one_time());
        let hello = one.seal(b"hello").unwrap();
        let other = bob.accept(&alice, &one, &hello.body);
        let mut sides = [Side::new(one), Side::new(other)];
        sides[1].model.open(&hello).unwrap();
        for _ in 0..600 {
            step(&mut random, &mut sides, &mut totals);
        }
    }
    // Opened, KeyGone, TooFarAhead, Authentication (a deleted chain), damaged.
    assert!(totals.iter().all(|total| u64::from(*total) * 4 > count), "{totals:?}");
}

struct Side {
    ratchet: OlmRatchet,
    /// Makes the same steps without being saved and loaded.
    twin: OlmRatchet,
    model: Model,
    /// Messages of the other side that may be delivered, in order.
    arriving: Vec<(Vec<u8>, Sealed)>,
    /// Messages that were delivered before.
    delivered: Vec<(Vec<u8>, Sealed)>,
}

impl Side {
    fn new(ratchet: OlmRatchet) -> Self {
        let twin = ratchet.fork();
        Self { ratchet, twin, model: Model::default(), arriving: Vec::new(), delivered: Vec::new() }
    }
}

fn step(random: &mut SplitMix64, sides: &mut [Side; 2], totals: &mut [u32; 5]) {
    let me = random.below(2);
    match random.below(100) {
        0..40 => {
            let burst = match random.below(100) {
                0 => 2_050,
                1..8 => 60,
                _ => 1,
            };
            for _ in 0..burst {
                let text = random.next().to_le_bytes()[..random.below(9)].to_vec();
                let sealed = sides[me].ratchet.seal(&text).unwrap();
                sides[1 - me].arriving.push((text, sealed));
            }
            // A twin would draw other randomness for its chain.
            sides[me].twin = sides[me].ratchet.fork();
        }
        40..80 => {
            let side = &mut sides[me];
            if side.arriving.is_empty() {
                return;
            }
            let last = side.arriving.len() - 1;
            let at = match random.below(10) {
                0..6 => 0,
                6..9 => random.below(last + 1).min(50),
                _ => last,
            };
            let (text, sealed) = side.arriving.remove(at);
            deliver(side, &text, &sealed, totals);
            side.delivered.push((text, sealed));
        }
        80..85 => {
            let side = &mut sides[me];
            if !side.delivered.is_empty() {
                let (text, sealed) = side.delivered[random.below(side.delivered.len())].clone();
                deliver(side, &text, &sealed, totals);
            }
        }
        85..90 => {
            let side = &mut sides[me];
            if let Some((_, sealed)) = side.arriving.first() {
                let bytes = random.mutant(&sealed.body);
                if bytes != sealed.body {
                    let before = side.ratchet.save();
                    side.ratchet.open(with_bytes(sealed, &bytes)).expect_err("damaged");
                    assert!(*before == *side.ratchet.save());
                    totals[4] += 1;
                }
            }
        }
        90..92 => {
            // Messages are lost.
            let side = &mut sides[me];
            let lost = random.below(side.arriving.len() + 1);
            if random.chance(20) {
                side.arriving.drain(..lost);
            }
        }
        _ => {
            let side = &mut sides[me];
            side.ratchet = OlmRatchet::load(&side.ratchet.save()).unwrap();
        }
    }
    for side in sides {
        assert!(*side.ratchet.save() == *side.twin.save());
    }
}

fn deliver(side: &mut Side, text: &[u8], sealed: &Sealed, totals: &mut [u32; 5]) {
    let expected = side.model.open(sealed);
    let before = side.ratchet.save();
    let opened = side.ratchet.open(sealed.as_body());
    assert_eq!(opened.as_ref().err(), expected.as_ref().err());
    assert_eq!(side.twin.open(sealed.as_body()), opened);
    match opened {
        Ok(opened) => assert_eq!(*opened, text),
        Err(_) => assert!(*before == *side.ratchet.save()),
    }
    totals[match expected {
        Ok(()) => 0,
        Err(OpenError::KeyGone) => 1,
        Err(OpenError::TooFarAhead { .. }) => 2,
        Err(_) => 3,
    }] += 1;
}

/// Model of the limits of a ratchet in docs/spec/session.md.
#[derive(Default)]
struct Model {
    chains: VecDeque<Chain>,
    dropped: HashSet<[u8; 32]>,
}

struct Chain {
    key: [u8; 32],
    next: u64,
    kept: VecDeque<u64>,
}

impl Model {
    fn open(&mut self, sealed: &Sealed) -> Result<(), OpenError> {
        let (key, index) = header(sealed);
        if let Some(chain) = self.chains.iter_mut().find(|chain| chain.key == key) {
            return chain.open(index);
        }
        let mut chain = Chain { key, next: 0, kept: VecDeque::new() };
        chain.open(index)?;
        if self.dropped.contains(&key) {
            return Err(OpenError::Authentication);
        }
        self.chains.push_back(chain);
        if self.chains.len() > 5 {
            self.dropped.extend(self.chains.pop_front().map(|chain| chain.key));
        }
        Ok(())
    }
}

impl Chain {
    fn open(&mut self, index: u64) -> Result<(), OpenError> {
        if index < self.next {
            let at = self.kept.iter().position(|kept| *kept == index);
            return at.and_then(|at| self.kept.remove(at)).map(drop).ok_or(OpenError::KeyGone);
        }
        let gap = index - self.next;
        if gap > 2_000 {
            return Err(OpenError::TooFarAhead { gap, limit: 2_000 });
        }
        self.kept.extend(self.next..index);
        while self.kept.len() > 40 {
            self.kept.pop_front();
        }
        self.next = index + 1;
        Ok(())
    }
}

/// Returns ratchet key and number of a message.
fn header(sealed: &Sealed) -> ([u8; 32], u64) {
    let mut body = &sealed.body[..];
    if sealed.prekey {
        // Skip three keys, and the length of the message.
        body = &body[1 + 3 * 34 + 1..];
        let len = body.iter().position(|byte| byte & 0x80 == 0).unwrap();
        body = &body[len + 1..];
    }
    let key = body[3..35].try_into().unwrap();
    let number = body[36..].iter().enumerate();
    let mut index = 0;
    for (i, byte) in number {
        index |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            break;
        }
    }
    (key, index)
}
