//! endseal's own subjects, by suite.

pub mod codec;
pub mod envelope;
pub mod node;
pub mod nostr;
pub mod s3;
pub mod sessions;
pub mod transport;
