//! Sessions as subjects: the engine over its store, and the cryptography of the same messages
//! alone.

use super::described;
use crate::case::{Case, OURS};
use crate::clock::Elapsed;
use crate::subject::{Checked, Extra, Failure, Prepared, Subject, unsupported};

mod bare;
pub(crate) mod drain;
mod examine;
pub(crate) mod folder;
mod mls;
mod pairwise;
mod people;
mod send;
mod shape;
mod world;

use shape::Shape;
use world::World;

/// Returns the session engine with its store, and the floor.
pub(crate) fn subjects() -> Vec<Subject> {
    let properties = [
        "confidential",
        "authenticated",
        "sender",
        "insider",
        "sender-hidden",
        "recipients-hidden",
        "durable",
    ];
    let about = "one call for the backlog; SQLCipher, FULL; keeps the state, the contents, and \
                 which messages were delivered; pairwise is Olm; with more than one thread, \
                 another one writes";
    let settings = "docs/spec/session.md";
    let engine = described("sessions", OURS, about, settings, &properties);
    let about = "nothing but the cryptography of the same messages in memory, and then 4 KiB \
                 appended to a file beside the store and synchronised: what a batch cannot go below";
    let floor = described("sessions", "bare", about, settings, &properties[..6]);
    vec![Subject::new(engine, prepare), Subject::new(floor, prepare_bare)]
}

fn prepare(case: &Case, inputs: u32) -> Result<Box<dyn Prepared>, Failure> {
    let work = match case.case.as_str() {
        "decrypt_batch" => Work::Decrypt,
        "memory" => Work::Memory,
        "send_during" => Work::Send,
        other => return Err(unsupported(format!("there is no case {other}"))),
    };
    // Work that is not timed never uses an input twice, so it needs only one.
    let inputs = if work == Work::Decrypt { inputs } else { 1 };
    let world = World::new(Shape::new(case)?, inputs)?;
    Ok(Box::new(Ready { work, world, next: 0, figures: Vec::new() }))
}

fn prepare_bare(case: &Case, inputs: u32) -> Result<Box<dyn Prepared>, Failure> {
    let shape = Shape::new(case)?;
    if case.case != "decrypt_batch" || shape.per_commit != shape.messages {
        return Err(unsupported("it has nothing but cryptography, and no transactions"));
    }
    Ok(Box::new(bare::Ready::new(World::new(shape, inputs)?)?))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Decrypt,
    Memory,
    Send,
}

struct Ready {
    work: Work,
    world: World,
    next: usize,
    figures: Vec<Extra>,
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, Failure> {
        let (checked, figures) = examine::check(&self.world)?;
        self.figures = figures;
        Ok(checked)
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        self.next += 1;
        self.world.iterate(self.next - 1)
    }

    fn threads(&self) -> usize {
        self.world.shape.threads
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        let mut figures = core::mem::take(&mut self.figures);
        match self.work {
            Work::Memory => figures.extend(drain::memory(&self.world)?),
            Work::Send => figures.extend(send::latencies(&self.world)?),
            Work::Decrypt => {}
        }
        Ok(figures)
    }
}
