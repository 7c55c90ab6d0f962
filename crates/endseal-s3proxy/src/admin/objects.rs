//! The objects of a bucket, processed several at a time.

use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};

use super::fault::Fault;
use super::pages::{List, Pages, client_key};
use crate::context::Proxy;
use crate::names::{is_reserved, name_error};

/// Object of a list.
pub(super) struct ListedObject {
    pub(super) bucket: String,
    /// Key as clients name it, or the backend's if no client can name it.
    pub(super) key: String,
    /// True if `key` is the backend's key, although names of the bucket are encrypted.
    pub(super) is_stored: bool,
}

/// Calls `work` for each object of a bucket whose key begins with `prefix`, with at most `jobs` at
/// a time, and `done` with the key and the result of each. Objects of the proxy itself are left
/// out.
///
/// # Errors
/// The fault if the list cannot be read to its end. Work that has started is finished before.
pub(super) async fn each<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    proxy: &Arc<Proxy>,
    (bucket, prefix): (&str, &str),
    jobs: usize,
    work: impl Fn(Arc<Proxy>, ListedObject) -> F,
    mut done: impl FnMut(&str, T),
) -> Result<(), Fault> {
    let names = proxy.names(bucket);
    let folder = match &names {
        Some(names) => names.seal_prefix(prefix).map_err(name_error)?.0,
        None => prefix.to_owned(),
    };
    let list = List::Objects { bucket, prefix: &folder, after: None };
    let mut pages = Pages::of(proxy, list).await;
    let mut running: JoinSet<(String, T)> = JoinSet::new();
    let ended = loop {
        let page = match pages.next().await {
            Ok(Some(page)) => page,
            Ok(None) => break Ok(()),
            Err(fault) => break Err(fault),
        };
        for entry in page.into_iter().filter(|entry| !is_reserved(&entry.key)) {
            let (key, is_stored) = client_key(names.as_deref(), &entry.key);
            if !key.starts_with(prefix) {
                continue;
            }
            while running.len() >= jobs.max(1) {
                let ended = running.join_next().await.and_then(joined);
                ended.into_iter().for_each(|(key, result)| done(&key, result));
            }
            let object = ListedObject { bucket: bucket.to_owned(), key: key.clone(), is_stored };
            let work = work(Arc::clone(proxy), object);
            running.spawn(async move { (key, work.await) });
        }
    };
    while let Some(ended) = running.join_next().await {
        joined(ended).into_iter().for_each(|(key, result)| done(&key, result));
    }
    ended
}

/// Returns the result of work. A panic continues here.
fn joined<T>(joined: Result<T, JoinError>) -> Option<T> {
    match joined {
        Ok(result) => Some(result),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Work is never aborted.
            Err(_) => None,
        },
    }
}
