//! A request whose signature is right.

use core::future::poll_fn;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use endseal_s3_protocol::content::{Content, Step};
use endseal_s3_protocol::{S3Error, Target};
use http::{HeaderMap, Method};

use crate::store::Store;
use crate::upload::Upload;

/// A request whose signature is right.
pub(crate) struct Asked {
    pub(crate) store: Arc<Store>,
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    pub(crate) content: Content<Upload>,
    /// Most entries on a page of a list.
    pub(crate) page_size: usize,
}

impl Asked {
    /// The bucket; requests without one do not come here.
    pub(crate) fn bucket(&self) -> Result<String, S3Error> {
        self.target.bucket().map(str::to_owned).ok_or_else(S3Error::internal)
    }

    /// The key; requests without one do not come here.
    pub(crate) fn key(&self) -> Result<String, S3Error> {
        self.target.key().map(str::to_owned).ok_or_else(S3Error::internal)
    }

    /// All of the content, when it is what the request says.
    ///
    /// # Errors
    /// If it is longer than `limit`.
    pub(crate) async fn collect(&mut self, limit: u64) -> Result<Bytes, S3Error> {
        if self.content.len() > limit {
            return Err(S3Error::malformed_xml());
        }
        let mut all = BytesMut::new();
        loop {
            match poll_fn(|cx| self.content.poll_step(cx)).await? {
                Step::Piece(piece) => all.extend_from_slice(&piece),
                Step::End(_) => return Ok(all.freeze()),
            }
        }
    }
}
