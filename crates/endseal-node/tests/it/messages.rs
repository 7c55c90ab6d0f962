//! Conversations over a hub, in one process.

mod answers;
mod callers;
mod departures;
mod faults;
mod hostile;
mod hostile_hub;
mod hub_moves;
mod intruders;
mod liar;
mod lives;
mod lost_devices;
mod lost_welcomes;
mod people;
mod prompt_visits;
mod random_visits;
mod read_marks;
mod receipts;
mod returns;
mod rules;
mod service;
mod team_attacks;
mod teams;
mod texts;
mod world;
