//! What a connection and the uploads over it have in common.

use super::{Gate, Loan, SeenThrough};
use crate::client::Kept;

/// Of one connection. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Intake {
    /// What is let go when the connection is read.
    pub(crate) kept: Kept,
    /// Whether it is read.
    pub(crate) gate: Gate,
    /// Where to ask for its socket, if a long body may be read past hyper.
    pub(crate) loan: Option<Loan>,
    /// Whether the work goes on without the client.
    pub(crate) seen_through: SeenThrough,
}
