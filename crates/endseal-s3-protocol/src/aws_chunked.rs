//! The content encoding `aws-chunked`: content in chunks, each signed or not, and a trailer.
//!
//! | `x-amz-content-sha256` | [`Form`] |
//! |---|---|
//! | `STREAMING-AWS4-HMAC-SHA256-PAYLOAD` | [`Form::Signed`] |
//! | `STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER` | [`Form::SignedTrailer`] |
//! | `STREAMING-UNSIGNED-PAYLOAD-TRAILER` | [`Form::Unsigned`] |
//! | anything else, with `content-encoding: aws-chunked` | [`Form::Unsigned`] |
//!
//! # When content is released
//! Content of an unsigned upload is released as it arrives. In a signed upload, a chunk of at most
//! [`Limits::hold`] bytes is released when its signature is verified. A longer chunk is hashed
//! while it passes, and its last [`Limits::hold`] bytes are kept back until its signature is
//! verified: the part that was released before is not authentic until then. The whole content never
//! leaves the decoder unless all signatures are valid. If the decoder reports an error, the caller
//! MUST throw away all content that it received. It MUST NOT accept the content before
//! [`Decoder::finish`].
//!
//! # Accepted encodings
//! Chunk sizes are hexadecimal digits in either case, at most 16. Lines end in CRLF; those of the
//! trailer also in LF, as some clients sign them. The empty line behind the end may be missing if
//! no further bytes follow. The decoder refuses content that is longer or shorter than announced, a
//! trailer that was not announced, is there twice or is missing, and bytes behind the end.

mod decoder;
mod error;
mod held;
mod line;
mod request;
mod trailer;

pub use decoder::{Decoder, Form, Limits};
pub use error::ChunkError;
pub use request::content_encoding;
