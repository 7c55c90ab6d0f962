//! A reader, two people who write to it, and a group. Checks which messages arrive, in which order,
//! and which are sent.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::{ConversationId, Envelope, Outcome, Pending, ReceivedKind};
use endseal_testing::SplitMix64;

use super::party::{NOW, Party, blake};

pub(crate) const GROUP: &[u8] = b"team";

/// A message for the reader that was not delivered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mail {
    /// Number of the sender's identity; 0 for the group.
    pub(crate) origin: u8,
    pub(crate) id: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Mail {
    pub(crate) fn envelope(&self) -> Envelope<'_> {
        match self.origin {
            0 => Envelope::from_group(&self.id, GROUP, &self.body),
            person => Envelope::from_device(&self.id, address(person), &self.body),
        }
    }

    /// Writes a backlog to a file for another process.
    pub(crate) fn write(mails: &[Self], path: &Path) {
        let mut bytes = Vec::new();
        for mail in mails {
            bytes.push(mail.origin);
            for part in [&mail.id, &mail.body] {
                bytes.extend(u32::try_from(part.len()).unwrap().to_le_bytes());
                bytes.extend(part);
            }
        }
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(path: &Path) -> Vec<Self> {
        let bytes = fs::read(path).unwrap();
        let mut rest = bytes.as_slice();
        let mut mails = Vec::new();
        while let Some((origin, mut after)) = rest.split_first() {
            let mut part = || {
                let (length, bytes) = after.split_first_chunk().unwrap();
                let length = usize::try_from(u32::from_le_bytes(*length)).unwrap();
                let (part, bytes) = bytes.split_at(length);
                after = bytes;
                part.to_vec()
            };
            let (id, body) = (part(), part());
            mails.push(Self { origin: *origin, id, body });
            rest = after;
        }
        mails
    }
}

/// Returns the address of a person's only device.
pub(crate) fn address(identity: u8) -> Address {
    let identity = SigningKey::from_seed(Seed::from_bytes(&[identity; 32]));
    Address { identity: *identity.public_key(), device: DeviceId::new(1).unwrap() }
}

/// Content of a message: a text; `None` for a group change.
type Said = Option<Vec<u8>>;

