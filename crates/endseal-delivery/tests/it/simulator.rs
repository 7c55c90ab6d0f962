//! A simulation of a hub and its nodes, which crash and whose connections break, at random but
//! repeatable: every message must arrive once, those of a sender in order.

use std::collections::{BTreeMap, VecDeque};

use endseal_codec::frame::{ReplayWindow, Replayed};
use endseal_codec::hub::{Acknowledge, Answer, CaughtUp, Deliver, Request, Stored, Subscribe};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, Exchange, RegistrationState, Subscription as Mailbox};
use endseal_delivery::node::{Arrival, Puts, Settled, Subscription};
use endseal_delivery::{Credit, MessageId, position_after};
use endseal_testing::SplitMix64;

use crate::{answer, frame, peer, put, request};

const CREDIT: Credit = Credit { frames: 5, bytes: 2_000 };
const NODES: u8 = 4;

/// Durable state of the hub.
#[derive(Default)]
struct HubDisk {
    windows: BTreeMap<PeerId, ReplayWindow>,
    mailboxes: BTreeMap<PeerId, BTreeMap<u64, Vec<u8>>>,
    last: BTreeMap<PeerId, u64>,
}

/// A frame that waits for the commit: sender, number of its connection, sequence, mailboxes, bytes.
type Waiting = (PeerId, u64, u64, Vec<PeerId>, Vec<u8>);

/// Durable state of a node.
#[derive(Default)]
struct NodeDisk {
    /// Frames that the hub has not confirmed, by sequence, with their mailboxes.
    outbox: BTreeMap<u64, (Vec<PeerId>, Vec<u8>)>,
    next: u64,
    inbox: Vec<(PeerId, u64)>,
    tombstones: Vec<MessageId>,
    cursor: u64,
}

/// One connection, with an ordered stream in each direction. Both are lost together.
struct Connection {
    number: u64,
    to_hub: [VecDeque<Vec<u8>>; 2],
    to_node: [VecDeque<Vec<u8>>; 2],
    exchanges: [Exchange; 2],
    mailbox: Option<Mailbox>,
    puts: Puts,
    sent: u64,
    subscription: Subscription,
    /// Frames that arrived and are not committed yet.
    arrived: Vec<(u64, PeerId, u64, MessageId)>,
}

const PUT: usize = 0;
const SUBSCRIBE: usize = 1;

