//! Conversations over a hub, in one process.

mod hostile;
mod texts;
mod world;
