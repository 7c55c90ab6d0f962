//! The latency of a message that is sent while a backlog is decrypted.

use core::ops::ControlFlow;
use std::time::Instant;

use super::world::{Names, World, all_delivered};
use crate::stats::quantile;
use crate::subject::{Extra, Failure, unsupported};

/// Number of backlogs that are opened. With one message for each chunk these are enough samples for
/// the 99th percentile.
const DRAINS: usize = 12;

/// Sends a message after each chunk. `send` is the time of the call. `wait` is the time from the
/// end of the previous call, which a caller waits that asks just after the next chunk has started.
pub(super) fn latencies(world: &World) -> Result<Vec<Extra>, Failure> {
    let Names::People(people) = Names::new(&world.shape) else {
        return Err(unsupported("it is measured between two devices"));
    };
    let (mut sends, mut waits) = (Vec::new(), Vec::new());
    for _ in 0..DRAINS {
        drain(world, &people, &mut sends, &mut waits)?;
    }
    let figure = |metric, samples: &[f64], share| {
        Extra::less(metric, "ns", quantile(samples, share).into_iter().collect())
    };
    Ok(vec![
        figure("send_p50", &sends, 0.50),
        figure("send_p99", &sends, 0.99),
        figure("wait_p50", &waits, 0.50),
        figure("wait_p99", &waits, 0.99),
    ])
}

fn drain(
    world: &World,
    people: &[endseal_keyring::device::Address],
    sends: &mut Vec<f64>,
    waits: &mut Vec<f64>,
) -> Result<(), Failure> {
    let names = Names::new(&world.shape);
    let envelopes = names.envelopes(&world.backlog(0).messages);
    let mut receiver = world.open()?;
    let (mut chunk, mut failed) = (0, None);
    let mut free = Instant::now();
    let report = receiver.decrypt_stream(&envelopes, &world.shape.options(), |_, turn| {
        let start = Instant::now();
        let sent = turn.encrypt(people[chunk % people.len()], &[0x5a; 100]);
        let end = Instant::now();
        sends.push((end - start).as_secs_f64() * 1e9);
        waits.push((end - free).as_secs_f64() * 1e9);
        (free, chunk) = (end, chunk + 1);
        match sent {
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    all_delivered(&report, envelopes.len())?;
    Ok(receiver.into_store().close()?)
}
