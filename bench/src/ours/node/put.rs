//! The case `put`: nodes put frames as fast as the hub makes them durable.

use super::database::Engine;
use super::put_world::{Pass, Shape, World};
use crate::clock::Elapsed;
use crate::subject::{Checked, Extra, Failure, Prepared};

/// The case as a subject has it. It collects figures of each iteration.
pub(super) struct Puts {
    world: World,
    /// Frames a second, of each iteration.
    rates: Vec<f64>,
    /// Time divided by that of the insert loop, of each iteration.
    shares: Vec<f64>,
    commits: Vec<f64>,
}

impl Puts {
    pub(super) fn new(engine: Engine, shape: Shape) -> Result<Self, Failure> {
        let (rates, shares, commits) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { world: World::new(engine, shape)?, rates, shares, commits })
    }
}

impl Prepared for Puts {
    fn check(&mut self) -> Result<Checked, Failure> {
        self.once()?;
        (self.rates, self.shares, self.commits) = (Vec::new(), Vec::new(), Vec::new());
        let round_trip = self.world.has_all(self.world.shape.frames)?;
        Ok(Checked::round_trip(round_trip))
    }

    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn once(&mut self) -> Result<Elapsed, Failure> {
        let frames = self.world.frames()?;
        let Pass { spent, commits } = self.world.closed(&frames)?;
        let bare = self.world.insert(&frames, commits)?;
        self.rates.push(self.world.shape.frames as f64 * 1e9 / spent.wall_ns);
        self.shares.push(bare / spent.wall_ns);
        self.commits.push(commits as f64);
        Ok(spent)
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        let take = core::mem::take;
        Ok(vec![
            Extra::more("frames_s", "1/s", take(&mut self.rates)),
            Extra::more("of_insert_loop", "×", take(&mut self.shares)),
            Extra::more("commits", "1", take(&mut self.commits)),
        ])
    }
}
