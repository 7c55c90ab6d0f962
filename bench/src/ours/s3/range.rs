//! The case that fetches one byte of an object, and counts the bytes that the backend sends for it.

use super::figure;
use super::line::Line;
use super::shape::Shape;
use crate::clock::Elapsed;
use crate::record::Better;
use crate::s3::Failure;
use crate::s3::client::Connection;
use crate::s3::content::Content;
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// The case as a subject has it.
pub(super) struct Ready {
    line: Line,
    content: Content,
    authenticates: bool,
    connection: Option<Connection>,
    path: String,
    next: u64,
}

impl Ready {
    pub(super) fn new(line: Line, shape: Shape, authenticates: bool) -> Result<Self, SubjectError> {
        let (content, path) = (Content::new(1, shape.bytes), line.kept("range"));
        line.put(&path, content).map_err(super::failed)?;
        Ok(Self { line, content, authenticates, connection: None, path, next: 0 })
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        // A pseudorandom offset in the object.
        let at = self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.content.len;
        self.next += 1;
        let mut connection = self.line.reuse(self.connection.take())?;
        let range = format!("bytes={at}-{at}");
        let head = self.line.head("GET", &self.path, &[("range", &range)])?;
        let content = self.content;
        let elapsed = self.line.time(|| connection.get(&head, content, at, 1))?;
        self.connection = Some(connection);
        Ok(elapsed)
    }
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        let bytes = self.content.len;
        super::check::check(&self.line, bytes, self.authenticates).map_err(super::failed)
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        Elapsed::sum(iterations, || self.once().map_err(super::failed))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        /// Number of requests, each for one byte.
        const TRIES: u32 = 20;
        let before = super::counters(self.line.backend).map_err(super::failed)?;
        self.run(TRIES)?;
        let after = super::counters(self.line.backend).map_err(super::failed)?;
        let each = |before: f64, after: f64| vec![(after - before) / f64::from(TRIES)];
        Ok(vec![
            figure("backend_requests", "1", Better::Less, each(before.requests, after.requests)),
            figure("backend_bytes", "B", Better::Less, each(before.bytes_out, after.bytes_out)),
        ])
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.line.delete(&self.path);
    }
}
