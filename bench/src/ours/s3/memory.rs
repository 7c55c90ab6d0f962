//! Peak memory of a process that transfers objects and has done nothing else before.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;

use super::Way;
use super::check;
use super::line::Line;
use super::shape::Shape;
use super::world::World;
use crate::s3::content::Content;
use crate::s3::process::Process;
use crate::subject::{Checked, Extra, Failure, Prepared};

/// Number of processes that are measured; the median counts.
const PROCESSES: usize = 3;
/// Objects of at least this size are transferred by one process only.
const LARGE: u64 = 256 << 20;

/// The case as a subject has it.
pub(super) struct Memory {
    pub(super) world: Rc<RefCell<World>>,
    pub(super) way: Way,
    pub(super) shape: Shape,
}

impl Memory {
    fn start(&self) -> Result<(Process, Line), Failure> {
        let mut world = self.world.borrow_mut();
        let process = world.start(self.way, self.shape.backend)?;
        let line = world.line_of(self.way, self.shape.backend, process.address, None)?;
        Ok((process, line))
    }

    /// Measures the peak memory in MB (10^6 bytes).
    #[allow(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
    fn peak(&self) -> Result<f64, Failure> {
        let (mut process, mut line) = self.start()?;
        let content = Content::new(2, self.shape.bytes);
        let names = (0..self.shape.streams).map(|stream| format!("memory-{stream}"));
        let paths: Vec<String> = match self.shape.down {
            true => names.map(|name| line.kept(&name)).collect(),
            false => names.map(|name| line.dropped(&name)).collect(),
        };
        if self.shape.down {
            paths.iter().try_for_each(|path| line.put(path, content))?;
            // The process that stored the objects is not measured. The published baseline's shape
            // keeps the state of an upload in memory, so there one process does both.
            if self.way != Way::SeedCtr {
                (process, line) = self.start()?;
            }
        }
        let outcome = carry(&line, &paths, content, self.shape.down);
        let peak = process.peak_memory();
        paths.iter().for_each(|path| line.delete(path));
        outcome?;
        Ok(peak? as f64 / 1e6)
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

impl Prepared for Memory {
    fn check(&mut self) -> Result<Checked, Failure> {
        let (_process, line) = self.start()?;
        check::check(&line, 1 << 20)
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        let processes = if self.shape.bytes < LARGE { PROCESSES } else { 1 };
        let samples = (0..processes).map(|_| self.peak()).collect::<Result<Vec<_>, _>>()?;
        Ok(vec![Extra::less("peak_rss_mb", "MB", samples)])
    }
}
