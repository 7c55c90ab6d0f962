//! endseal's own subjects, by suite.

pub mod codec;
pub mod envelope;
pub mod sessions;
pub mod transport;
