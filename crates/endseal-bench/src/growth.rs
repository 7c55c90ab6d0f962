//! How time grows with the number of members, fitted and said in words.

use std::collections::BTreeMap;

use crate::record::{Growth, Params, Row};
use crate::stats::{Shuffler, exponent, theil_sen};

/// The parameter whose growth is fitted.
const PARAMETER: &str = "members";

/// Fits every subject in every case that was measured at three numbers of members or more.
pub(crate) fn fit(rows: &[Row], shuffler: &mut Shuffler) -> Vec<Growth> {
    type Key = (String, String, Params, String);
    let mut series = BTreeMap::<Key, Vec<(f64, f64)>>::new();
    for row in rows.iter().filter(|row| row.metric == "time") {
        let mut params = row.params.clone();
        let Some(members) = params.remove(PARAMETER) else { continue };
        let key = (row.suite.clone(), row.case.clone(), params, row.subject.clone());
        #[allow(clippy::cast_precision_loss, reason = "at most 2^20")]
        series.entry(key).or_default().push((members as f64, row.median));
    }
    series
        .into_iter()
        .filter_map(|((suite, case, params, subject), points)| {
            let power = exponent(&points, shuffler)?;
            let line = theil_sen(&points)?;
            let sentence = sentence(line.fixed, line.per_unit, power.median, power.ci95);
            Some(Growth {
                suite,
                case,
                parameter: PARAMETER.into(),
                params,
                subject,
                fixed_ns: line.fixed,
                per_unit_ns: line.per_unit,
                exponent: power.median,
                exponent_ci95: power.ci95,
                sentence,
            })
        })
        .collect()
}

fn sentence(fixed: f64, per_unit: f64, exponent: f64, ci95: [f64; 2]) -> String {
    let law = match exponent {
        e if e < 0.15 => "hardly grows",
        e if e < 0.85 => "grows more slowly than the number of members",
        e if e < 1.15 => "linear",
        e if e < 1.85 => "grows faster than the number of members",
        _ => "quadratic or worse",
    };
    let (fixed, per_unit) = (fixed / 1e3, per_unit / 1e3);
    let (low, high) = (ci95[0], ci95[1]);
    format!(
        "{fixed:.1} µs and {per_unit:.2} µs a member; exponent {exponent:.2} ({low:.2} to {high:.2}): {law}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_series_is_called_linear() {
        let rows: Vec<_> = [10, 100, 1000]
            .iter()
            .map(|&members| Row {
                suite: "envelope".into(),
                case: "seal".into(),
                params: Params::from([("members".into(), members), ("bytes".into(), 1024)]),
                subject: "endseal".into(),
                metric: "time".into(),
                unit: "ns".into(),
                median: 3000.0 * f64::from(u32::try_from(members).unwrap()),
                ci95: [0.0; 2],
                n: 41,
            })
            .collect();
        let growth = fit(&rows, &mut Shuffler::new(1));
        assert_eq!(growth.len(), 1);
        assert!(growth[0].sentence.ends_with("linear"), "{}", growth[0].sentence);
        assert!((growth[0].per_unit_ns - 3000.0).abs() < 1.0);
        assert_eq!(fit(&rows[..2], &mut Shuffler::new(1)), []);
    }
}
