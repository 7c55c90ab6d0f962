//! Cases of an object in parts, several of which are transferred at the same time.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::line::Line;
use super::shape::{Backend, Shape};
use super::{check, place, transfer};
use crate::clock::Elapsed;
use crate::s3::Failure;
use crate::s3::client::Connection;
use crate::s3::content::Content;
use crate::s3::http::element;
use crate::subject::{Checked, Extra, Prepared, SubjectError};

/// The case as a subject has it.
pub(super) struct Ready {
    line: Line,
    shape: Shape,
    authenticates: bool,
    /// True if the proxy cuts objects itself and supports neither parts nor ranges.
    whole: bool,
    connections: Vec<Connection>,
    path: String,
    number: u64,
    spent: Vec<Elapsed>,
}

impl Ready {
    pub(super) fn new(
        line: Line,
        shape: Shape,
        authenticates: bool,
        whole: bool,
    ) -> Result<Self, SubjectError> {
        let path = line.kept("parts");
        let (connections, spent) = (Vec::new(), Vec::new());
        let mut own =
            Self { line, shape, authenticates, whole, connections, path, number: 1, spent };
        if shape.down {
            own.connect().map_err(super::failed)?;
            own.up().map_err(super::failed)?;
        }
        Ok(own)
    }

    fn content(&self) -> Content {
        Content::new(self.number, self.shape.bytes)
    }

    /// Opens a connection for each part that is transferred at the same time, unless it is still
    /// usable.
    fn connect(&mut self) -> Result<(), Failure> {
        let wanted = if self.whole { 1 } else { self.shape.streams };
        let mut kept = core::mem::take(&mut self.connections).into_iter();
        for _ in 0..wanted {
            self.connections.push(self.line.reuse(kept.next())?);
        }
        Ok(())
    }

