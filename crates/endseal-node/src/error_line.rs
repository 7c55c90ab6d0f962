//! Errors as one line for people.

use core::error::Error;

/// Formats an error and its causes in one line.
pub(crate) fn line(error: &dyn Error) -> String {
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(error) = next {
        let cause = error.to_string();
        // Skips a wrapper that repeats the text of its source.
        if causes.last() != Some(&cause) {
            causes.push(cause);
        }
        next = error.source();
    }
    causes.join(": ")
}
