//! A comparison in lines of a terminal.

use std::fmt::Write as _;

use super::{Compared, Comparison, Verdict};
use crate::report::case::Case;
use crate::words::{self, fine_percent, tame};

const HEAD: [&str; 7] = ["case", "subject", "first", "second", "change", "normalised", "verdict"];

impl Comparison {
    /// Formats the comparison for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for circumstance in &self.circumstances {
            let _ = writeln!(out, "note: {circumstance}");
        }
        let all = self.ratios.iter().chain(&self.rows);
        let lines: Vec<[String; 7]> = all.map(Compared::cells).collect();
        let width = |column: usize| {
            let cells = lines.iter().map(|line| line[column].chars().count());
            cells.chain([HEAD[column].chars().count()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        for line in [HEAD.map(str::to_owned)].iter().chain(&lines) {
            let mut text = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - cell.chars().count());
                match column {
                    2..=5 => text += &format!("{gap}{cell}  "),
                    _ => text += &format!("{cell}{gap}  "),
                }
            }
            let _ = writeln!(out, "{}", text.trim_end());
        }
        out + &self.summary()
    }

    /// Formats the largest noise floor: differences below it cannot be decided.
    fn floor(&self) -> Option<String> {
        self.noise_floors.values().copied().max_by(f64::total_cmp).map(fine_percent)
    }

    fn summary(&self) -> String {
        let mut out = format!(
            "{} figures in both: {} better, {} worse, {} without difference",
            self.ratios.len() + self.rows.len(),
            self.count(Verdict::Better),
            self.count(Verdict::Worse),
            self.count(Verdict::NoDifference),
        );
        let (floor, drift) = (self.floor(), fine_percent(self.drift));
        let _ = match floor {
            Some(floor) => write!(out, " (noise floors up to {floor}, drifts {drift})"),
            None => {
                let undecided = self.count(Verdict::Undecided);
                write!(out, ", {undecided} undecided without a noise floor")
            }
        };
        let _ = writeln!(
            out,
            "; {} only in the first, {} only in the second",
            self.only_first, self.only_second
        );
        let (outside, sampled) = self.outside();
        let _ = writeln!(
            out,
            "{outside} of {sampled} times and ratios differ; had nothing changed, 95 % intervals \
             would let at most about {} do so",
            sampled.div_ceil(20),
        );
        out
    }
}

impl Compared {
    fn cells(&self) -> [String; 7] {
        let value = |value: f64| match self.against {
            Some(_) => words::factor(value, None),
            None => words::value(value, &self.unit),
        };
        let change = |change: Option<f64>| {
            change.map_or("-".into(), |change| format!("{:+.1} %", (change - 1.0) * 100.0))
        };
        let overlap = if self.overlap { ", intervals overlap" } else { "" };
        let subject = match &self.against {
            Some(against) => format!("{} / {}", tame(&self.subject), tame(against)),
            None => tame(&self.subject),
        };
        [
            format!(
                "{} {}",
                Case {
                    suite: self.suite.clone(),
                    case: self.case.clone(),
                    params: self.params.clone(),
                }
                .describe(),
                tame(&self.metric)
            ),
            subject,
            value(self.first),
            value(self.second),
            change(self.change),
            change(self.normalised),
            format!("{}{overlap}", self.verdict.words()),
        ]
    }
}