    /// Distributes the parts over the connections. `one` gets the index of a part.
    fn parts(
        connections: &mut [Connection],
        count: u64,
        one: impl Fn(&mut Connection, u64) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let (next, one) = (AtomicU64::new(0), &one);
        thread::scope(|scope| {
            let workers: Vec<_> = connections
                .iter_mut()
                .map(|connection| {
                    let next = &next;
                    scope.spawn(move || {
                        loop {
                            let part = next.fetch_add(1, Ordering::Relaxed);
                            if part >= count {
                                return Ok(());
                            }
                            one(connection, part)?;
                        }
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| {
                worker.join().unwrap_or_else(|_| Err("a connection panicked".into()))
            })
        })
    }

    /// Returns offset and length of a part.
    fn place_of(&self, part: u64) -> (u64, u64) {
        let at = part * self.shape.part;
        (at, self.shape.part.min(self.shape.bytes - at))
    }

    fn count(&self) -> u64 {
        self.shape.bytes.div_ceil(self.shape.part)
    }

    fn up(&mut self) -> Result<(), Failure> {
        let content = self.content();
        let mut connections = core::mem::take(&mut self.connections);
        if self.whole {
            let head = self.line.head("PUT", &self.path, &[])?;
            let [connection, ..] = &mut connections[..] else { return Err("no connection".into()) };
            connection.put(&head, content)?;
            self.connections = connections;
            return Ok(());
        }
        let path = &self.path;
        let started = self.line.ask("POST", &format!("{path}?uploads="), &[])?;
        let id = element(&started, "UploadId").ok_or("an upload has no id")?;
        let etags = Mutex::new(vec![String::new(); usize::try_from(self.count())?]);
        Self::parts(&mut connections, self.count(), |connection, part| {
            let (at, len) = self.place_of(part);
            let target = format!("{path}?partNumber={}&uploadId={id}", part + 1);
            let head = self.line.head("PUT", &target, &[])?;
            let answer = connection.put(&head, content.part(at, len))?;
            let etag = answer.get("etag").ok_or("a part has no ETag")?.to_str()?.to_owned();
            let mut etags = etags.lock().unwrap_or_else(PoisonError::into_inner);
            *etags.get_mut(usize::try_from(part)?).ok_or("no such part")? = etag;
            Ok(())
        })?;
        let etags = etags.into_inner().unwrap_or_else(PoisonError::into_inner);
        let part = |(etag, number): (&String, u32)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
        };
        let parts: String = etags.iter().zip(1..).map(part).collect();
        let order = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let done = self.line.ask("POST", &format!("{path}?uploadId={id}"), order.as_bytes())?;
        // A failure may be reported in the body of an answer with a success status.
        if element(&done, "ETag").is_none() {
            return Err(done.into());
        }
        self.connections = connections;
        Ok(())
    }

    fn down(&mut self) -> Result<(), Failure> {
        let content = self.content();
        let mut connections = core::mem::take(&mut self.connections);
        if self.whole {
            let head = self.line.head("GET", &self.path, &[])?;
            let [connection, ..] = &mut connections[..] else { return Err("no connection".into()) };
            connection.get(&head, content, 0, content.len)?;
        } else {
            Self::parts(&mut connections, self.count(), |connection, part| {
                let (at, len) = self.place_of(part);
                let range = format!("bytes={at}-{}", at + len - 1);
                let head = self.line.head("GET", &self.path, &[("range", &range)])?;
                connection.get(&head, content, at, len)
            })?;
        }
        self.connections = connections;
        Ok(())
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        if !self.shape.down {
            // Each iteration stores another object.
            self.number += 1;
            if self.shape.backend != Backend::Sink {
                place::make_room(self.shape.bytes)?;
            }
        }
        self.connect()?;
        let (before, start) = (self.line.cpu()?, std::time::Instant::now());
        if self.shape.down { self.down() } else { self.up() }?;
        let wall_ns = start.elapsed().as_secs_f64() * 1e9;
        let after = self.line.cpu()?;
        let cpu_ns = before.zip(after).map(|(before, after)| (after - before).max(0.0));
        let elapsed = Elapsed::new(wall_ns, cpu_ns);
        self.spent.push(elapsed);
        Ok(elapsed)
    }

    /// Stores an object in parts, and fetches it whole and in parts.
    fn check_parts(&mut self) -> Result<(), Failure> {
        self.connect()?;
        self.up()?;
        self.line.get(&self.path, self.content())?;
        self.connect()?;
        self.down()
    }
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.check_parts().map_err(super::failed)?;
        check::check(&self.line, check::TAMPERED, self.authenticates).map_err(super::failed)
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        Elapsed::sum(iterations, || self.once().map_err(super::failed))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        Ok(transfer::figures(self.shape.bytes, &self.spent))
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.line.delete(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::s3::tests::start;
    use crate::s3::{pass, seed, sink};
    use crate::suite::s3::{MULTIPART, SINK, multipart};

    #[test]
    fn an_object_goes_up_in_parts_and_comes_down_in_ranges() {
        let sink = start(sink::serve);
        let pass = start(move |listener| pass::serve(listener, sink));
        let seed = start(move |listener| seed::serve(listener, sink));
        for (entry, whole) in [(sink, false), (pass, false), (seed, true)] {
            for down in [0, 1] {
                // The last part is shorter than the others.
                let shape = Shape::new(MULTIPART, &multipart((12 << 20) + 7, down, SINK)).unwrap();
                let line = Line::new(entry, sink, None, Backend::Sink);
                let mut ready = Ready::new(line, shape, false, whole).unwrap();
                assert_eq!(ready.check().unwrap().objection(), None);
                assert!(ready.run(2).unwrap().wall_ns > 0.0);
                let figures = ready.extra().unwrap();
                assert_eq!(figures.len(), 1, "without a process there is no CPU time");
                assert!(figures[0].metric == "mb_s" && figures[0].samples[0] > 1.0);
            }
        }
    }
}
