//! Cases in which objects are stored or fetched, each iteration on connections that are kept.

use super::check;
use super::line::Line;
use super::multipart;
use super::place;
use super::shape::{Backend, Job, Shape};
use crate::clock::Elapsed;
use crate::s3::client::Connection;
use crate::s3::content::Content;
use crate::s3::sink;
use crate::subject::{Checked, Extra, Failure, Prepared, unsupported};

/// The case as a subject has it.
pub(super) struct Transfer {
    line: Line,
    shape: Shape,
    connections: Vec<Connection>,
    path: String,
    /// Number of the object that is transferred.
    number: u64,
    spent: Vec<Elapsed>,
}

impl Transfer {
    pub(super) fn new(line: Line, shape: Shape) -> Result<Self, Failure> {
        let path = match shape.job {
            Job::Put | Job::PutChunked | Job::Small => line.dropped("object"),
            _ => line.kept("object"),
        };
        let (connections, spent) = (Vec::new(), Vec::new());
        let own = Self { line, shape, connections, path, number: 1, spent };
        if !shape.is_up() {
            own.line.put(&own.path, own.content())?;
        }
        Ok(own)
    }

    fn content(&self) -> Content {
        Content::new(self.number, self.shape.bytes)
    }

    /// Opens connections, unless earlier ones are still usable.
    fn connect(&mut self) -> Result<Vec<Connection>, Failure> {
        let count = if self.shape.job == Job::Multipart { self.shape.streams } else { 1 };
        let mut kept = core::mem::take(&mut self.connections).into_iter();
        (0..count).map(|_| self.line.reuse(kept.next())).collect()
    }

    /// Stores or fetches the object. Requests are prepared before the clock starts, because the
    /// client's own cost is not measured.
    fn transfer(&self, connections: &mut [Connection]) -> Result<Elapsed, Failure> {
        let (line, shape, content) = (&self.line, &self.shape, self.content());
        let [connection, ..] = &mut *connections else { return Err("no connection".into()) };
        match shape.job {
            Job::Put => {
                let upload = line.upload(&self.path, content)?;
                line.time(|| upload.send(connection))
            }
            Job::PutChunked => {
                let upload = line.upload_in_chunks(&self.path, content)?;
                line.time(|| upload.send(connection))
            }
            Job::Get => {
                let head = line.head("GET", &self.path, &[])?;
                line.time(|| connection.get(&head, content, 0, content.len))
            }
            Job::Range => {
                // A pseudorandom offset in the object.
                let at = self.spent.len() as u64;
                let at = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) % content.len;
                let range = format!("bytes={at}-{at}");
                let head = line.head("GET", &self.path, &[("range", &range)])?;
                line.time(|| connection.get(&head, content, at, 1))
            }
            Job::Small => {
                let head = line.head("PUT", &self.path, &[])?;
                line.time(|| {
                    (0..shape.count).try_for_each(|_| connection.put(&head, content).map(drop))
                })
            }
            Job::Multipart => {
                line.time(|| multipart::upload(line, connections, &self.path, content, shape.part))
            }
            Job::Memory => Err(unsupported("it is not timed")),
        }
    }
}

impl Prepared for Transfer {
    fn check(&mut self) -> Result<Checked, Failure> {
        if self.shape.job == Job::Multipart {
            let mut connections = self.connect()?;
            self.transfer(&mut connections)?;
            self.line.get(&self.path, self.content())?;
            return check::check(&self.line, check::TAMPERED);
        }
        check::check(&self.line, self.shape.bytes)
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        if self.shape.is_up() {
            // Each iteration stores another object.
            self.number += 1;
            if self.shape.backend == Backend::Server {
                place::make_room(self.shape.bytes)?;
            }
        }
        let mut connections = self.connect()?;
        let elapsed = self.transfer(&mut connections)?;
        self.connections = connections;
        self.spent.push(elapsed);
        Ok(elapsed)
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        match self.shape.job {
            Job::Range => {
                /// Number of requests, each for one byte.
                const TRIES: u32 = 20;
                let before = sink::counters(self.line.backend)?;
                self.run(TRIES)?;
                let after = sink::counters(self.line.backend)?;
                let each = |at: usize| vec![(after[at] - before[at]) / f64::from(TRIES)];
                Ok(vec![
                    Extra::less("backend_requests", "1", each(0)),
                    Extra::less("backend_bytes", "B", each(1)),
                ])
            }
            Job::Small if self.shape.count > 1 => Ok(requests(self.shape.count, &self.spent)),
            _ => Ok(rates(self.shape.bytes, &self.spent)),
        }
    }
}

/// Returns the rate of so many requests an iteration, and their CPU time.
#[allow(clippy::cast_precision_loss, reason = "some hundred requests")]
fn requests(count: u64, spent: &[Elapsed]) -> Vec<Extra> {
    let (rates, cpu) = each(count as f64, spent);
    let rates = Extra::more("requests_s", "1/s", rates.into_iter().map(|it| it * 1e9).collect());
    let cpu = (!cpu.is_empty()).then(|| Extra::less("cpu_per_request", "ns", cpu));
    [rates].into_iter().chain(cpu).collect()
}

/// Returns the rate for objects of that length, and their CPU time.
#[allow(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
pub(super) fn rates(bytes: u64, spent: &[Elapsed]) -> Vec<Extra> {
    // Bytes in a nanosecond are thousands of MB in a second, and nanoseconds for a byte are seconds
    // for a GB.
    let (rates, cpu) = each(bytes as f64, spent);
    let rates = Extra::more("mb_s", "MB/s", rates.into_iter().map(|it| it * 1e3).collect());
    let cpu = (!cpu.is_empty()).then(|| Extra::less("cpu_s_per_gb", "s/GB", cpu));
    [rates].into_iter().chain(cpu).collect()
}

/// Returns how many units an iteration carried in a nanosecond, and the CPU time of each. The first
/// iteration is left out, because all caches were cold.
fn each(units: f64, spent: &[Elapsed]) -> (Vec<f64>, Vec<f64>) {
    let spent = spent.get(1..).unwrap_or_default();
    let rates = spent.iter().map(|it| units / it.wall_ns).collect();
    (rates, spent.iter().filter_map(|it| Some(it.cpu_ns? / units)).collect())
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.line.delete(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::s3::tests::start;
    use crate::s3::{pass, seed, sink};

    #[test]
    fn every_job_is_done_on_every_line() {
        let sink = start(sink::serve);
        let pass = start(move |listener| pass::serve(listener, sink));
        let seed = start(move |listener| seed::serve(listener, sink));
        for (entry, is_seed) in [(sink, false), (pass, false), (seed, true)] {
            for text in [
                "put bytes=6000000",
                "get bytes=6000000",
                "put_chunked bytes=3000000",
                "range bytes=3000000",
                "small bytes=4K count=5",
                // The last part is shorter than the others.
                "multipart bytes=12000007 part=5M streams=3",
            ] {
                if is_seed
                    && ["range", "multipart", "put_chunked"].iter().any(|it| text.starts_with(it))
                {
                    continue;
                }
                let shape = Shape::new(&Case::read("s3", text)).unwrap();
                let line = Line::new(entry, sink, None, Backend::Sink, false);
                let mut transfer = Transfer::new(line, shape).unwrap();
                assert_eq!(transfer.check().unwrap().objection(), None, "{text}");
                assert!(transfer.run(3).unwrap().wall_ns > 0.0);
                let figures = transfer.extra().unwrap();
                assert!(figures.iter().all(|it| it.samples.iter().all(|it| *it > 0.0)), "{text}");
            }
        }
    }
}
