//! Progress bar on standard error.

use core::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ctx::Ctx;

/// Number of bytes below which the bar would only flicker.
const WORTH_SHOWING: u64 = 16 << 20;
const KNOWN: &str = "{msg} {bar:30} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}";
const UNKNOWN: &str = "{msg} {spinner} {bytes} {binary_bytes_per_sec} {elapsed}";
const OBJECTS: &str = "{msg} {spinner} {pos} objects {per_sec} {elapsed}";
const TIME: &str = "{msg} {spinner} {elapsed}";
const PER_SECOND: u8 = 10;

/// Progress bar of a long operation, shown only on a terminal.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: Option<u64>,
    verb: &'static str,
    template: &'static str,
    wanted: bool,
    /// If the total is not known, nothing is shown below this position.
    least: u64,
}

impl Progress {
    /// Makes the bar for `total` bytes; `None` if the total is not known.
    pub(crate) fn new(ctx: &Ctx, verb: &'static str, total: Option<u64>) -> Self {
        let wanted = ctx.shows_progress() && total.is_none_or(|total| total > WORTH_SHOWING);
        let template = if total.is_some() { KNOWN } else { UNKNOWN };
        Self { bar: None, total, verb, template, wanted, least: WORTH_SHOWING }
    }

    /// Makes a bar for a transfer whose total is not known, if `wanted`.
    pub(crate) fn if_wanted(wanted: bool, verb: &'static str) -> Self {
        Self { bar: None, total: None, verb, template: UNKNOWN, wanted, least: WORTH_SHOWING }
    }

    /// Makes a bar for an unknown number of objects.
    pub(crate) fn of_objects(ctx: &Ctx, verb: &'static str) -> Self {
        let wanted = ctx.shows_progress();
        Self { bar: None, total: None, verb, template: OBJECTS, wanted, least: 0 }
    }

    /// Makes a bar for work without a measurable progress. It shows the elapsed time.
    pub(crate) fn of_time(ctx: &Ctx, verb: &'static str) -> Self {
        let wanted = ctx.shows_progress();
        let shown = wanted.then(|| bar(verb, None, TIME));
        if let Some(bar) = &shown {
            bar.enable_steady_tick(Duration::from_secs(1) / u32::from(PER_SECOND));
        }
        Self { bar: shown, total: None, verb, template: TIME, wanted, least: 0 }
    }

    /// Sets the number of bytes or objects that were processed.
    pub(crate) fn at(&mut self, position: u64) {
        if self.wanted && self.bar.is_none() && (self.total.is_some() || position > self.least) {
            self.bar = Some(bar(self.verb, self.total, self.template));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(verb: &'static str, total: Option<u64>, template: &str) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(PER_SECOND);
    let bar = ProgressBar::with_draw_target(total, target).with_message(verb);
    // The templates are constants. An error in one leaves the default style of indicatif.
    let style = ProgressStyle::with_template(template).map(|style| style.progress_chars("=> "));
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.tick();
    bar
}
