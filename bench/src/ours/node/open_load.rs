//! The case `put_open`: frames are due at half the rate that the hub can take, even if answers to
//! earlier ones are late.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, HubAnswer};
use endseal_delivery::payload_limits;
use endseal_transport::{Frame, FrameReceiver, FrameSender};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::database::Engine;
use super::insert::Insert;
use super::put_world::{Shape, World, all_stored, mixed};
use super::wire::{Exchange, next};
use crate::stats::quantile;
use crate::subject::{Checked, Extra, Failure, Prepared};

/// Number of passes. Each gives one sample of every figure.
const PASSES: usize = 5;
/// Largest number of frames of one commit, as in a hub.
const COMMIT: usize = 1_000;
/// Rate of the frames as a share of the closed-loop rate.
const LOAD: f64 = 0.5;

pub(super) struct OpenLoad {
    world: World,
}

/// Latencies of all frames of a pass, in ns.
type Latencies = Vec<f64>;

impl OpenLoad {
    pub(super) fn new(shape: Shape) -> Result<Self, Failure> {
        Ok(Self { world: World::new(Engine::Sqlite, shape)? })
    }

    /// Measures how many frames a second the hub takes if all senders send as fast as they can.
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn closed_rate(&mut self) -> Result<f64, Failure> {
        let frames = self.world.frames()?;
        let spent = self.world.closed(&frames)?.spent;
        Ok(self.world.shape.frames as f64 * 1e9 / spent.wall_ns)
    }

    /// Measures the latency from the time at which a frame is due until its answer.
    fn hub(&mut self, gap: Duration) -> Result<Latencies, Failure> {
        let frames = self.world.frames()?;
        let exchanges = self.world.exchanges()?;
        let before = self.world.stored()?.1;
        let World { runtime, shape, .. } = &self.world;
        // The start lies in the future, so that all tasks are ready before the first frame is due.
        let start = Instant::now() + Duration::from_millis(20);
        let (mut tasks, mut pacers, mut receivers) = (JoinSet::new(), Vec::new(), JoinSet::new());
        for (number, (exchange, of)) in exchanges.into_iter().zip(&frames).enumerate() {
            let due = |at: usize| start + gap * counted(at * shape.senders + number);
            let due: Vec<_> =
                of.iter().enumerate().map(|(at, it)| (it.sequence, due(at))).collect();
            let requests = of.iter().map(|it| it.request.clone()).collect();
            let (pacer, paced) = unbounded_channel();
            pacers.push(pacer);
            let Exchange { sender, receiver } = exchange;
            tasks.spawn_on(send(sender, requests, paced), runtime.handle());
            receivers.spawn_on(receive(receiver, due), runtime.handle());
        }
        pace(pacers, start, gap, shape.frames);
        let latencies = runtime.block_on(async {
            while let Some(ended) = tasks.join_next().await {
                ended??;
            }
            let mut latencies = Vec::new();
            while let Some(ended) = receivers.join_next().await {
                latencies.extend(ended??);
            }
            Ok::<_, Failure>(latencies)
        })?;
        all_stored(self.world.stored()?.1 - before, self.world.shape.frames)?;
        Ok(latencies)
    }

    /// Measures the same for the insert loop, where commits are due instead of frames.
    fn insert(&mut self, gap: Duration) -> Result<Latencies, Failure> {
        let frames = self.world.frames()?;
        let frames: Vec<Insert<'_>> = mixed(&frames);
        let start = Instant::now() + Duration::from_millis(20);
        let due = |at: usize| start + gap * counted(at);
        let (mut latencies, mut done) = (Vec::with_capacity(frames.len()), 0);
        while done < frames.len() {
            thread::sleep(due(done).saturating_duration_since(Instant::now()));
            let now = Instant::now();
            let end = (done + COMMIT).min(frames.len());
            let end = (done..end).find(|at| due(*at) > now).unwrap_or(end);
            self.world.inserts.commit(&frames[done..end])?;
            let now = Instant::now();
            latencies.extend((done..end).map(|at| (now - due(at)).as_secs_f64() * 1e9));
            done = end;
        }
        Ok(latencies)
    }
}

/// A number of frames as a factor of a duration.
fn counted(frames: usize) -> u32 {
    u32::try_from(frames).unwrap_or(u32::MAX)
}

/// Releases the frames of all senders alternately, each when it is due.
fn pace(senders: Vec<UnboundedSender<()>>, start: Instant, gap: Duration, frames: usize) {
    for (at, sender) in (0..frames).zip(senders.iter().cycle()) {
        let due = start + gap * counted(at);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // If a sender has failed, its error is reported at the end.
        let _ = sender.send(());
    }
}

/// Sends one frame for each permit that is released.
async fn send(
    mut sender: FrameSender,
    requests: Vec<Frame>,
    mut paced: UnboundedReceiver<()>,
) -> Result<(), Failure> {
    for request in requests {
        paced.recv().await.ok_or("a frame was never due")?;
        sender.feed(&request).await?;
        if paced.is_empty() {
            sender.flush().await?;
        }
    }
    Ok(sender.end().await?)
}

/// Receives the answers and computes the latency of each frame from the time at which it was due.
async fn receive(
    mut receiver: FrameReceiver,
    due: Vec<(u64, Instant)>,
) -> Result<Latencies, Failure> {
    let mut latencies = Vec::with_capacity(due.len());
    while latencies.len() < due.len() {
        let answer = HubAnswer::decode(&next(&mut receiver).await?, payload_limits());
        let now = Instant::now();
        match answer.map_err(|_| "an answer cannot be read")?.answer {
            Answer::Stored(stored) => {
                let settled = due[latencies.len()..].iter();
                let settled = settled.take_while(|(sequence, _)| *sequence <= stored.sequence);
                let late = |at: Instant| now.saturating_duration_since(at).as_secs_f64() * 1e9;
                latencies.extend(settled.map(|(_, due)| late(*due)).collect::<Vec<_>>());
            }
            other => return Err(format!("the hub answered {other:?}").into()),
        }
    }
    Ok(latencies)
}

impl Prepared for OpenLoad {
    fn check(&mut self) -> Result<Checked, Failure> {
        self.closed_rate()?;
        let round_trip = self.world.has_all(self.world.shape.frames)?;
        Ok(Checked::round_trip(round_trip))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        let rates = (0..PASSES).map(|_| self.closed_rate()).collect::<Result<Vec<_>, _>>()?;
        let rate = LOAD * quantile(&rates, 0.5).ok_or("there is no rate")?;
        let gap = Duration::from_secs_f64(1.0 / rate);
        let (mut puts, mut inserts) = (Vec::new(), Vec::new());
        for _ in 0..PASSES {
            puts.push(self.hub(gap)?);
            inserts.push(self.insert(gap)?);
        }
        let figure = |metric, passes: &[Latencies], share| {
            let samples = passes.iter().filter_map(|pass| quantile(pass, share)).collect();
            Extra::less(metric, "ns", samples)
        };
        Ok(vec![
            figure("put_p50", &puts, 0.50),
            figure("put_p95", &puts, 0.95),
            figure("put_p99", &puts, 0.99),
            figure("insert_p50", &inserts, 0.50),
            figure("insert_p95", &inserts, 0.95),
            figure("insert_p99", &inserts, 0.99),
            Extra::more("frames_s", "1/s", vec![rate]),
        ])
    }
}
