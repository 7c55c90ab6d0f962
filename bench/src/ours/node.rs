//! Nodes over a hub as subjects: our node and hub, and the engine alone as the floor of a visit.

use core::cell::RefCell;
use core::time::Duration;
use std::rc::Rc;

use crate::record::{Params, SubjectInfo};
use crate::subject::{Prepared, Subject, SubjectError};
use crate::suite::node::{
    DECRYPT_BATCH, LETTER, MEMORY, POSTGRES, POSTGRES_3, PUT, PUT_OPEN, SYNC,
};

mod account;
mod backlog;
mod database;
pub(crate) mod hub_role;
mod insert;
mod letter;
mod memory;
mod open_load;
mod person;
mod put;
mod put_world;
mod server;
mod service;
mod sync;
mod team;
mod wire;

use backlog::Backlog;
use database::Engine;
use put_world::Shape;
use sync::Form;
use team::Team;

/// Upper limit of most parameters. A machine has too little memory or time for larger values.
const MOST: u64 = 1_000_000;
/// Largest number of members of a group. Each is a service with threads and a store.
const MOST_MEMBERS: u64 = 500;

/// Returns the subjects of the suite, which share backlogs and groups.
pub(crate) fn subjects() -> Vec<Box<dyn Subject>> {
    let worlds = Worlds::default();
    let over = |engine| Box::new(Node::with(worlds.clone(), engine)) as Box<dyn Subject>;
    let engines = [Engine::Sqlite, Engine::Postgres { hubs: 1 }, Engine::Postgres { hubs: 3 }];
    let mut all: Vec<_> = engines.into_iter().map(over).collect();
    all.push(Box::new(DecryptBatch::with(worlds)));
    all
}

/// The last backlog and the members of groups, kept because creating them takes seconds.
#[derive(Clone, Default)]
struct Worlds {
    backlog: Rc<RefCell<Option<KnownBacklog>>>,
    team: Rc<RefCell<Option<Rc<RefCell<Team>>>>>,
}

/// A backlog with its numbers of frames and of senders.
type KnownBacklog = ((usize, usize), Rc<Backlog>);

impl Worlds {
    fn backlog(&self, frames: usize, senders: usize) -> Result<Rc<Backlog>, SubjectError> {
        let mut known = self.backlog.borrow_mut();
        if let Some((shape, backlog)) = &*known
            && *shape == (frames, senders)
        {
            return Ok(Rc::clone(backlog));
        }
        // The previous backlog is dropped first, because it has files on the disk.
        *known = None;
        let made = Rc::new(Backlog::new(frames, senders)?);
        *known = Some(((frames, senders), Rc::clone(&made)));
        Ok(made)
    }

    fn team(&self) -> Result<Rc<RefCell<Team>>, SubjectError> {
        let mut known = self.team.borrow_mut();
        if let Some(team) = &*known {
            return Ok(Rc::clone(team));
        }
        let made = Rc::new(RefCell::new(Team::new()?));
        *known = Some(Rc::clone(&made));
        Ok(made)
    }
}

/// Our node and hub, as a subject.
#[allow(missing_debug_implementations, reason = "it holds keys")]
pub struct Node {
    info: SubjectInfo,
    worlds: Worlds,
    engine: Engine,
}

impl Node {
    /// Creates the subject.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Worlds::default(), Engine::Sqlite)
    }

    fn with(worlds: Worlds, engine: Engine) -> Self {
        let (name, about) = match engine {
            Engine::Sqlite => (
                crate::case::OURS,
                "endseal's node and hub, both in this process; SQLCipher and SQLite, FULL; QUIC over loopback",
            ),
            Engine::Postgres { hubs: 1 } => (
                POSTGRES,
                "the same node; the hub's database is on a PostgreSQL server of this machine",
            ),
            Engine::Postgres { .. } => (
                POSTGRES_3,
                "the same; three hubs with threads and connections of their own, over one database",
            ),
        };
        let properties = ["confidential", "authenticated", "sender", "post-quantum", "durable"];
        Self { info: info(name, about, &properties), worlds, engine }
    }
}

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