struct World {
    random: SplitMix64,
    clock: u64,
    hub: HubDisk,
    waiting: Vec<Waiting>,
    nodes: Vec<NodeDisk>,
    connections: Vec<Option<Connection>>,
    /// Number of connections that were opened.
    made: u64,
    /// Sender, sequence and mailboxes of each frame.
    sent: Vec<(PeerId, u64, Vec<PeerId>)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let ids = || (0..NODES).map(peer);
        Self {
            random: SplitMix64::new(seed),
            clock: 1_000,
            hub: HubDisk {
                mailboxes: ids().map(|id| (id, BTreeMap::new())).collect(),
                ..HubDisk::default()
            },
            waiting: Vec::new(),
            nodes: ids().map(|_| NodeDisk::default()).collect(),
            connections: ids().map(|_| None).collect(),
            made: 0,
            sent: Vec::new(),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.random.below(end as u64)).unwrap()
    }

    fn step(&mut self, has_faults: bool) {
        let node = self.below(usize::from(NODES));
        match self.below(if has_faults { 60 } else { 40 }) {
            0..8 => self.advance_puts(node),
            8..18 => self.hub_reads(node),
            18..24 => self.commit(),
            24..30 => self.hub_delivers(node),
            30..36 => self.node_reads(node),
            36..39 => self.node_commits(node),
            39 => self.connect(node),
            40..50 => self.write(node),
            50..54 => self.connect(node),
            54..57 => self.connections[node] = None,
            57 => self.clock = self.clock.saturating_sub(50_000),
            58 => {
                // The hub crashes: everything that was not committed is lost, and all connections.
                self.waiting.clear();
                self.connections.iter_mut().for_each(|it| *it = None);
            }
            _ => self.clock += 1_000,
        }
        self.clock += 1;
    }

    fn write(&mut self, node: usize) {
        let sender = peer(u8::try_from(node).unwrap());
        let count = 1 + self.below(usize::from(NODES) - 1);
        let mut targets: Vec<PeerId> = (0..NODES).map(peer).filter(|it| *it != sender).collect();
        targets.truncate(count);
        let disk = &mut self.nodes[node];
        disk.next += 1;
        let bytes = frame(sender, disk.next, format!("text {}", disk.next).as_bytes());
        self.sent.push((sender, disk.next, targets.clone()));
        disk.outbox.insert(disk.next, (targets, bytes));
    }

    fn connect(&mut self, node: usize) {
        if self.connections[node].is_some() {
            return;
        }
        let after = self.nodes[node].cursor;
        let subscribe = Subscribe { after, frames: CREDIT.frames, bytes: CREDIT.bytes };
        let mut to_hub: [VecDeque<Vec<u8>>; 2] = Default::default();
        to_hub[SUBSCRIBE].push_back(request(Request::Subscribe(subscribe)));
        self.made += 1;
        self.connections[node] = Some(Connection {
            number: self.made,
            to_hub,
            to_node: Default::default(),
            exchanges: Default::default(),
            mailbox: None,
            puts: Puts::new(),
            sent: 0,
            subscription: Subscription::new(after, CREDIT),
            arrived: Vec::new(),
        });
    }

    /// Sends the next frame of the outbox.
    fn advance_puts(&mut self, node: usize) {
        let Some(connection) = &mut self.connections[node] else { return };
        let next = self.nodes[node].outbox.range(connection.sent + 1..).next();
        let Some((sequence, (targets, bytes))) = next else { return };
        if connection.puts.send(*sequence) {
            connection.sent = *sequence;
            connection.to_hub[PUT].push_back(put(targets, bytes));
        }
    }

    fn hub_reads(&mut self, node: usize) {
        let stream = self.below(2);
        let Some(connection) = &mut self.connections[node] else { return };
        let Some(payload) = connection.to_hub[stream].pop_front() else { return };
        let id = peer(u8::try_from(node).unwrap());
        match connection.exchanges[stream].request(&payload, &id, RegistrationState::Registered) {
            Action::Put(sequence, targets, bytes) => {
                let targets = targets.iter().collect();
                self.waiting.push((id, connection.number, sequence, targets, bytes.to_vec()));
            }
            Action::Subscribe(after, credit) => {
                connection.mailbox = Some(Mailbox::new(after, credit));
                self.delete(id, after);
            }
            Action::Credit(more) => connection.mailbox.as_mut().unwrap().add(more),
            Action::Acknowledge(position) => self.delete(id, position),
            other => panic!("{other:?}"),
        }
    }

    fn delete(&mut self, mailbox: PeerId, up_to: u64) {
        self.hub.mailboxes.get_mut(&mailbox).unwrap().retain(|position, _| *position > up_to);
    }

    /// Runs the group commit of the hub, and sends the answers after it.
    fn commit(&mut self) {
        let mut stored: BTreeMap<(PeerId, u64), u64> = BTreeMap::new();
        for (sender, number, sequence, targets, bytes) in self.waiting.drain(..) {
            let window = self.hub.windows.entry(sender).or_default();
            match window.accept(sequence) {
                Ok(()) => {
                    for target in targets {
                        let last = self.hub.last.entry(target).or_default();
                        *last = position_after(*last, self.clock).unwrap();
                        let mailbox = self.hub.mailboxes.get_mut(&target).unwrap();
                        mailbox.insert(*last, bytes.clone());
                    }
                }
                Err(Replayed::Seen) => {}
                Err(Replayed::Old) => panic!("more frames than the window are under way"),
            }
            stored.insert((sender, number), sequence);
        }
        for ((sender, number), sequence) in stored {
            let connection = self.connections[usize::from(sender.as_bytes()[0])].as_mut();
            // The answers are sent only on the connection on which the frames came.
            if let Some(connection) = connection.filter(|it| it.number == number) {
                let stored = answer(Answer::Stored(Stored { sequence }));
                connection.to_node[PUT].push_back(stored);
            }
        }
    }

    fn hub_delivers(&mut self, node: usize) {
        let id = peer(u8::try_from(node).unwrap());
        let Some(connection) = &mut self.connections[node] else { return };
        let Some(mailbox) = &mut connection.mailbox else { return };
        let next = self.hub.mailboxes[&id].range(mailbox.position() + 1..).next();
        let said = match next {
            Some((position, bytes)) if mailbox.deliver(*position, bytes.len() as u64) => {
                let deliver = Deliver { position: *position, frame: bytes.as_slice().into() };
                Answer::Deliver(deliver)
            }
            None if mailbox.caught_up() => {
                Answer::CaughtUp(CaughtUp { position: mailbox.position() })
            }
            _ => return,
        };
        connection.to_node[SUBSCRIBE].push_back(answer(said));
    }

    fn node_reads(&mut self, node: usize) {
        let stream = self.below(2);
        let Some(connection) = &mut self.connections[node] else { return };
        let Some(payload) = connection.to_node[stream].pop_front() else { return };
        if stream == PUT {
            // Answers to frames of the previous connection were lost with it.
            let Settled::Stored(sequences) = connection.puts.answer(&payload).unwrap() else {
                panic!("refused")
            };
            for sequence in sequences {
                assert!(self.nodes[node].outbox.remove(&sequence).is_some());
            }
            return;
        }
        match connection.subscription.answer(&payload).unwrap() {
            Arrival::Frame { position, frame, id } => {
                let sender = PeerId::from_bytes(&frame.stamp().sender);
                connection.arrived.push((position, sender, frame.stamp().sequence, id));
            }
            Arrival::CaughtUp => {}
            other => panic!("{other:?}"),
        }
    }

    /// Commits inbox, tombstones and cursor in one transaction, and acknowledges after it.
    fn node_commits(&mut self, node: usize) {
        let Some(connection) = &mut self.connections[node] else { return };
        let disk = &mut self.nodes[node];
        let count = connection.arrived.len() as u64;
        let mut bytes = 0;
        for (position, sender, sequence, id) in connection.arrived.drain(..) {
            if !disk.tombstones.contains(&id) {
                disk.tombstones.push(id);
                disk.inbox.push((sender, sequence));
            }
            disk.cursor = position;
            bytes += 150;
        }
        if count > 0 {
            let more = Credit { frames: count, bytes };
            connection.subscription.give(more);
            let position = disk.cursor;
            let acknowledge = request(Request::Acknowledge(Acknowledge { position }));
            connection.to_hub[SUBSCRIBE].push_back(acknowledge);
            let credit = endseal_codec::hub::Credit { frames: count, bytes };
            connection.to_hub[SUBSCRIBE].push_back(request(Request::Credit(credit)));
        }
    }
}

#[test]
fn every_message_arrives_once_and_in_order() {
    let mut total = 0;
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..3_000 {
            world.step(true);
        }
        for _ in 0..60_000 {
            world.step(false);
            let is_done = world.nodes.iter().all(|node| node.outbox.is_empty())
                && world.hub.mailboxes.values().all(BTreeMap::is_empty);
            if is_done {
                break;
            }
        }
        for (number, node) in world.nodes.iter().enumerate() {
            let id = peer(u8::try_from(number).unwrap());
            assert!(node.outbox.is_empty(), "seed {seed}: {} are left", node.outbox.len());
            assert!(world.hub.mailboxes[&id].is_empty(), "seed {seed}");
            for sender in (0..NODES).map(peer) {
                let expected = world
                    .sent
                    .iter()
                    .filter(|(from, _, to)| *from == sender && to.contains(&id))
                    .map(|(_, sequence, _)| *sequence);
                let got = node.inbox.iter().filter(|(from, _)| *from == sender).map(|it| it.1);
                assert!(got.eq(expected), "seed {seed}: from {sender:?} to {id:?}");
            }
            total += node.inbox.len();
        }
    }
    assert!(total > 100_000, "{total}");
}
