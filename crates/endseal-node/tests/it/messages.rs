//! Conversations over a hub, in one process.

mod faults;
mod hostile;
mod hostile_hub;
mod letters;
mod liar;
mod service;
mod texts;
mod world;
