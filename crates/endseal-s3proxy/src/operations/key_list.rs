//! Lists of objects, versions and uploads that the proxy puts together itself. All other lists are
//! translated entry by entry.
//!
//! | list | used for |
//! |---|---|
//! | [`sorted_list()`] | buckets with encrypted names |
//! | [`visible_list()`] | pages that contain only the proxy's own objects, and recorded uploads |

mod list_request;
mod position;
mod recorded;
mod selection;
mod sorted_list;
mod visible_list;
mod visible_page;

use endseal_s3_protocol::Operation;
use http::Method;

pub(super) use self::list_request::ListKind;
pub(super) use self::recorded::kind_of as recorded_kind_of;
pub(super) use self::sorted_list::sorted_list;
pub(super) use self::visible_list::visible_list;
use crate::context::RequestContext;

/// Maximum size of a page of the backend in bytes: 1,000 entries with escaped keys of 1,024 bytes.
const MAX_PAGE: usize = 16 << 20;

/// Returns the kind of list that a request asks for, if it asks for one.
pub(super) fn kind_of(call: &RequestContext) -> Option<ListKind> {
    let query = call.target.query();
    match call.operation {
        Operation::ListObjectVersions => Some(ListKind::Versions),
        Operation::ListObjects if query.get("list-type") == Some("2") => Some(ListKind::Objects2),
        Operation::ListObjects => Some(ListKind::Objects1),
        Operation::Other if call.target.key().is_none() && query.has("uploads") => {
            (call.method == Method::GET).then_some(ListKind::Uploads)
        }
        _ => None,
    }
}
