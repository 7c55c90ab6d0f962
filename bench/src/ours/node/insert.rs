//! The bare insert loop: writes the same rows as a hub into a hub's database, without a hub.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use endseal_delivery::position_after;
use endseal_hub::{DeviceState, HubStore, ShareChange, StorageError};

use super::database::Database;
use crate::subject::Failure;

/// A frame that sender number `sender` puts into the mailbox of the next one.
pub(super) struct Insert<'a> {
    pub(super) sender: usize,
    pub(super) sequence: u64,
    pub(super) frame: &'a [u8],
}

pub(super) struct InsertLoop {
    store: Box<dyn HubStore>,
    devices: Vec<DeviceState>,
}

impl InsertLoop {
    /// Opens a database in which the hub's devices are registered.
    pub(super) fn open(database: &Database) -> Result<Self, Failure> {
        let mut store = database.open()?;
        let devices = store.devices()?;
        Ok(Self { store, devices })
    }

    /// Inserts frames in one transaction: a message and a delivery for each, and at the end each
    /// device that has changed.
    pub(super) fn commit(&mut self, frames: &[Insert<'_>]) -> Result<(), Failure> {
        let Self { store, devices } = self;
        store.transact(&mut |transaction| {
            let mut changed = vec![false; devices.len()];
            let mut shares = BTreeMap::<(usize, usize), (i64, i64)>::new();
            for Insert { sender, sequence, frame } in frames {
                let number = transaction.add_message(devices[*sender].row, 1, frame)?;
                // The hub would refuse a repeated sequence number; here none is repeated.
                let _ = devices[*sender].window.accept(*sequence);
                let target = (*sender + 1) % devices.len();
                let state = &mut devices[target];
                state.last = position_after(state.last, now())
                    .ok_or(StorageError::Format("a mailbox has no positions left"))?;
                state.frames += 1;
                state.bytes += frame.len() as u64;
                transaction.add_delivery(state.row, state.last, number)?;
                (changed[*sender], changed[target]) = (true, true);
                let share = shares.entry((target, *sender)).or_default();
                *share = (share.0 + 1, share.1 + frame.len().cast_signed() as i64);
            }
            for (device, changed) in devices.iter().zip(changed) {
                if changed {
                    transaction.update_device(device)?;
                }
            }
            let shares =
                shares.into_iter().map(|((target, sender), (frames, bytes))| ShareChange {
                    device: devices[target].row,
                    sender: devices[sender].identity,
                    frames,
                    bytes,
                });
            transaction.change_shares(&shares.collect::<Vec<_>>())
        })?;
        Ok(())
    }

    /// Inserts all frames in `commits` transactions. Returns the time in ns.
    pub(super) fn run(&mut self, frames: &[Insert<'_>], commits: usize) -> Result<f64, Failure> {
        let begin = Instant::now();
        for part in frames.chunks(frames.len().div_ceil(commits.max(1)).max(1)) {
            self.commit(part)?;
        }
        Ok(begin.elapsed().as_secs_f64() * 1e9)
    }
}

/// Returns the time in microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
