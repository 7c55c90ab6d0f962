//! Nodes over a hub as subjects: our node and hub, and the engine alone as the floor of a visit.

use core::cell::RefCell;
use core::time::Duration;
use std::rc::Rc;

use super::described;
use crate::case::{Case, OURS};
use crate::subject::{Failure, Prepared, Subject, unsupported};

mod account;
mod backlog;
mod database;
mod insert;
mod memory;
mod open_load;
mod person;
mod put;
mod put_world;
pub(crate) mod server;
mod service;
mod sync;
mod team;
mod team_text;
mod wire;

use backlog::Backlog;
use database::Engine;
use put_world::Shape;
use sync::Form;
use team::Team;

/// Returns the subjects of the suite, which share backlogs and groups.
pub(crate) fn subjects() -> Vec<Subject> {
    let settings = "docs/spec/node.md, docs/spec/delivery.md";
    let properties = ["confidential", "authenticated", "sender", "durable", "post-quantum"];
    let worlds = Worlds::default();
    let node = |name, about, engine| {
        let info = described("node", name, about, settings, &properties);
        let worlds = worlds.clone();
        Subject::new(info, move |case, _| prepare(&worlds, engine, case))
    };
    let about = "the engine's one call for the same frames, which are in memory; no hub and no \
                 connection";
    let floor = described("node", "decrypt-batch", about, settings, &properties[..4]);
    let of_floor = worlds.clone();
    vec![
        node(
            OURS,
            "endseal's node and hub, both in this process; SQLCipher and SQLite, FULL; QUIC over \
             loopback",
            Engine::Sqlite,
        ),
        node(
            "postgresql",
            "the same node; the hub's database is on a PostgreSQL server of this machine",
            Engine::Postgres,
        ),
        Subject::new(floor, move |case, _| {
            if case.case != "sync" || case.number("per_commit")? == 1 {
                return Err(unsupported("it has no hub, and one transaction"));
            }
            let backlog = of_floor.backlog(case)?;
            Ok(Box::new(sync::Ready::new(backlog, Form::DecryptBatch, Engine::Sqlite)))
        }),
    ]
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
    fn backlog(&self, case: &Case) -> Result<Rc<Backlog>, Failure> {
        let shape = (case.number("frames")?, case.number("senders")?);
        let mut known = self.backlog.borrow_mut();
        if let Some((of, backlog)) = &*known
            && *of == shape
        {
            return Ok(Rc::clone(backlog));
        }
        // The previous backlog is dropped first, because it has files on the disk.
        *known = None;
        let made = Rc::new(Backlog::new(shape.0, shape.1)?);
        *known = Some((shape, Rc::clone(&made)));
        Ok(made)
    }

    fn team(&self) -> Result<Rc<RefCell<Team>>, Failure> {
        let mut known = self.team.borrow_mut();
        if let Some(team) = &*known {
            return Ok(Rc::clone(team));
        }
        let made = Rc::new(RefCell::new(Team::new()?));
        *known = Some(Rc::clone(&made));
        Ok(made)
    }
}

fn prepare(worlds: &Worlds, engine: Engine, case: &Case) -> Result<Box<dyn Prepared>, Failure> {
    engine.check()?;
    Ok(match case.case.as_str() {
        "sync" => {
            let is_whole = case.number("per_commit")? > 1;
            let form = if is_whole { Form::Visit } else { Form::OneAtATime };
            Box::new(sync::Ready::new(worlds.backlog(case)?, form, engine))
        }
        "put" => Box::new(put::Puts::new(engine, Shape::new(case)?)?),
        _ if engine != Engine::Sqlite => return Err(unsupported("it is measured over SQLite")),
        "put_open" => Box::new(open_load::OpenLoad::new(Shape::new(case)?)?),
        "memory" => Box::new(memory::Memory::new(case.number("idle")?, case.number("waiting")?)?),
        "team_text" => {
            let round_trip = Duration::from_millis(case.number("round_trip_ms")? as u64);
            let (members, bytes) = (case.number("members")?, case.number("bytes")?);
            Box::new(team_text::TeamText::new(worlds.team()?, members, bytes, round_trip)?)
        }
        other => return Err(unsupported(format!("there is no case {other}"))),
    })
}

#[cfg(test)]
mod tests;
