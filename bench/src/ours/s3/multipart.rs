//! The upload of an object in parts, several of which are transferred at the same time.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::line::Line;
use crate::s3::client::Connection;
use crate::s3::content::Content;
use crate::s3::http::element;
use crate::subject::Failure;

/// Begins an upload, sends parts of `part` bytes over all connections, and completes the upload.
pub(super) fn upload(
    line: &Line,
    connections: &mut [Connection],
    path: &str,
    content: Content,
    part: u64,
) -> Result<(), Failure> {
    let started = line.ask("POST", &format!("{path}?uploads="), &[])?;
    let id = element(&started, "UploadId").ok_or("an upload has no id")?;
    let count = content.len.div_ceil(part);
    let (next, etags) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let send_all = |connection: &mut Connection| -> Result<(), Failure> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(());
            }
            let number = index + 1;
            let target = format!("{path}?partNumber={number}&uploadId={id}");
            let head = line.head("PUT", &target, &[])?;
            let len = part.min(content.len - index * part);
            let answer = connection.put(&head, content.part(index * part, len))?;
            let etag = answer.get("etag").ok_or("a part has no ETag")?.to_str()?.to_owned();
            etags.lock().unwrap_or_else(PoisonError::into_inner).push((number, etag));
        }
    };
    thread::scope(|scope| {
        let send_all = &send_all;
        let workers: Vec<_> =
            connections.iter_mut().map(|it| scope.spawn(move || send_all(it))).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err("a connection panicked".into()))
        })
    })?;
    let mut etags = etags.into_inner().unwrap_or_else(PoisonError::into_inner);
    etags.sort_unstable();
    let part = |(number, etag): &(u64, String)| {
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
    };
    let parts: String = etags.iter().map(part).collect();
    let order = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let done = line.ask("POST", &format!("{path}?uploadId={id}"), order.as_bytes())?;
    // A failure may be reported in the body of an answer with a success status.
    if element(&done, "ETag").is_some() { Ok(()) } else { Err(done.into()) }
}
