//! Frames: how a message, or a piece of a file, is delimited. `docs/spec/frame.md`.

mod crc32c;
mod error;
mod live;
mod live_reader;
mod replay;
mod stored;

pub use error::{BuildError, FrameError};
pub use live::{Kind, LiveHeader};
pub use live_reader::{LiveFrame, LiveReader};
pub use replay::{ReplayWindow, Replayed};
pub use stored::{SignatureScheme, Stamp, StoredFrame, UnverifiedFrame};