pub(crate) struct World {
    pub(crate) reader: Party,
    senders: [Party; 2],
    random: SplitMix64,
    sent: usize,
    /// Messages that the reader must still receive, by origin and in order.
    expected: BTreeMap<u8, Vec<Said>>,
    /// Last checked numbers of the inbox and the outbox.
    inbox: u64,
    outbox: u64,
    /// Digests of the sent ciphertexts, so that each occurs once.
    left: HashSet<[u8; 32]>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut reader = Party::new(1);
        let mut senders = [Party::new(2), Party::new(3)];
        for sender in &mut senders {
            sender.meet(&mut reader);
        }
        senders[0].found(GROUP, &mut [&mut reader]);
        let random = SplitMix64::new(seed);
        let (expected, left) = (BTreeMap::new(), HashSet::new());
        let mut world =
            Self { reader, senders, random, sent: 0, expected, inbox: 0, outbox: 0, left };
        for sender in &mut world.senders {
            empty(sender);
        }
        // Numbers of rows that were deleted: one of each `meet`.
        assert_eq!(empty(&mut world.reader), 0);
        world.inbox = 2;
        // Numbers of rows that were deleted.
        let body = world.reader.engine().encrypt(address(2), b"first").unwrap();
        world.outbox = body.number - 1;
        world
    }

    /// Makes messages for the reader: in order for each sender, and in random order between
    /// senders.
    pub(crate) fn mails(&mut self, count: usize) -> Vec<Mail> {
        let mut queues: BTreeMap<u8, Vec<Mail>> = BTreeMap::new();
        let mut texts: BTreeMap<u8, Vec<Vec<u8>>> = BTreeMap::new();
        for _ in 0..count {
            self.sent += 1;
            let origin = [2, 3, 0][self.random.below(3)];
            texts.entry(origin).or_default().push(format!("text {}", self.sent).into_bytes());
        }
        for (origin, texts) in texts {
            let mut bodies = Vec::new();
            if origin == 0 {
                // A group change after the first half.
                let (before, after) = texts.split_at(texts.len() / 2);
                for half in [before, after] {
                    if !half.is_empty() {
                        bodies.extend(self.senders[0].send_group(GROUP, half));
                        self.expect(0, half);
                    }
                    bodies.push(self.senders[0].change(GROUP, |group| group.update(NOW)).0);
                    self.expected.entry(0).or_default().push(None);
                }
            } else {
                let sender = &mut self.senders[usize::from(origin) - 2];
                bodies = sender.send_all(address(1), &texts.iter().collect::<Vec<_>>());
                self.expect(origin, &texts);
            }
            let mails = bodies.into_iter().rev().map(|body| Mail {
                origin,
                id: blake(&body)[..16].to_vec(),
                body,
            });
            queues.insert(origin, mails.collect());
        }
        let mut mails = Vec::new();
        while !queues.is_empty() {
            let at = self.random.below(queues.len());
            let origin = *queues.keys().nth(at).unwrap();
            match queues.get_mut(&origin).unwrap().pop() {
                Some(mail) => mails.push(mail),
                None => drop(queues.remove(&origin)),
            }
        }
        mails
    }

    fn expect(&mut self, origin: u8, texts: &[Vec<u8>]) {
        self.expected.entry(origin).or_default().extend(texts.iter().cloned().map(Some));
    }

    /// Returns the content of a reader's inbox, by origin.
    pub(crate) fn inbox_of(reader: &mut Party, after: u64) -> (u64, BTreeMap<u8, Vec<Said>>) {
        let mut found: BTreeMap<u8, Vec<Said>> = BTreeMap::new();
        let mut last = after;
        for it in reader.engine().inbox().page(after, usize::MAX >> 1).unwrap() {
            assert_eq!(it.number, last + 1);
            last = it.number;
            let origin = match &it.conversation {
                ConversationId::Group(id) => {
                    assert_eq!((id.as_slice(), it.sender), (GROUP, address(2)));
                    0
                }
                _ => (2..=3).find(|it_is| address(*it_is) == it.sender).unwrap(),
            };
            let said = (it.kind == ReceivedKind::Text).then(|| it.plaintext.to_vec());
            found.entry(origin).or_default().push(said);
        }
        (last, found)
    }

    /// Checks that every sent message is in the reader's inbox, once and in order, and that the
    /// others can open every ciphertext in its outbox once.
    pub(crate) fn settle(&mut self) {
        let (last, found) = Self::inbox_of(&mut self.reader, self.inbox);
        assert!(found == core::mem::take(&mut self.expected), "the inbox is another");
        self.inbox = last;
        let pending = self.reader.engine().outbox().pending(self.outbox, usize::MAX >> 1).unwrap();
        for Pending { number, body, recipient, .. } in pending {
            self.outbox = number;
            assert!(self.left.insert(blake(&body)));
            let mail = Mail { origin: 1, id: blake(&body).to_vec(), body };
            match recipient {
                Some(address_of) => {
                    let at = usize::from(address_of == address(3));
                    self.senders[at].receive_one(address(1), &mail.id, &mail.body);
                }
                None => {
                    let outcome = self.senders[0].receive_group(GROUP, &mail.id, &mail.body);
                    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
                }
            }
        }
        for sender in &mut self.senders {
            empty(sender);
        }
    }

    /// Checks a copy of the reader's store. It must contain a part of the sent messages, in order
    /// and once, including the acknowledged ones. The others can be delivered.
    pub(crate) fn check(&self, reader: &mut Party, mails: &[Mail], acknowledged: usize) {
        let context = format!("{acknowledged} acknowledged");
        let (_, found) = Self::inbox_of(reader, self.inbox);
        for (origin, found) in &found {
            let expected = &self.expected[origin];
            assert!(expected.starts_with(found), "origin {origin}: {context}");
        }
        let there: usize = found.values().map(Vec::len).sum();
        assert!(there >= acknowledged, "{there}: {context}");
        let envelopes: Vec<_> = mails.iter().map(Mail::envelope).collect();
        let outcomes = reader.receive(&envelopes);
        for (at, outcome) in outcomes.iter().enumerate() {
            let is_known = matches!(outcome, Outcome::AlreadyDelivered(_));
            assert!(outcome.is_kept() && is_known == (at < there), "{at}, {outcome:?}: {context}");
        }
        assert!(Self::inbox_of(reader, self.inbox).1 == self.expected, "{context}");
    }

    /// Checks the ciphertexts of a copy of the reader. The others must be able to open each of them
    /// once, and no two may use the same key.
    pub(crate) fn check_outbox(&mut self, reader: &mut Party) -> BTreeMap<u64, [u8; 32]> {
        let pending = reader.engine().outbox().pending(self.outbox, usize::MAX >> 1).unwrap();
        for sender in &mut self.senders {
            let own: Vec<_> =
                pending.iter().filter(|it| it.recipient == Some(sender.address)).collect();
            let aborted: Result<(), endseal_session::EngineError> =
                sender.engine().transaction(|t| {
                    for it in own {
                        let id = blake(&it.body);
                        let envelope = Envelope::from_device(&id, address(1), &it.body);
                        let outcome = t.decrypt(&envelope)?;
                        assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
                    }
                    Err(endseal_session::EngineError::Ended)
                });
            assert!(aborted.is_err());
        }
        pending.iter().map(|it| (it.number, blake(&it.body))).collect()
    }
}

/// Consumes all messages, and returns the last number.
fn empty(party: &mut Party) -> u64 {
    let page = party.engine().inbox().page(0, usize::MAX >> 1).unwrap();
    let numbers: Vec<_> = page.iter().map(|it| it.number).collect();
    party.engine().inbox().consume_many(&numbers).unwrap();
    numbers.last().copied().unwrap_or_default()
}
