//! Rules of a remote signer, and decisions by them (`docs/spec/nostr-connect.md`).
//!
//! A [`Rule`] belongs to one app. [`Action::of`] gives the effect that a request would have,
//! [`decide`] applies the rules of its app to it, and [`explain`] gives the reason. A request that
//! no rule allows is denied.

mod action;
mod bytes;
mod decide;
mod explain;
mod rule;
mod text;

pub use action::Action;
pub use decide::{Decision, Verdict, charge, decide};
pub use explain::{Explanation, explain};
pub use rule::{
    Bound, Effect, Kinds, MAX_SCOPE_AGE, MAX_SCOPE_LIFETIME, RULE_LEN, Rate, Rule, RuleError,
    SENSITIVE_KINDS, Subject, Usage,
};
pub use text::{Pattern, PatternError, parse_list};
