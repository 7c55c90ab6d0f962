//! Problems of a command, which are printed at once and collected for `--json`.

use core::fmt::Display;

use crate::ctx::Ctx;
use crate::json::{self, Value};
use crate::printable::printable;

/// Limit on the problems in the JSON object. All of them are printed.
const MOST: usize = 1_000;

/// The problems of a command so far.
#[derive(Default)]
pub(super) struct Problems(Vec<Value>);

impl Problems {
    /// Prints and stores a problem with one object or bucket.
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

    /// Returns the first 1,000 problems as an array.
    pub(super) fn json(self) -> Value {
        Value::from(self.0)
    }
}
