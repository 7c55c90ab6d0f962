//! An upload that is ready to be sent: plain, or as SDKs send it over TLS, in chunks with a
//! trailing CRC-32.

use core::net::SocketAddr;

use endseal_s3_protocol::checksum::{ChecksumKind, Hasher};
use endseal_s3_protocol::sigv4::{PayloadHash, Signer};

use super::Failure;
use super::client::{Connection, head_of};
use super::content::{CHUNK, Content, chunk_line};

/// Checksum that SDKs send by default.
pub(crate) const SUM: ChecksumKind = ChecksumKind::Crc32;

/// Content with the bytes that are sent before and after it.
#[derive(Debug)]
pub(crate) struct Upload {
    head: Vec<u8>,
    content: Content,
    /// Bytes that follow the last chunk; `None` for plain content.
    behind: Option<Vec<u8>>,
}

impl Upload {
    /// Prepares an upload of plain content.
    pub(crate) fn plain(head: Vec<u8>, content: Content) -> Self {
        Self { head, content, behind: None }
    }

    /// Prepares an upload in chunks with a trailing checksum.
    pub(crate) fn in_chunks(
        signer: &Signer,
        authority: SocketAddr,
        target: &str,
        content: Content,
    ) -> Result<Self, Failure> {
        let behind = format!("0\r\n{}:{}\r\n\r\n", SUM.header(), sum_of(content));
        let framing: u64 = (0..content.len.div_ceil(CHUNK))
            .map(|chunk| chunk_line(content.len, chunk * CHUNK).len() as u64 + 2)
            .sum();
        let headers = [
            ("content-encoding", "aws-chunked"),
            ("x-amz-decoded-content-length", &content.len.to_string()),
            ("x-amz-trailer", SUM.header()),
        ];
        let len = content.len + framing + behind.len() as u64;
        let hash = PayloadHash::StreamingUnsignedTrailer;
        let head = head_of(signer, authority, "PUT", target, &headers, Some(len), hash)?;
        Ok(Self { head, content, behind: Some(behind.into_bytes()) })
    }

    /// Sends the upload. Fails if the answer is not a success.
    pub(crate) fn send(&self, connection: &mut Connection) -> Result<(), Failure> {
        match &self.behind {
            None => connection.put(&self.head, self.content),
            Some(behind) => connection.put_chunks(&self.head, self.content, behind),
        }
    }
}

/// Returns the checksum of content as the value of a header.
pub(crate) fn sum_of(content: Content) -> String {
    let mut hasher = Hasher::new(SUM);
    let mut at = 0;
    while at < content.len {
        let piece = content.from(at);
        hasher.update(piece);
        at += piece.len() as u64;
    }
    hasher.finish().to_base64()
}
