//! Letters become messages of the inbox, wait, or are problems.

use std::collections::HashSet;

use endseal_session::{EngineError, Outcome};

use super::arrived_letter::{ArrivedLetter, Verdict};
use super::conversation::Conversation;
use super::parked_letter::Parked;
use super::problem::{self, ProblemClass};
use super::records::Transaction;
use super::report::SyncReport;

/// Writes what became of letters. Those of the same writers that wait MUST be among them, before
/// the others.
pub(super) fn keep(
    transaction: &mut Transaction<'_, '_>,
    letters: &[ArrivedLetter],
    verdicts: Vec<Verdict>,
    parked: &mut Parked,
    report: &mut SyncReport,
) -> Result<(), EngineError> {
    let mut waiting = HashSet::new();
    for (letter, verdict) in letters.iter().zip(verdicts) {
        let class = match verdict {
            // None passes one of its writer that waits, unless it would be lost.
            Verdict::Text(..)
                if waiting.contains(&letter.writer()) && parked.hold(transaction, letter)? =>
            {
                report.parked += u64::from(letter.parked.is_none());
                continue;
            }
            Verdict::Waits => {
                let is_parked = parked.park(transaction, letter)?;
                if is_parked {
                    waiting.insert(letter.writer());
                }
                report.parked += u64::from(is_parked && letter.parked.is_none());
                report.problems += u64::from(!is_parked);
                continue;
            }
            Verdict::Text(id, plaintext) => {
                let to = Conversation::Group(letter.head.group).id();
                match transaction.deliver(&to, &id, letter.head.sender, plaintext)? {
                    Outcome::Delivered(_) => {
                        report.received += 1;
                        None
                    }
                    Outcome::Failed(failure) => Some(failure.code()),
                    _ => None,
                }
            }
            Verdict::Failed(class) => Some(class),
            Verdict::Unopened => Some(ProblemClass::LETTER),
        };
        if let Some(class) = class {
            problem::note(transaction, class, &letter.peer, letter.position)?;
            report.problems += 1;
        }
        if let Some((number, _)) = letter.parked {
            parked.remove(transaction, letter, number)?;
        }
    }
    Ok(())
}
