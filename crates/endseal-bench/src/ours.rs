//! endseal's own subjects, by suite.

pub mod envelope;
pub mod transport;
