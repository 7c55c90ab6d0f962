//! Streaming bodies: content that is sealed on its way to the backend, and sealed objects that are
//! opened on their way to the client. The consumer polls each of them. There are no tasks or
//! channels, and the only memory is that of the chunks in transit.

mod awaited;
mod content;
mod converted;
mod form_file;
mod framed;
mod leftover;
mod opening_body;
mod outgoing;
mod plain;
mod rate;
mod request_body;
mod sealed_parts;
mod sealing_body;
mod shared_buffer;

pub(crate) use awaited::Awaited;
pub(crate) use content::{Content, ContentSource, whole};
pub(crate) use converted::{Converted, Converter};
pub(crate) use form_file::{FormFile, find};
pub(crate) use framed::{Framed, TRAILER, checksum_of};
pub(crate) use leftover::Leftover;
pub(crate) use opening_body::{Opened, Opener};
pub use outgoing::Outgoing;
pub(crate) use plain::Plain;
pub(crate) use rate::Rate;
pub(crate) use request_body::RequestBody;
pub(crate) use sealed_parts::{SealedPart, SealedParts};
pub(crate) use sealing_body::{Report, Sealed, Sealer};
