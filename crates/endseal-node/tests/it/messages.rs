//! Conversations over a hub, in one process.

mod faults;
mod hostile;
mod hostile_hub;
mod liar;
mod texts;
mod world;