impl Subject for Node {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        _: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let Self { engine, .. } = *self;
        engine.check()?;
        Ok(match case {
            SYNC => {
                let (frames, senders, form) = visit(params)?;
                let backlog = self.worlds.backlog(frames, senders)?;
                Box::new(sync::Ready::new(backlog, form, engine))
            }
            PUT => Box::new(put::Case::new(engine, put_shape(params)?)?),
            _ if engine != Engine::Sqlite => return unsupported("it is measured over SQLite"),
            PUT_OPEN => Box::new(open_load::OpenLoad::new(put_shape(params)?)?),
            MEMORY => {
                let [idle, waiting] = values(params, ["idle", "waiting"], MOST)?;
                Box::new(memory::Memory::new(idle, waiting)?)
            }
            LETTER => {
                let [bytes, members, round_trip] =
                    values(params, ["bytes", "members", "round_trip_ms"], MOST)?;
                if members == 0 || members as u64 > MOST_MEMBERS {
                    return unsupported("members must be from 1 to 500");
                }
                let round_trip = Duration::from_millis(round_trip as u64);
                Box::new(letter::Letter::new(self.worlds.team()?, members, bytes, round_trip)?)
            }
            _ => return unsupported("there is no such case"),
        })
    }
}

/// The floor of `sync`: the frames are in memory, and the engine decrypts and stores them.
#[allow(missing_debug_implementations, reason = "it holds keys")]
pub struct DecryptBatch {
    info: SubjectInfo,
    worlds: Worlds,
}

impl DecryptBatch {
    /// Creates the subject.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Worlds::default())
    }

    fn with(worlds: Worlds) -> Self {
        let about = "the engine's one call for the same frames, which are in memory; no hub and no connection";
        let properties = ["confidential", "authenticated", "sender", "durable"];
        Self { info: info(DECRYPT_BATCH, about, &properties), worlds }
    }
}

impl Default for DecryptBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Subject for DecryptBatch {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        _: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        if case != SYNC {
            return unsupported("it has no hub");
        }
        let (frames, senders, form) = visit(params)?;
        if form != Form::Visit {
            return unsupported("it has one transaction");
        }
        let backlog = self.worlds.backlog(frames, senders)?;
        Ok(Box::new(sync::Ready::new(backlog, Form::DecryptBatch, Engine::Sqlite)))
    }
}

fn info(subject: &str, about: &str, properties: &[&str]) -> SubjectInfo {
    super::described("node", subject, about, "docs/spec/node.md, docs/spec/delivery.md", properties)
}

/// Reads the parameters of `sync`: frames, senders and form.
fn visit(params: &Params) -> Result<(usize, usize, Form), SubjectError> {
    let [frames, senders, per_commit] = values(params, ["frames", "senders", "per_commit"], MOST)?;
    if !(1..=50).contains(&senders) || !(senders..=5_000).contains(&frames) {
        return unsupported("senders must be from 1 to 50, frames from as many to 5,000");
    }
    match per_commit {
        1 => Ok((frames, senders, Form::OneAtATime)),
        all if all == frames => Ok((frames, senders, Form::Visit)),
        _ => unsupported("per_commit must be 1 or frames"),
    }
}

fn put_shape(params: &Params) -> Result<Shape, SubjectError> {
    let [bytes, frames, senders] = values(params, ["bytes", "frames", "senders"], MOST)?;
    let is_possible = (2..=100).contains(&senders) && frames > 0 && frames % senders == 0;
    if !is_possible || bytes > 900_000 {
        return unsupported(
            "senders must be from 2 to 100, frames a multiple, bytes at most 900,000",
        );
    }
    Ok(Shape { bytes, frames, senders })
}

/// Reads the values of exactly these parameters. Fails if one is missing or there are others.
fn values<const N: usize>(
    params: &Params,
    names: [&str; N],
    most: u64,
) -> Result<[usize; N], SubjectError> {
    if params.len() != N {
        return unsupported("this case has other parameters");
    }
    let mut values = [0; N];
    for (name, value) in names.iter().zip(&mut values) {
        let given = params.get(*name).copied().filter(|given| *given <= most);
        let given = given.and_then(|given| usize::try_from(given).ok());
        *value =
            given.ok_or_else(|| SubjectError::Unsupported(format!("{name} is not possible")))?;
    }
    Ok(values)
}

fn unsupported<T>(why: &str) -> Result<T, SubjectError> {
    Err(SubjectError::Unsupported(why.into()))
}

#[cfg(test)]
mod tests;
