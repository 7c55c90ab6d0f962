//! Threads that open messages. They and the caller take the conversations of a block from a queue.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::any::Any;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use super::accept_context::AcceptContext;
use super::batch::{ConversationDone, ConversationWork};
use crate::PairwiseAccount;

/// State that the caller and the worker threads share.
pub(super) struct WorkerPool<'e, A: PairwiseAccount> {
    queue: Mutex<WorkQueue<'e, A>>,
    /// Signals that work was added, or that the pool has ended.
    work_came: Condvar,
    /// Signals that a conversation is done or a thread has panicked.
    done_came: Condvar,
}

struct WorkQueue<'e, A: PairwiseAccount> {
    todo: VecDeque<ConversationWork<'e, A>>,
    done: Vec<ConversationDone<'e, A>>,
    panic: Option<Box<dyn Any + Send>>,
    over: bool,
}

/// Guard of [`WorkerPool::engage`]: ends the worker threads when it is dropped.
pub(super) struct PoolGuard<'c, 'e, A: PairwiseAccount>(&'c WorkerPool<'e, A>);

impl<A: PairwiseAccount> Drop for PoolGuard<'_, '_, A> {
    fn drop(&mut self) {
        self.0.dismiss();
    }
}

impl<'e, A: PairwiseAccount> WorkerPool<'e, A> {
    pub(super) fn new() -> Self {
        let table = WorkQueue { todo: VecDeque::new(), done: Vec::new(), panic: None, over: false };
        Self { queue: Mutex::new(table), work_came: Condvar::new(), done_came: Condvar::new() }
    }

    /// Starts `threads` worker threads, which end when the [guard](Self::engage) is dropped.
    pub(super) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        accept_context: &'scope AcceptContext<A>,
    ) where
        'e: 'scope,
    {
        for _ in 0..threads {
            scope.spawn(move || self.serve(accept_context));
        }
    }

    /// Returns a guard that ends the worker threads when it is dropped. It does so even if the
    /// caller panics, because the scope would wait for the threads for ever otherwise.
    pub(super) fn engage(&self) -> PoolGuard<'_, 'e, A> {
        PoolGuard(self)
    }

    /// Ends the worker threads.
    fn dismiss(&self) {
        self.lock().over = true;
        self.work_came.notify_all();
    }

    /// Opens the messages of a block. The caller's thread works too.
    pub(super) fn run(
        &self,
        work: Vec<ConversationWork<'e, A>>,
        accept_context: &AcceptContext<A>,
    ) -> Vec<ConversationDone<'e, A>> {
        let conversation_states = work.len();
        // Conversations with the most messages come first, so that no long one is started last.
        let mut work = work;
        work.sort_by_key(|it| core::cmp::Reverse(it.tasks.len()));
        let mut table = self.lock();
        table.todo.extend(work);
        if conversation_states > 1 {
            self.work_came.notify_all();
        }
        loop {
            if let Some(next) = table.todo.pop_front() {
                drop(table);
                let done = next.run(accept_context);
                table = self.lock();
                table.done.push(done);
            } else if table.done.len() == conversation_states {
                return core::mem::take(&mut table.done);
            } else if let Some(panic) = table.panic.take() {
                drop(table);
                resume_unwind(panic);
            } else {
                table = self.done_came.wait(table).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn serve(&self, accept_context: &AcceptContext<A>) {
        let mut table = self.lock();
        loop {
            if let Some(next) = table.todo.pop_front() {
                drop(table);
                // The caller waits for every conversation, so a panic is passed on to it.
                let done = catch_unwind(AssertUnwindSafe(|| next.run(accept_context)));
                table = self.lock();
                match done {
                    Ok(done) => table.done.push(done),
                    Err(panic) => table.panic = Some(panic),
                }
                self.done_came.notify_one();
            } else if table.over {
                return;
            } else {
                table = self.work_came.wait(table).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, WorkQueue<'e, A>> {
        // No code panics while it holds the lock, and the guarded state is always consistent.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
