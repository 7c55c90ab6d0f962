//! Conversations over a hub, in one process.

mod faults;
mod hostile;
mod hostile_hub;
mod letter_faults;
mod letters;
mod liar;
mod service;
mod texts;
mod world;
