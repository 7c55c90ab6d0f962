//! Cases of one object after the other, uploaded or downloaded.

use super::line::Line;
use super::shape::{Backend, Job, Shape};
use super::{figure, place};
use crate::clock::Elapsed;
use crate::record::Better;
use crate::s3::Failure;
use crate::s3::client::Connection;
use crate::s3::content::Content;
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// The case as a subject has it.
pub(super) struct Ready {
    line: Line,
    shape: Shape,
    authenticates: bool,
    connection: Option<Connection>,
    path: String,
    number: u64,
    spent: Vec<Elapsed>,
}

impl Ready {
    pub(super) fn new(line: Line, shape: Shape, authenticates: bool) -> Result<Self, SubjectError> {
        let number = 0;
        let line = if shape.job == Job::PutChunked { line.in_chunks() } else { line };
        let path = match shape.job {
            Job::Get => line.kept("get"),
            _ => line.dropped("put"),
        };
        let own =
            Self { line, shape, authenticates, connection: None, path, number, spent: Vec::new() };
        if shape.job == Job::Get {
            own.line.put(&own.path, own.content()).map_err(super::failed)?;
        }
        Ok(own)
    }

    fn content(&self) -> Content {
        Content::new(self.number, self.shape.bytes)
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        if self.shape.job != Job::Get {
            // Each iteration stores another object.
            self.number += 1;
        }
        let content = self.content();
        if self.shape.job == Job::Put && self.shape.backend == Backend::Server {
            place::make_room(self.shape.bytes)?;
        }
        let mut connection = self.line.reuse(self.connection.take())?;
        let elapsed = match self.shape.job {
            Job::Get => {
                let head = self.line.head("GET", &self.path, &[])?;
                self.line.time(|| connection.get(&head, content, 0, content.len))
            }
            _ => {
                let upload = self.line.upload(&self.path, content)?;
                self.line.time(|| upload.send(&mut connection))
            }
        }?;
        self.connection = Some(connection);
        self.spent.push(elapsed);
        Ok(elapsed)
    }
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        let bytes = self.shape.bytes;
        super::check::check(&self.line, bytes, self.authenticates).map_err(super::failed)
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        Elapsed::sum(iterations, || self.once().map_err(super::failed))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        Ok(figures(self.shape.bytes, &self.spent))
    }
}

/// Returns the rate for objects of that length, and their CPU time.
#[allow(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
pub(super) fn figures(bytes: u64, spent: &[Elapsed]) -> Vec<Extra> {
    let bytes = bytes as f64;
    // The first iteration is dropped, because all caches were cold.
    let spent = spent.get(1..).unwrap_or_default();
    let rates = spent.iter().map(|it| bytes / 1e6 / (it.wall_ns / 1e9)).collect();
    let cpu: Vec<f64> = spent.iter().filter_map(|it| Some(it.cpu_ns? / bytes)).collect();
    let mut figures = vec![figure("mb_s", "MB/s", Better::More, rates)];
    if !cpu.is_empty() {
        // Nanoseconds for each byte are seconds for each GB.
        figures.push(figure("cpu_s_per_gb", "s/GB", Better::Less, cpu));
    }
    figures
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.line.delete(&self.path);
    }
}
