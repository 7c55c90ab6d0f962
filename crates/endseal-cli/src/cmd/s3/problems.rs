//! Problems of a run: printed at once, and collected for `--json`.

use core::fmt::Display;

use crate::ctx::Ctx;
use crate::json::{self, Value};
use crate::printable::printable;

/// Problems in the JSON object; all are printed.
const MOST: usize = 1_000;

/// Problems of a run.
#[derive(Default)]
pub(super) struct Problems(Vec<Value>);

impl Problems {
    /// Tells one: where, and why.
    pub(super) fn tell(
        &mut self,
        ctx: &mut Ctx,
        (bucket, key): (&str, Option<&str>),
        why: &dyn Display,
    ) {
        let place = format!("{bucket}/{}", key.unwrap_or_default());
        ctx.note(&format!("{}: {}", printable(&place), printable(&why.to_string())));
        if self.0.len() < MOST {
            self.0.push(json::object([
                ("bucket", Value::from(bucket)),
                ("key", key.map_or(Value::Null, Value::from)),
                ("problem", Value::from(why.to_string())),
            ]));
        }
    }

    /// An array of the first thousand.
    pub(super) fn json(self) -> Value {
        Value::from(self.0)
    }
}
