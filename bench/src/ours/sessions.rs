//! Sessions as subjects: the engine over its store, and the cryptography of the same messages
//! alone.

use crate::clock::Elapsed;
use crate::record::{Params, SubjectInfo};
use crate::subject::{Checked, Extra, Prepared, Subject, SubjectError};
use crate::suite::sessions::{BARE, DECRYPT, MEMORY, SEND};

pub(in crate::ours) mod bare;
pub mod drain;
mod examine;
pub(crate) mod folder;
mod mls;
mod pairwise;
mod people;
mod send;
mod shape;
mod world;

use folder::Failure;
use shape::Shape;
use world::World;

/// Returns both subjects of the suite.
pub(crate) fn subjects() -> Vec<Box<dyn Subject>> {
    vec![Box::new(Sessions::new()), Box::new(Bare::new())]
}

fn info(subject: &str, about: &str, properties: &[&str]) -> SubjectInfo {
    super::described("sessions", subject, about, "docs/spec/session.md", properties)
}

const PROPERTIES: [&str; 6] =
    ["confidential", "authenticated", "sender", "insider", "sender-hidden", "recipients-hidden"];

/// The session engine with its store, as a subject.
#[derive(Clone, Debug)]
pub struct Sessions {
    info: SubjectInfo,
}

impl Sessions {
    /// Creates the subject.
    #[must_use]
    pub fn new() -> Self {
        let about = "one call for the backlog; SQLCipher, FULL; keeps the state, the contents, and \
                     which messages were delivered; pairwise is Olm; with more than one thread, \
                     another one writes";
        let properties = [&PROPERTIES[..], &["durable"]].concat();
        Self { info: info(crate::case::OURS, about, &properties) }
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new()
    }
}

impl Subject for Sessions {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        let work = match case {
            DECRYPT => Work::Decrypt,
            MEMORY => Work::Memory,
            SEND => Work::Send,
            _ => return Err(SubjectError::Unsupported("there is no such case".into())),
        };
        let shape = Shape::new(params)?;
        // Work that is not timed never uses an input twice, so it needs only one.
        let inputs = if work == Work::Decrypt { inputs } else { 1 };
        let world = World::new(shape, inputs)?;
        Ok(Box::new(Ready { work, world, next: 0, figures: Vec::new() }))
    }
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
    fn check(&mut self) -> Result<Checked, SubjectError> {
        let (checked, figures) = examine::check(&self.world)?;
        self.figures = figures;
        Ok(checked)
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        Ok(Elapsed::sum(iterations, || {
            self.next += 1;
            self.world.iterate(self.next - 1)
        })?)
    }

    fn threads(&self) -> usize {
        self.world.shape.threads
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        let mut figures = core::mem::take(&mut self.figures);
        match self.work {
            Work::Memory => figures.extend(drain::memory(&self.world)?),
            Work::Send => figures.extend(send::latencies(&self.world)?),
            Work::Decrypt => {}
        }
        Ok(figures)
    }
}

/// The cryptography of the same messages in memory, and one fsync, as a subject.
#[derive(Clone, Debug)]
pub struct Bare {
    info: SubjectInfo,
}

impl Bare {
    /// Creates the subject.
    #[must_use]
    pub fn new() -> Self {
        let about = "nothing but the cryptography of the same messages in memory, and then 4 KiB \
                     appended to a file beside the store and synchronised: what a batch cannot go below";
        Self { info: info(BARE, about, &PROPERTIES) }
    }
}

impl Default for Bare {
    fn default() -> Self {
        Self::new()
    }
}

impl Subject for Bare {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        inputs: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        if case != DECRYPT {
            return Err(SubjectError::Unsupported("it has nothing but cryptography".into()));
        }
        let shape = Shape::new(params)?;
        if !shape.is_whole() {
            return Err(SubjectError::Unsupported("it has one transaction, which is none".into()));
        }
        Ok(Box::new(bare::Ready::new(World::new(shape, inputs)?)?))
    }
}

impl From<Failure> for SubjectError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.to_string())
    }
}
