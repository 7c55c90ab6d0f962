//! `docs/assurance.md`: results of the last full check and of the nightly checks.
//!
//! Programs write the file and read it back: `ci` learns which commit was checked in full, and
//! `nightly` which of its checks have been done. The whole file is generated,
//! so that other text in it is lost.

use std::fs;
use std::path::Path;

use crate::count::Count;

const PATH: &str = "docs/assurance.md";

/// Contents of both tables of the file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) full: Option<Full>,
    pub(crate) nightly: Vec<NightlyRow>,
}

/// Result of the last run of all steps of `cargo xtask ci`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Full {
    /// The commit that was checked, in full.
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) rows: Vec<FullRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FullRow {
    pub(crate) step: String,
    pub(crate) tests: usize,
    pub(crate) seconds: u64,
}

/// Result of the last run of one check of `cargo xtask nightly`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NightlyRow {
    pub(crate) check: String,
    /// The first twelve digits of the commit.
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) count: Count,
    pub(crate) seconds: u64,
}

impl Record {
    /// Reads the record. If there is no file or it cannot be parsed, the record is empty.
    pub(crate) fn read(root: &Path) -> Self {
        fs::read_to_string(root.join(PATH)).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    pub(crate) fn write(&self, root: &Path) -> Result<(), String> {
        fs::write(root.join(PATH), self.text()).map_err(|error| format!("{PATH}: {error}"))
    }

    fn parse(text: &str) -> Self {
        let mut record = Self::default();
        for line in text.lines() {
            if let Some((commit, date)) = full_head(line) {
                record.full = Some(Full { commit, date, rows: Vec::new() });
            }
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match cells.as_slice() {
                ["", step, tests, seconds, ""] => {
                    let (Ok(tests), Ok(seconds)) = (tests.parse(), seconds.parse()) else {
                        continue;
                    };
                    let row = FullRow { step: (*step).to_owned(), tests, seconds };
                    if let Some(full) = &mut record.full {
                        full.rows.push(row);
                    }
                }
                ["", check, commit, date, done, what, failures, seconds, ""] => {
                    let (Ok(done), Ok(failures), Ok(seconds)) =
                        (done.parse(), failures.parse(), seconds.parse())
                    else {
                        continue;
                    };
                    record.nightly.push(NightlyRow {
                        check: (*check).to_owned(),
                        commit: (*commit).to_owned(),
                        date: (*date).to_owned(),
                        count: Count { done, what: (*what).to_owned(), failures },
                        seconds,
                    });
                }
                _ => {}
            }
        }
        record
    }

    fn text(&self) -> String {
        let mut text = String::from(
            "# Results of the long checks\n\n\
             Written by the programs that are named below, and read by them. Each commit is checked\n\
             by `.ci/run`, which runs the steps whose files changed since the full check.\n\n\
             ## Full check: `cargo xtask ci --all`\n\n",
        );
        match &self.full {
            Some(Full { commit, date, rows }) => {
                text += &format!("{FULL_HEAD}{commit}{FULL_MIDDLE}{date}.\n\n");
                text += "| step | tests counted | seconds |\n|---|---|---|\n";
                for FullRow { step, tests, seconds } in rows {
                    text += &format!("| {step} | {tests} | {seconds} |\n");
                }
            }
            None => text += "It was not run yet.\n",
        }
        text += "\n## Nightly checks: `cargo xtask nightly`\n\n";
        if self.nightly.is_empty() {
            text += "They were not run yet.\n";
        } else {
            text += "| check | commit | date | done | of what | failures | seconds |\n\
                     |---|---|---|---|---|---|---|\n";
        }
        for NightlyRow { check, commit, date, count, seconds } in &self.nightly {
            let Count { done, what, failures } = count;
            text += &format!(
                "| {check} | {commit} | {date} | {done} | {what} | {failures} | {seconds} |\n"
            );
        }
        text
    }
}

const FULL_HEAD: &str = "All steps passed at commit ";
const FULL_MIDDLE: &str = " on ";

fn full_head(line: &str) -> Option<(String, String)> {
    let (commit, date) = line.strip_prefix(FULL_HEAD)?.split_once(FULL_MIDDLE)?;
    Some((commit.to_owned(), date.strip_suffix('.')?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let record = Record {
            full: Some(Full {
                commit: "0123".to_owned(),
                date: "2026-11-28".to_owned(),
                rows: vec![FullRow { step: "test".to_owned(), tests: 2470, seconds: 600 }],
            }),
            nightly: vec![NightlyRow {
                check: "fuzz envelope".to_owned(),
                commit: "0123".to_owned(),
                date: "2026-11-28".to_owned(),
                count: Count { done: 12, what: "inputs".to_owned(), failures: 0 },
                seconds: 60,
            }],
        };
        let scratch = Scratch::with(&[("docs/x", "")]);
        record.write(scratch.path()).unwrap();
        assert_eq!(Record::read(scratch.path()), record);
        Record::default().write(scratch.path()).unwrap();
        assert_eq!(Record::read(scratch.path()), Record::default());
    }

    #[test]
    fn without_a_file_nothing_was_checked() {
        assert_eq!(Record::read(Scratch::with(&[]).path()), Record::default());
    }
}
