//! Delivery state of a text.

use serde::{Deserialize, Serialize};

/// Delivery state of a text that was written on this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "all are to be dealt with")]
pub enum TextDelivery {
    /// The hub has not stored it yet, or not for all devices.
    Unsent,
    /// The hub has stored it, and not all persons for whom it is have confirmed it.
    Undelivered,
    /// At least one device of each person for whom it is has confirmed it.
    Delivered,
}
