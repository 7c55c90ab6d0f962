//! Peak memory of a process that transfers objects and has done nothing else before.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;

use super::line::Line;
use super::shape::Shape;
use super::world::World;
use super::{Way, figure};
use crate::record::Better;
use crate::s3::content::Content;
use crate::s3::{Failure, process::Process};
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// Number of processes that are measured; the median counts.
const PROCESSES: usize = 3;
/// Objects of at least this size are transferred by one process only.
const LARGE: u64 = 256 << 20;

/// The case as a subject has it.
pub(super) struct Ready {
    world: Rc<RefCell<World>>,
    way: Way,
    shape: Shape,
    authenticates: bool,
}

impl Ready {
    pub(super) fn new(
        world: Rc<RefCell<World>>,
        way: Way,
        shape: Shape,
        authenticates: bool,
    ) -> Self {
        Self { world, way, shape, authenticates }
    }

    fn start(&self) -> Result<(Process, Line), SubjectError> {
        let mut world = self.world.borrow_mut();
        let process = world.start(self.way, self.shape.backend)?;
        let backend = world.backend(self.shape.backend)?;
        let line = Line::new(process.address, backend, None, self.shape.backend);
        Ok((process, line))
    }

    /// Measures the peak memory in MB (10^6 bytes).
    #[allow(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
    fn peak(&self) -> Result<f64, SubjectError> {
        let (mut process, mut line) = self.start()?;
        let path = |line: &Line, stream: u32| match self.shape.down {
            true => line.kept(&format!("memory-{stream}")),
            false => line.dropped(&format!("memory-{stream}")),
        };
        let content = Content::new(2, self.shape.bytes);
        let mut stored = Vec::new();
        if self.shape.down {
            for stream in 0..self.shape.streams {
                stored.push(path(&line, stream));
                line.put(&path(&line, stream), content).map_err(super::failed)?;
            }
            // The process that stored the objects is not measured. The published baseline's shape
            // keeps the state of an upload in memory, so there one process does both.
            if self.way != Way::SeedCtr {
                let paths = core::mem::take(&mut stored);
                (process, line) = self.start()?;
                stored = paths;
            }
        }
        let paths: Vec<String> = match self.shape.down {
            true => stored.clone(),
            false => (0..self.shape.streams).map(|stream| path(&line, stream)).collect(),
        };
        let outcome = carry(&line, &paths, content, self.shape.down);
        let peak = process.peak_memory();
        paths.iter().for_each(|path| line.delete(path));
        outcome.map_err(super::failed)?;
        Ok(peak.map_err(super::failed)? as f64 / 1e6)
    }
}

/// Transfers all objects at the same time.
fn carry(line: &Line, paths: &[String], content: Content, down: bool) -> Result<(), Failure> {
    let one = |path: &str| match down {
        true => line.get(path, content),
        false => line.put(path, content),
    };
    thread::scope(|scope| {
        let streams: Vec<_> = paths.iter().map(|path| scope.spawn(|| one(path))).collect();
        for stream in streams {
            stream.join().map_err(|_| "a stream broke off")??;
        }
        Ok(())
    })
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        let (_process, line) = self.start()?;
        super::check::check(&line, 1 << 20, self.authenticates).map_err(super::failed)
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        let processes = if self.shape.bytes < LARGE { PROCESSES } else { 1 };
        let samples: Result<Vec<f64>, _> = (0..processes).map(|_| self.peak()).collect();
        Ok(vec![figure("peak_rss_mb", "MB", Better::Less, samples?)])
    }
}
