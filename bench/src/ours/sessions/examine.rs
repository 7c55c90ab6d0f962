//! The check of a case, and the figures that are measured after the last round.

use endseal_session::{EngineError, Outcome};

use super::folder;
use super::world::{Names, World, all_delivered};
use crate::subject::{Checked, Extra, Failure};

/// Distance from the end of the byte whose bit is changed.
const TAMPERED_FROM_END: usize = 16;

/// Changes one bit of a message.
pub(super) fn tamper(body: &mut [u8]) {
    if let Some(at) = body.len().checked_sub(1 + TAMPERED_FROM_END) {
        body[at] ^= 1;
    }
}

/// Runs the check of docs/spec/bench-peer.md, and returns its verdict and its figures.
pub(super) fn check(world: &World) -> Result<(Checked, Vec<Extra>), Failure> {
    let (round_trip, mut figures) = plainly(world)?;
    figures.push(recovered(world)?);
    let checked = Checked {
        round_trip,
        tamper_refused: Some(refuses_one(world)?),
        sealed_bytes: world.backlogs[0].messages.first().map(|it| it.body.len() as u64),
    };
    Ok((checked, figures))
}

#[allow(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
fn plainly(world: &World) -> Result<(bool, Vec<Extra>), Failure> {
    let backlog = world.backlog(0);
    let names = Names::new(&world.shape);
    let envelopes = names.envelopes(&backlog.messages);
    let mut receiver = world.open()?;
    let before = folder::written();
    let report = receiver.decrypt_batch(&envelopes, &world.shape.options())?;
    let after = folder::written();
    all_delivered(&report, envelopes.len())?;
    let mut figures = Vec::new();
    if let (Some(before), Some(after)) = (before, after) {
        figures.push(Extra::less("bytes_written", "B", vec![(after - before) as f64]));
    }
    let page = receiver.inbox().page(0, usize::MAX >> 1)?;
    let same = page.len() == backlog.contents.len()
        && page
            .iter()
            .zip(&backlog.contents)
            .all(|(row, content)| row.plaintext[..] == content[..]);
    receiver.into_store().close()?;
    Ok((same, figures))
}

/// Changes one bit of the message in the middle. Returns true if only that message is refused.
fn refuses_one(world: &World) -> Result<bool, Failure> {
    let mut messages = world.backlog(0).messages.clone();
    let middle = messages.len() / 2;
    tamper(&mut messages[middle].body);
    let names = Names::new(&world.shape);
    let mut receiver = world.open()?;
    let whole = endseal_session::BatchOptions::whole().threads(world.shape.threads);
    let report = receiver.decrypt_batch(&names.envelopes(&messages), &whole)?;
    receiver.into_store().close()?;
    Ok(report.outcomes.len() == messages.len()
        && report.outcomes.iter().enumerate().all(|(index, outcome)| match outcome {
            Outcome::Failed(_) => index == middle,
            Outcome::Delivered(_) => index != middle,
            _ => false,
        }))
}

/// Aborts the transaction of the first two messages, and measures which share of them can still be
/// opened.
#[allow(clippy::cast_precision_loss, reason = "two messages")]
fn recovered(world: &World) -> Result<Extra, Failure> {
    let backlog = world.backlog(0);
    let first = &backlog.messages[..backlog.messages.len().min(2)];
    let names = Names::new(&world.shape);
    let envelopes = names.envelopes(first);
    let mut receiver = world.open()?;
    let aborted = receiver.transaction(|own| {
        for envelope in &envelopes {
            own.decrypt(envelope)?;
        }
        Err::<(), EngineError>(EngineError::Ended)
    });
    if aborted.is_ok() {
        return Err("a transaction that was aborted was committed".into());
    }
    let whole = endseal_session::BatchOptions::whole();
    let report = receiver.decrypt_batch(&envelopes, &whole)?;
    let page = receiver.inbox().page(0, usize::MAX >> 1)?;
    receiver.into_store().close()?;
    let delivered = |it: &&Outcome| matches!(it, Outcome::Delivered(_));
    let kept = report.outcomes.iter().filter(delivered).count();
    let same = page.iter().zip(&backlog.contents);
    let same = same.filter(|(row, content)| row.plaintext[..] == content[..]).count();
    let share = kept.min(same) as f64 / first.len() as f64;
    Ok(Extra::more("recovered", "%", vec![100.0 * share]))
}
