//! The content encoding `aws-chunked`: content in chunks, each signed or not, and a trailer.
//!
//! | `x-amz-content-sha256` | [`Form`] |
//! |---|---|
//! | `STREAMING-AWS4-HMAC-SHA256-PAYLOAD` | [`Form::Signed`] |
//! | `STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER` | [`Form::SignedTrailer`] |
//! | `STREAMING-UNSIGNED-PAYLOAD-TRAILER` | [`Form::Unsigned`] |
//! | anything else, with `content-encoding: aws-chunked` | [`Form::Unsigned`] |
//!
//! # What is released when
//! Of an unsigned upload, each slice as it comes. Of a signed one, a chunk of at most
//! [`Limits::hold`] bytes when its signature is verified. A longer chunk is hashed while it passes,
//! and its last [`Limits::hold`] bytes are kept back until its signature is verified: what was
//! released of it is not authentic until the end of the chunk, and the whole content never leaves
//! the decoder unless all signatures are right. The caller MUST throw away what it got when the
//! decoder reports an error, and MUST NOT take the content for good before [`Decoder::finish`].
//!
//! # What is taken
//! Chunk sizes as hexadecimal digits in either case, at most 16. Lines end in CRLF; those of the
//! trailer also in LF, as some clients sign them. The empty line behind the end may be missing if
//! nothing else does. Content that is longer or shorter than announced, a trailer that was not
//! announced, is there twice or is missing, and bytes behind the end are refused.

mod decoder;
mod error;
mod held;
mod line;
mod request;
mod trailer;

pub use decoder::{Decoder, Form, Limits};
pub use error::ChunkError;
pub use request::content_encoding;
