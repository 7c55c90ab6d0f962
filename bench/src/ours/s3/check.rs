//! Checks of a subject before anything is timed.

use http::HeaderMap;

use super::line::Line;
use crate::s3::client::Connection;
use crate::s3::content::Content;
use crate::subject::{Checked, Failure};

/// Bytes of the object that is changed: several chunks.
pub(super) const TAMPERED: u64 = 300_000;
/// Number of the content of that object.
pub(super) const NUMBER: u64 = 7;

/// Checks that an object of `bytes` bytes comes back as it was stored. If the subject
/// authenticates, also reports if a changed bit of an object at the backend is refused.
pub(super) fn check(line: &Line, bytes: u64) -> Result<Checked, Failure> {
    let path = line.kept("check");
    let content = Content::new(NUMBER, bytes);
    line.put(&path, content)?;
    let outcome = line.get(&path, content);
    line.delete(&path);
    outcome?;
    let tamper_refused = line.authenticates.then(|| refuses_changes(line)).transpose()?;
    Ok(Checked { round_trip: true, tamper_refused, sealed_bytes: None })
}

fn refuses_changes(line: &Line) -> Result<bool, Failure> {
    let path = line.kept("tampered");
    let content = Content::new(NUMBER, TAMPERED);
    line.put(&path, content)?;
    let refused = is_refused(line, &path, || line.get(&path, content));
    line.delete(&path);
    refused
}

/// Changes one bit in the middle of the object that the backend holds at `path`. Returns true if
/// `fetch` fails then.
pub(super) fn is_refused(
    line: &Line,
    path: &str,
    mut fetch: impl FnMut() -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let (headers, mut stored) = raw(line, path)?;
    let middle = stored.len() / 2;
    flip(&mut stored, middle)?;
    replace(line, path, &headers, &stored)?;
    let outcome = fetch();
    // After the original bytes are restored, the object must be accepted again: only the change was
    // refused.
    flip(&mut stored, middle)?;
    replace(line, path, &headers, &stored)?;
    fetch()?;
    Ok(outcome.is_err())
}

fn flip(stored: &mut [u8], at: usize) -> Result<(), Failure> {
    *stored.get_mut(at).ok_or("nothing was stored")? ^= 1;
    Ok(())
}

/// Fetches an object from the backend as it is stored.
fn raw(line: &Line, path: &str) -> Result<(HeaderMap, Vec<u8>), Failure> {
    let head = line.head_past("GET", path, &[])?;
    let (status, headers, body) = Connection::open(line.backend)?.ask(&head, &[])?;
    match status {
        200 => Ok((headers, body)),
        _ => Err(format!("the backend answered {status}").into()),
    }
}

fn replace(line: &Line, path: &str, headers: &HeaderMap, body: &[u8]) -> Result<(), Failure> {
    let mut kept = Vec::new();
    for (name, value) in headers {
        if name.as_str().starts_with("x-amz-meta-") {
            kept.push((name.as_str(), value.to_str()?));
        }
    }
    let head = line.head_past("PUT", path, &kept)?;
    let (status, _, _) = Connection::open(line.backend)?.ask(&head, body)?;
    match status {
        200 => Ok(()),
        _ => Err(format!("the backend answered {status}").into()),
    }
}
