//! An upload that is ready to be sent, as it is or as SDKs send it over TLS: in chunks, with its
//! CRC-32 behind.

use core::net::SocketAddr;

use endseal_s3_protocol::checksum::{ChecksumKind, Hasher};
use endseal_s3_protocol::sigv4::{PayloadHash, Signer};

use super::Failure;
use super::client::{Connection, head_of};
use super::content::{CHUNK, Content, chunk_line};

/// The checksum that SDKs send if they are not told another.
pub(crate) const SUM: ChecksumKind = ChecksumKind::Crc32;

/// Content and what is sent around it.
#[derive(Debug)]
pub(crate) struct Upload {
    head: Vec<u8>,
    content: Content,
    /// Bytes that follow the last chunk; `None` for content that is sent as it is.
    behind: Option<Vec<u8>>,
}

impl Upload {
    /// Content as it is.
    pub(crate) fn plain(head: Vec<u8>, content: Content) -> Self {
        Self { head, content, behind: None }
    }

    /// Content in chunks, with its checksum behind.
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

    /// Sends it; the answer must be a success.
    pub(crate) fn send(&self, connection: &mut Connection) -> Result<(), Failure> {
        match &self.behind {
            None => connection.put(&self.head, self.content),
            Some(behind) => connection.put_chunks(&self.head, self.content, behind),
        }
    }
}

/// The checksum of content, as a header has it.
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
