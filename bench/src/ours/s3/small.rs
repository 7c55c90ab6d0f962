//! Cases of short objects, transferred one after the other on each connection.

use std::thread;

use super::figure;
use super::line::Line;
use super::shape::Shape;
use crate::clock::Elapsed;
use crate::record::Better;
use crate::s3::Failure;
use crate::s3::client::{Connection, Head};
use crate::s3::content::Content;
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// The case as a subject has it.
pub(super) struct Ready {
    line: Line,
    shape: Shape,
    authenticates: bool,
    connections: Vec<Connection>,
    /// Paths of the objects, one for each connection.
    paths: Vec<String>,
    spent: Vec<Elapsed>,
}

impl Ready {
    pub(super) fn new(line: Line, shape: Shape, authenticates: bool) -> Result<Self, SubjectError> {
        let path = |stream| match shape.down {
            true => line.kept(&format!("small-{stream}")),
            false => line.dropped(&format!("small-{stream}")),
        };
        let paths: Vec<String> = (0..shape.streams).map(path).collect();
        if shape.down {
            for path in &paths {
                line.put(path, Content::new(0, shape.bytes)).map_err(super::failed)?;
            }
        }
        let (connections, spent) = (Vec::new(), Vec::new());
        Ok(Self { line, shape, authenticates, connections, paths, spent })
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        if self.connections.iter().any(Connection::is_stale) {
            self.connections.clear();
        }
        while self.connections.len() < self.paths.len() {
            self.connections.push(self.line.connect()?);
        }
        let content = Content::new(0, self.shape.bytes);
        // Requests are signed before the clock starts, because the client's own cost is not
        // measured.
        let head = |path: &String| match self.shape.down {
            true => self.line.head("GET", path, &[]),
            false => self.line.head("PUT", path, &[]),
        };
        let heads: Vec<Head> = self.paths.iter().map(head).collect::<Result<_, _>>()?;
        let each = self.shape.count / self.shape.streams;
        let down = self.shape.down;
        let drive = |connection: &mut Connection, head: &Head| -> Result<(), Failure> {
            for _ in 0..each {
                match down {
                    true => connection.get(head, content, 0, content.len)?,
                    false => connection.put(head, content).map(drop)?,
                }
            }
            Ok(())
        };
        let mut connections = core::mem::take(&mut self.connections);
        let elapsed = self.line.time(|| match (&mut connections[..], &heads[..]) {
            ([one], [head]) => drive(one, head),
            (all, heads) => thread::scope(|scope| {
                let pairs = all.iter_mut().zip(heads);
                let streams: Vec<_> =
                    pairs.map(|(one, head)| scope.spawn(|| drive(one, head))).collect();
                for stream in streams {
                    stream.join().map_err(|_| "a stream broke off")??;
                }
                Ok(())
            }),
        })?;
        self.connections = connections;
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
        let requests = f64::from(self.shape.count / self.shape.streams * self.shape.streams);
        let spent = self.spent.get(1..).unwrap_or_default();
        let rates = spent.iter().map(|it| requests / (it.wall_ns / 1e9)).collect();
        let cpu: Vec<f64> = spent.iter().filter_map(|it| Some(it.cpu_ns? / requests)).collect();
        let mut figures = vec![figure("requests_s", "1/s", Better::More, rates)];
        if !cpu.is_empty() {
            figures.push(figure("cpu_per_request", "ns", Better::Less, cpu));
        }
        Ok(figures)
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| self.line.delete(path));
    }
}
