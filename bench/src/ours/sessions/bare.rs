//! The floor: opens the same messages in memory, and fsyncs one page once.

use std::hint::black_box;
use std::thread;

use endseal_keyring::device::Address;
use endseal_session::group::{Group, GroupDevice};
use endseal_session::olm::OlmRatchet;
use endseal_session::{Message, Ratchet as _, RatchetBody};
use endseal_store::{OpenOptions, ReadTransaction, Store, Unlock};

use super::folder::{self, Log};
use super::shape::{self, Shape};
use super::world::{Delivered, Names, World};
use crate::clock::{self, Elapsed};
use crate::subject::{Checked, Failure, Prepared};

/// Row of a store that holds the device of groups (docs/spec/session.md, "In the store").
const DEVICE: u32 = 2;
/// Kind of the record with tree and conversation of a group.
const GROUP_TREE: u32 = 11;
/// Bytes before the ratchet in the stored state of a session: the other side's agreement key and
/// the session's end.
const BEFORE_RATCHET: usize = 32 + 8;

pub(super) struct Ready {
    world: World,
    log: Log,
    /// The receiver's states, each as it was before the first message of the backlog.
    states: Vec<State>,
    next: usize,
}

/// State of a conversation that was read out of a store.
enum State {
    Pairwise(OlmRatchet),
    Mls(Box<Group>),
}

impl Ready {
    pub(super) fn new(world: World) -> Result<Self, Failure> {
        let states = states(&world)?;
        let log = Log::new(&world.folder.at("log"))?;
        Ok(Self { world, log, states, next: 0 })
    }
}

/// Reads the states of all conversations out of the receiver's store.
fn states(world: &World) -> Result<Vec<State>, Failure> {
    let place = world.place();
    folder::put_back(&world.pristine(), &place)?;
    let mut store = Store::open(&place, Unlock::None, OpenOptions::new())?;
    let mut states = Vec::new();
    {
        let transaction = store.read()?;
        match Names::new(&world.shape) {
            Names::People(all) => states.extend(pairwise(&transaction, &all)?),
            Names::Groups(all) => {
                let device = transaction.record(DEVICE, &[])?.ok_or("the store has no device")?;
                let device = GroupDevice::from_bytes(&device)?;
                for id in all {
                    let row = transaction.group(&id)?.ok_or("a group is not known")?;
                    let tree = transaction.record(GROUP_TREE, &id)?;
                    let tree = tree.ok_or("a group has no tree")?;
                    states.push(State::Mls(Box::new(device.load(&row.state, &tree, [])?)));
                }
            }
        }
    }
    store.close()?;
    Ok(states)
}

/// Reads the states of pairwise sessions out of a store.
fn pairwise(transaction: &ReadTransaction<'_>, with: &[Address]) -> Result<Vec<State>, Failure> {
    let state = |address: &Address| -> Result<State, Failure> {
        let known = transaction
            .find_address(address.identity.as_bytes(), address.device.number())?
            .ok_or("a sender is not known")?;
        let rows = transaction.sessions_of(known)?;
        let row = rows.first().ok_or("a sender has no session")?;
        let ratchet = row.state.get(BEFORE_RATCHET..).ok_or("a session has no state")?;
        Ok(State::Pairwise(OlmRatchet::load(ratchet)?))
    };
    with.iter().map(state).collect()
}

/// Groups the messages by conversation, each in order.
fn sorted<'a>(shape: &Shape, messages: &'a [Delivered]) -> Vec<Vec<&'a [u8]>> {
    let mut sorted = vec![Vec::new(); shape.conversations];
    for it in messages {
        sorted[it.conversation].push(&it.body[..]);
    }
    sorted
}

/// Opens all messages and returns their number. Conversations are distributed over the threads.
fn open_all(states: &mut [State], messages: &[Vec<&[u8]>], threads: usize) -> usize {
    let mut work: Vec<_> = states.iter_mut().zip(messages).collect();
    let share = work.len().div_ceil(threads);
    if share == work.len() {
        return work.iter_mut().map(|(state, messages)| state.open(messages)).sum();
    }
    thread::scope(|scope| {
        let parts: Vec<_> = work
            .chunks_mut(share)
            .map(|part| {
                scope.spawn(|| {
                    let opened = part.iter_mut().map(|(state, messages)| state.open(messages));
                    opened.sum::<usize>()
                })
            })
            .collect();
        parts.into_iter().filter_map(|part| part.join().ok()).sum()
    })
}

impl State {
    fn fork(&self) -> Self {
        match self {
            Self::Pairwise(ratchet) => Self::Pairwise(ratchet.fork()),
            Self::Mls(group) => Self::Mls(Box::new(group.fork())),
        }
    }

    fn open(&mut self, messages: &[&[u8]]) -> usize {
        match self {
            Self::Pairwise(ratchet) => messages
                .iter()
                .filter(|message| match Message::parse(message) {
                    Ok(Message::Ratchet { body, .. }) => {
                        black_box(ratchet.open(RatchetBody::Ratchet(body))).is_ok()
                    }
                    _ => false,
                })
                .count(),
            Self::Mls(group) => {
                let bodies: Vec<&[u8]> = messages
                    .iter()
                    .filter_map(|message| match Message::parse(message) {
                        Ok(Message::Group(body)) => Some(body),
                        _ => None,
                    })
                    .collect();
                black_box(group.open_many(&bodies)).iter().filter(|it| it.is_ok()).count()
            }
        }
    }
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, Failure> {
        let shape = self.world.shape;
        let backlog = &self.world.backlogs[0];
        let middle = backlog.messages.len() / 2;
        let mut changed = backlog.messages.clone();
        super::examine::tamper(&mut changed[middle].body);
        let open = |messages: &[Delivered]| {
            let mut states: Vec<State> = self.states.iter().map(State::fork).collect();
            open_all(&mut states, &sorted(&shape, messages), shape.threads)
        };
        let all = backlog.messages.len();
        Ok(Checked {
            round_trip: open(&backlog.messages) == all,
            tamper_refused: Some(open(&changed) == all - 1),
            sealed_bytes: Some(backlog.messages[0].body.len() as u64),
        })
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        let shape = self.world.shape;
        let backlog = &self.world.backlogs[self.next % self.world.backlogs.len()];
        self.next += 1;
        let mut states: Vec<State> = self.states.iter().map(State::fork).collect();
        let by_conversation = sorted(&shape, &backlog.messages);
        let (mut opened, mut synchronised) = (0, Ok(()));
        let spent = clock::time_threads(|| {
            opened = open_all(&mut states, &by_conversation, shape.threads);
            synchronised = self.log.append();
        });
        synchronised?;
        if opened != backlog.messages.len() {
            return Err(format!("{opened} of {} came out", backlog.messages.len()).into());
        }
        Ok(spent)
    }

    fn threads(&self) -> usize {
        let shape = &self.world.shape;
        if shape.engine == shape::Engine::Mls && shape.conversations == 1 {
            return 1;
        }
        shape.threads.min(shape.conversations)
    }
}
