//! An upload that is ready to be sent: plain, or as SDKs send it over TLS, in chunks with a
//! trailing CRC-32.

use core::net::SocketAddr;

use bytes::Bytes;
use endseal_s3_protocol::checksum::{ChecksumKind, Hasher};
use endseal_s3_protocol::sigv4::{PayloadHash, Signer};

use super::client::{Connection, Head, head_of};
use super::content::{CHUNK, Content};
use super::http::Pieces;
use crate::subject::Failure;

/// Checksum that SDKs send by default.
pub(crate) const SUM: ChecksumKind = ChecksumKind::Crc32;

/// A request with its body.
#[derive(Debug)]
pub(crate) struct Upload {
    head: Head,
    body: Vec<Bytes>,
}

impl Upload {
    /// Prepares an upload of plain content.
    pub(crate) fn plain(head: Head, content: Content) -> Self {
        Self { head, body: content.pieces().collect() }
    }

    /// Prepares an upload in chunks with a trailing checksum.
    pub(crate) fn in_chunks(
        signer: &Signer,
        authority: SocketAddr,
        target: &str,
        content: Content,
    ) -> Result<Self, Failure> {
        let mut body: Vec<Bytes> = Vec::new();
        for at in (0..content.len).step_by(usize::try_from(CHUNK)?) {
            let len = CHUNK.min(content.len - at);
            body.push(format!("{len:x}\r\n").into());
            body.extend(content.part(at, len).pieces());
            body.push(Bytes::from_static(b"\r\n"));
        }
        body.push(format!("0\r\n{}:{}\r\n\r\n", SUM.header(), sum_of(content)).into());
        let headers = [
            ("content-encoding", "aws-chunked"),
            ("x-amz-decoded-content-length", &content.len.to_string()),
            ("x-amz-trailer", SUM.header()),
        ];
        let hash = PayloadHash::StreamingUnsignedTrailer;
        Ok(Self { head: head_of(signer, authority, "PUT", target, &headers, hash)?, body })
    }

    /// Sends the upload. Fails if the answer is not a success.
    pub(crate) fn send(self, connection: &mut Connection) -> Result<(), Failure> {
        connection.put_pieces(&self.head, Pieces::new(self.body)).map(drop)
    }
}

/// Returns the checksum of content as the value of a header.
pub(crate) fn sum_of(content: Content) -> String {
    let mut hasher = Hasher::new(SUM);
    content.pieces().for_each(|piece| hasher.update(&piece));
    hasher.finish().to_base64()
}
