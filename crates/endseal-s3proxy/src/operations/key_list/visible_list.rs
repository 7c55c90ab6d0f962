//! Lists in which names are not encrypted, with the entries that the client may see. They are used
//! for pages that contain only the proxy's own objects, and for lists of recorded uploads.
//!
//! If nothing is left of a page, the next one is requested.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::xml::{self, Change, ChecksumChange, EntryKind, Replacement};
use http::response::Parts;
use http::{Method, Response};

use super::MAX_PAGE;
use super::list_request::{ListKind, ListRequest};
use super::position::Position;
use super::recorded;
use super::visible_page::VisiblePage;
use crate::context::{Proxy, RequestContext};
use crate::forward::{read, with_document};
use crate::headers;
use crate::operations::listed_objects::{plain_entry, plaintext, sealed_entry};
use crate::transfer::Outgoing;

/// Maximum number of pages without visible entries that are read for one response. It is exceeded
/// if no marker for the next page can be given to the client.
const LOOKS: usize = 32;

/// Lists the entries that the client may see, in the backend's order.
pub(in crate::operations) async fn visible_list(
    proxy: &Proxy,
    call: &RequestContext,
    kind: ListKind,
) -> Result<Response<Outgoing>, S3Error> {
    let bucket = call.target.bucket().ok_or_else(S3Error::internal)?;
    let asked = ListRequest::of(call.target.query(), kind)?;
    let mut position = begin(&asked);
    let is_recorded = kind == ListKind::Uploads && proxy.rule(bucket).records_uploads();
    if is_recorded {
        position.id = recorded::marker(proxy, call, bucket, &asked).await?;
    }
    let query = ListRequest::unpaged(call.target.query());
    let query = query.with(kind.max(), &asked.max.to_string());
    let mut looks = 0;
    loop {
        let target = Target::of(bucket, None, position.add_to(query.clone(), kind));
        let headers = headers::forwarded(&call.headers);
        let response = proxy.ask(&call.signer, &Method::GET, &target, headers).await?;
        let (head, body) = response.into_parts();
        let mut page = VisiblePage::read(read(body, MAX_PAGE).await?, &position)?;
        looks += 1;
        let can_say_next = kind == ListKind::Objects2;
        if page.shows_nothing() && asked.max > 0 && (looks < LOOKS || !can_say_next) {
            position = page.next(&asked, &position)?;
            continue;
        }
        if is_recorded {
            // Boxed because the future is large and would enlarge the future of every request.
            Box::pin(show_given(proxy, call, bucket, &mut page)).await?;
        }
        return answer(proxy, call, &asked, head, &page).await;
    }
}

/// Returns the position at which the first page starts.
fn begin(asked: &ListRequest) -> Position {
    if let Some(token) = &asked.token {
        return Position::behind_token(token);
    }
    match &asked.after {
        // Servers differ in whether a marker that is a common prefix includes everything under it.
        Some(after) if asked.is_common_prefix(after) => Position::behind_prefix(after),
        after => Position { key: after.clone(), id: asked.after_id.clone(), ..Position::default() },
    }
}

/// Finds the ids that clients got for the uploads on a page.
async fn show_given(
    proxy: &Proxy,
    call: &RequestContext,
    bucket: &str,
    page: &mut VisiblePage,
) -> Result<(), S3Error> {
    let is_shown = |at: &usize| {
        page.entries.get(*at).is_some_and(|it| it.is_visible && it.kind == EntryKind::Upload)
    };
    let at: Vec<usize> = (0..page.entries.len()).filter(is_shown).collect();
    let uploads: Vec<(&str, &str)> = at
        .iter()
        .map(|at| &page.entries[*at])
        .map(|entry| (entry.key.as_str(), entry.id.as_deref().unwrap_or_default()))
        .collect();
    let given = recorded::given_ids(proxy, call, bucket, &uploads).await?;
    for (at, given) in at.into_iter().zip(given) {
        page.entries[at].given = given;
    }
    Ok(())
}

async fn answer(
    proxy: &Proxy,
    call: &RequestContext,
    asked: &ListRequest,
    head: Parts,
    page: &VisiblePage,
) -> Result<Response<Outgoing>, S3Error> {
    let bucket = call.target.bucket().ok_or_else(S3Error::internal)?;
    let objects =
        page.visible().filter(|it| matches!(it.kind, EntryKind::Object | EntryKind::Version));
    let objects = objects.map(|entry| (entry.key.clone(), entry.id.clone()));
    let plain = plaintext(proxy, call, bucket, objects.collect()).await?;
    let next = page.next_page(asked);
    let has_token = next.as_ref().is_none_or(|next| next.token.is_some());
    if asked.kind == ListKind::Objects2 && !has_token {
        return Err(S3Error::internal());
    }
    let leaves = asked.leaves(page.visible().count(), next.as_ref());
    let mut entries = page.entries.iter();
    let document = xml::relist(&page.document, &leaves, |entry| {
        let Some(known) = entries.next().filter(|known| known.is_visible) else {
            return Change::Drop;
        };
        let is_object = matches!(entry.kind, EntryKind::Object | EntryKind::Version);
        let version = entry.version_id.as_deref();
        let is_plain = plain.iter().any(|(key, id)| *key == known.key && id.as_deref() == version);
        let change = match (is_object, is_plain) {
            // For an upload this is the algorithm between proxy and backend, so it is removed.
            (false, _) => Replacement { checksum: ChecksumChange::Drop, ..Replacement::default() },
            (true, false) => sealed_entry(entry),
            (true, true) => plain_entry(entry),
        };
        Change::Set(Replacement { upload_id: known.given.clone(), ..change })
    });
    let document = document.map_err(|_| S3Error::internal())?;
    Ok(with_document(head, document))
}

#[cfg(test)]
mod tests {
    use endseal_s3_protocol::Query;

    use super::super::list_request::{ListKind, ListRequest};
    use super::begin;

    #[test]
    fn a_marker_that_is_a_common_prefix_is_behind_all_of_it() {
        for (kind, marker) in [
            (ListKind::Objects1, "marker"),
            (ListKind::Versions, "key-marker"),
            (ListKind::Uploads, "key-marker"),
        ] {
            let begin = |prefix: &str, delimiter: &str, after: &str| {
                let query = Query::new()
                    .with("prefix", prefix)
                    .with("delimiter", delimiter)
                    .with(marker, after);
                begin(&ListRequest::of(&query, kind).unwrap())
            };
            for (prefix, after) in [("", "a/"), ("a/", "a/b/"), ("a/b", "a/bc/")] {
                let position = begin(prefix, "/", after);
                assert_eq!(position.done.as_deref(), Some(after), "{prefix} {after}");
                assert_eq!(position.key, Some(format!("{after}\u{10ffff}")));
                let position = begin(prefix, "", after);
                assert_eq!(position.key.as_deref(), Some(after), "without a delimiter");
            }
            for (prefix, after) in [("", "a/b/"), ("a/", "a/"), ("b/", "a/"), ("", "a")] {
                let position = begin(prefix, "/", after);
                assert_eq!((position.key.as_deref(), position.done), (Some(after), None));
            }
        }
    }
}
