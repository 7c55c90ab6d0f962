//! Tests of the engine: backlogs, transactions, repeated delivery, restarts and failures.

mod aborts;
mod batch;
mod binding;
mod buffers;
mod bundles;
mod conversations;
mod damage;
mod histories;
mod kills;
mod lanes;
mod leaving;
mod media;
mod opened;
mod order;
mod parked;
mod party;
mod restored;
mod retention;
mod sessions;
mod succession;
mod superseded;
mod welcomes;
mod windows;
mod worker;
mod world;
