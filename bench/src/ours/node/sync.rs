//! The case `sync`: receives a backlog, from the connection to the acknowledgement.

use std::rc::Rc;
use std::thread;

use endseal_codec::hub::{Acknowledge, Credit as CreditRequest, Request};
use endseal_delivery::Credit;
use endseal_delivery::node::Arrival;
use endseal_node::messages::{Payload, settle_inbox, unread};
use endseal_session::{BatchOptions, Engine, Envelope, Outcome};

use super::backlog::Backlog;
use super::database;
use super::wire::{Exchange, Link, waiting};
use crate::clock::{self, Elapsed};
use crate::subject::{Checked, Failure, Prepared};

/// Credit for one frame of any length.
const ONE: Credit = Credit { frames: 1, bytes: 1 << 21 };
/// Name of the queue in the form that handles one frame at a time.
const QUEUE: &[u8] = b"bench";

/// Form of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A visit, as the node makes it.
    Visit,
    /// Fetches, commits and acknowledges one frame before the next one.
    OneAtATime,
    /// Decrypts and stores frames that are in memory, in one transaction.
    DecryptBatch,
}

pub(super) struct Ready {
    backlog: Rc<Backlog>,
    form: Form,
    engine: database::Engine,
}

impl Ready {
    pub(super) fn new(backlog: Rc<Backlog>, form: Form, engine: database::Engine) -> Self {
        Self { backlog, form, engine }
    }

    /// Runs one iteration. Returns its time, and the engine with the received messages.
    fn receive(&mut self) -> Result<(Elapsed, Engine), Failure> {
        let backlog = &*self.backlog;
        let mut engine = backlog.put_receiver_back()?;
        if self.form == Form::DecryptBatch {
            let envelopes = backlog.envelopes();
            let mut opened = Ok(0);
            let spent = clock::time_threads(|| opened = decrypt(&mut engine, &envelopes));
            all_there(opened?, backlog)?;
            return Ok((spent, engine));
        }
        let server = backlog.start_hub(self.engine)?;
        let mut outcome = Err("nothing was done".into());
        let spent = clock::time_threads(|| {
            outcome = backlog.runtime.block_on(async {
                let link = backlog.receiver.connect(server.address).await?;
                let received = match self.form {
                    Form::OneAtATime => one_at_a_time(&mut engine, &link).await?,
                    _ => backlog.receiver.sync(&mut engine, &link).await?.received,
                };
                Ok::<_, Failure>((link, received))
            });
        });
        let (link, received) = outcome?;
        all_there(usize::try_from(received)?, backlog)?;
        // The hub answers only after it has handled everything that it read before.
        let left = backlog.runtime.block_on(waiting(&link))?;
        if left > 0 {
            return Err(format!("{left} frames were not acknowledged").into());
        }
        Ok((spent, engine))
    }
}

impl Prepared for Ready {
    fn check(&mut self) -> Result<Checked, Failure> {
        let (_, mut engine) = self.receive()?;
        // Decryption alone leaves messages that are not processed, and not shown.
        settle_inbox(&mut engine, &self.backlog.receiver.home)?;
        let (own, mut after, mut texts) = (*self.backlog.receiver.identity(), 0, Vec::new());
        loop {
            let (page, next) = unread(&mut engine, after)?;
            let text = page.iter().map(|it| it.text(&own).map(|it| it.text.to_owned()));
            texts.extend(text.flatten());
            let Some(next) = next else { break };
            after = next;
        }
        // Messages that came before the backlog are unread as well.
        let first = texts.len().saturating_sub(self.backlog.texts.len());
        let round_trip = texts[first..] == self.backlog.texts[..];
        Ok(Checked::round_trip(round_trip))
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        self.receive().map(|(spent, _)| spent)
    }

    fn threads(&self) -> usize {
        if self.form == Form::OneAtATime { 1 } else { threads() }
    }
}

/// Returns the number of threads, as the node chooses it.
fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(8)
}

/// Decrypts and stores everything in one transaction, as the node does. Returns the number of
/// messages.
fn decrypt(engine: &mut Engine, envelopes: &[Envelope<'_>]) -> Result<usize, Failure> {
    let options = BatchOptions::whole().threads(threads());
    let report = engine.decrypt_batch(envelopes, &options)?;
    Ok(report.outcomes.iter().filter(|it| matches!(it, Outcome::Delivered(_))).count())
}

/// Receives a mailbox frame by frame: the hub has credit for one frame and gets more when that one
/// is stored. As the node does with a batch, it commits the message first and the position after it
/// in a second transaction.
async fn one_at_a_time(engine: &mut Engine, link: &Link) -> Result<u64, Failure> {
    let (mut exchange, mut subscription) = Exchange::subscribed(link, ONE).await?;
    let Credit { frames, bytes } = ONE;
    let mut received = 0;
    loop {
        let payload = exchange.next().await?;
        let position = match subscription.answer(&payload)? {
            Arrival::Frame { position, id, frame } => {
                let read = Payload::read(frame.payload()).ok_or("a frame has another form")?;
                let envelope = Envelope::from_group(id.as_bytes(), read.group, read.body);
                received += decrypt(engine, &[envelope])? as u64;
                position
            }
            Arrival::CaughtUp => break,
            other => return Err(format!("the hub answered {other:?}").into()),
        };
        let behind = position.to_le_bytes();
        engine.transaction(|it| it.set_cursor(QUEUE, &behind))?;
        subscription.give(ONE);
        exchange.feed(Request::Acknowledge(Acknowledge { position })).await?;
        exchange.feed(Request::Credit(CreditRequest { frames, bytes })).await?;
        exchange.flush().await?;
    }
    exchange.finish().await?;
    Ok(received)
}

fn all_there(received: usize, backlog: &Backlog) -> Result<(), Failure> {
    let all = backlog.frames.len();
    if received == all { Ok(()) } else { Err(format!("{received} of {all} came out").into()) }
}
