//! The case `memory`: peak memory of a hub's process with idle nodes and waiting frames.

use endseal_delivery::Credit;
use endseal_delivery::node::Arrival;

use super::account::{Account, frame};
use super::database::Database;
use super::insert::{Insert, InsertLoop};
use super::wire::{Exchange, connect};
use crate::program;
use crate::s3::listen;
use crate::s3::process::Process;
use crate::scratch::Folder;
use crate::subject::{Checked, Extra, Failure, Prepared};

/// Number of hub processes that are measured.
const PROCESSES: usize = 3;
/// Number of disconnected nodes in whose mailboxes the frames wait.
const AWAY: usize = 20;
/// Number of frames that are written in one transaction.
const CHUNK: usize = 10_000;
/// Bytes of a waiting ciphertext.
const BYTES: usize = 100;
/// Credit of an idle node, as a real node grants it.
const CREDIT: Credit = Credit { frames: 10_000, bytes: 16 << 20 };

pub(super) struct Memory {
    folder: Folder,
    idle: Vec<Account>,
}

impl Memory {
    pub(super) fn new(idle: usize, waiting: usize) -> Result<Self, Failure> {
        let folder = Folder::new()?;
        let of = |count| (0..count).map(|_| Account::new()).collect::<Result<Vec<_>, _>>();
        let (away, idle) = (of(AWAY)?, of(idle)?);
        let own = Self { folder, idle };
        Account::enroll(&own.database(), &away)?;
        let mut inserts = InsertLoop::open(&own.database())?;
        let frames = (0..AWAY).map(|at| frame(&away[at].peer, 1, BYTES));
        let frames = frames.collect::<Result<Vec<_>, _>>()?;
        let mut done = 0;
        while done < waiting {
            let end = (done + CHUNK).min(waiting);
            let insert = |at: usize| Insert {
                sender: at % AWAY,
                sequence: (at / AWAY) as u64 + 1,
                frame: &frames[at % AWAY],
            };
            inserts.commit(&(done..end).map(insert).collect::<Vec<_>>())?;
            done = end;
        }
        drop(inserts);
        Account::enroll(&own.database(), &own.idle)?;
        Ok(own)
    }

    fn database(&self) -> Database {
        Database::Sqlite(self.folder.at("hub.db"))
    }

    /// Returns the peak in bytes, with all idle nodes connected and nothing left to deliver to
    /// them.
    #[allow(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
    fn peak(&self) -> Result<f64, Failure> {
        let mut command = program::role("hub")?;
        command.arg(self.folder.at("hub.db"));
        let process = Process::announced(command)?;
        let runtime = listen::runtime()?;
        runtime.block_on(async {
            let mut connected = Vec::new();
            for account in &self.idle {
                let link = connect(&account.key, process.address).await?;
                let (mut exchange, mut subscription) = Exchange::subscribed(&link, CREDIT).await?;
                let payload = exchange.next().await?;
                if !matches!(subscription.answer(&payload)?, Arrival::CaughtUp) {
                    return Err("an idle node was given something".into());
                }
                connected.push((link, exchange));
            }
            Ok::<_, Failure>(process.peak_memory()? as f64)
        })
    }
}

impl Prepared for Memory {
    fn check(&mut self) -> Result<Checked, Failure> {
        Ok(Checked::round_trip(true))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        if !program::is_known() {
            return Ok(Vec::new());
        }
        let samples = (0..PROCESSES).map(|_| self.peak()).collect::<Result<Vec<_>, _>>()?;
        Ok(vec![Extra::less("peak_rss", "B", samples)])
    }
}
