//! The thread that owns an engine, so that a transaction can last over many calls.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use endseal_session::Engine;
use endseal_session::olm::OlmAccount;

use crate::error::SessionError;

type Job = Box<dyn FnOnce(&mut Engine<OlmAccount>) + Send>;

/// Runs jobs in the order in which they come.
pub(crate) struct Worker {
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<Result<(), SessionError>>>>,
}

impl Worker {
    pub(crate) fn start(mut engine: Engine<OlmAccount>) -> Result<Self, SessionError> {
        let (jobs, received) = mpsc::channel::<Job>();
        let work = move || {
            for job in received {
                job(&mut engine);
            }
            Ok(engine.into_store().close()?)
        };
        let thread = thread::Builder::new().name("endseal".into()).spawn(work);
        let thread = thread.map_err(|error| SessionError::Store {
            code: "io".into(),
            reason: format!("no thread can be made for the store: {error}"),
        })?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)) })
    }

    /// Runs a job after those before it, and returns without waiting for it.
    pub(crate) fn submit(
        &self,
        job: impl FnOnce(&mut Engine<OlmAccount>) + Send + 'static,
    ) -> Result<(), SessionError> {
        let jobs = locked(&self.jobs);
        let jobs = jobs.as_ref().ok_or_else(SessionError::closed)?;
        jobs.send(Box::new(job)).map_err(|_| SessionError::closed())
    }

    /// Runs a job after those before it, and returns its result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine<OlmAccount>) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, SessionError> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.submit(move |engine| {
            // A caller waits for the answer.
            let _ = reply.send(work(engine));
        })?;
        answer.recv().map_err(|_| SessionError::closed())?
    }

    /// Ends the thread after the jobs that came before, and closes the store.
    pub(crate) fn close(&self) -> Result<(), SessionError> {
        drop(locked(&self.jobs).take());
        match locked(&self.thread).take().map(JoinHandle::join) {
            Some(Ok(closed)) => closed,
            // After a panic nothing is written, as if the process had died.
            Some(Err(_)) | None => Ok(()),
        }
    }
}

/// Locks a mutex whose value is whole at any time.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
