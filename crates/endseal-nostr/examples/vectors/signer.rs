//! Vectors of docs/spec/nostr-connect.md: three files, each a list of cases.

#[path = "signer/decision.rs"]
mod decision;
#[path = "signer/rule.rs"]
mod rule;
#[path = "signer/session.rs"]
mod session;

use std::path::Path;

use crate::events::write_cases;

pub(crate) fn write(dir: &Path) {
    let files =
        [("rule", rule::cases()), ("decision", decision::cases()), ("session", session::cases())];
    write_cases(&dir.join("nostr-connect"), files);
}
