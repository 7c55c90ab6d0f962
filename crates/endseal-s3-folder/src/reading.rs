//! Bodies of answers: documents, and bytes of objects as they come off the disk.

use core::ops::Range;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::data::Lease;

/// Number of bytes that are read at once.
const READ: u64 = 512 * 1024;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Bytes that are in memory already.
    Full(Bytes),
    /// File that is read while it is sent: one read ahead, and no more.
    Reading(Reading),
}

impl Reply {
    pub(crate) const fn empty() -> Self {
        Self::Full(Bytes::new())
    }
}

/// Content of an object that is read while it is sent.
#[derive(Debug)]
pub(crate) struct Reading {
    job: Option<JoinHandle<(Source, io::Result<Bytes>)>>,
    /// Number of bytes that are not sent yet.
    left: u64,
}

/// Files and ranges from which the next bytes are read.
#[derive(Debug)]
pub(crate) struct Source {
    file: Option<(File, u64)>,
    files: VecDeque<(PathBuf, Range<u64>)>,
    /// Keeps the files in `files` from being deleted.
    _lease: Option<Lease>,
}

impl Source {
    /// A range of one file, which may lose its name.
    pub(crate) fn of_file(mut file: File, range: &Range<u64>) -> io::Result<Self> {
        file.seek(SeekFrom::Start(range.start))?;
        let file = Some((file, range.end - range.start));
        Ok(Self { file, files: VecDeque::new(), _lease: None })
    }

    /// Ranges of files, which stay while the lease does.
    pub(crate) const fn of_files(files: VecDeque<(PathBuf, Range<u64>)>, lease: Lease) -> Self {
        Self { file: None, files, _lease: Some(lease) }
    }

    fn next(&mut self) -> io::Result<Bytes> {
        loop {
            let Some((file, left)) = &mut self.file else {
                let Some((path, range)) = self.files.pop_front() else {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                };
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(range.start))?;
                self.file = Some((file, range.end - range.start));
                continue;
            };
            let wanted = READ.min(*left);
            if wanted == 0 {
                self.file = None;
                continue;
            }
            let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
            let read = file.take(wanted).read_to_end(&mut bytes)?;
            if read as u64 != wanted {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            *left -= wanted;
            return Ok(bytes.into());
        }
    }
}

impl io::Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some((file, left)) = &mut self.file {
                let read = file.take(*left).read(out)?;
                *left -= read as u64;
                if read > 0 || out.is_empty() {
                    return Ok(read);
                }
                if *left > 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.file = None;
            }
            let Some((path, range)) = self.files.pop_front() else { return Ok(0) };
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(range.start))?;
            self.file = Some((file, range.end - range.start));
        }
    }
}

impl Reading {
    /// All `len` bytes of a source.
    pub(crate) fn new(source: Source, len: u64) -> Self {
        Self { job: (len > 0).then(|| begin(source)), left: len }
    }
}

fn begin(mut source: Source) -> JoinHandle<(Source, io::Result<Bytes>)> {
    spawn_blocking(move || {
        let read = source.next();
        (source, read)
    })
}

impl Body for Reply {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let reading = match &mut *self {
            Self::Full(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Self::Full(bytes) => {
                return Poll::Ready(Some(Ok(Frame::data(core::mem::take(bytes)))));
            }
            Self::Reading(reading) => reading,
        };
        let Some(job) = &mut reading.job else { return Poll::Ready(None) };
        let done = ready!(Pin::new(job).poll(cx));
        reading.job = None;
        let (source, read) = match done {
            Ok(done) => done,
            Err(error) => return Poll::Ready(Some(Err(io::Error::other(error)))),
        };
        Poll::Ready(Some(read.map(|bytes| {
            reading.left = reading.left.saturating_sub(bytes.len() as u64);
            reading.job = (reading.left > 0).then(|| begin(source));
            Frame::data(bytes)
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Full(bytes) => bytes.len() as u64,
            Self::Reading(reading) => reading.left,
        })
    }
}
