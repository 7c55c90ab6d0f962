//! Fits the growth of time with a parameter.

use std::collections::BTreeMap;

use crate::record::{Growth, Params, Row};
use crate::stats::{Shuffler, exponent, theil_sen};
use crate::suite::{Growing, SUITES};

/// Fits every subject in every case that was measured at three values or more of a parameter over
/// which its suite grows.
pub(crate) fn fit(rows: &[Row], shuffler: &mut Shuffler) -> Vec<Growth> {
    SUITES
        .iter()
        .flat_map(|suite| suite.grows_by.iter().map(move |growing| (suite, growing)))
        .flat_map(|(suite, growing)| fit_over(suite.name, growing, rows, shuffler))
        .collect()
}

fn fit_over(suite: &str, growing: &Growing, rows: &[Row], shuffler: &mut Shuffler) -> Vec<Growth> {
    type Key = (String, Params, String);
    let mut series = BTreeMap::<Key, Vec<(f64, f64)>>::new();
    for row in rows.iter().filter(|row| row.suite == suite && row.metric == "time") {
        let mut params = row.params.clone();
        let Some(value) = params.remove(growing.parameter) else { continue };
        let key = (row.case.clone(), params, row.subject.clone());
        #[allow(clippy::cast_precision_loss, reason = "a number of members or bytes")]
        series.entry(key).or_default().push((value as f64, row.median));
    }
    series
        .into_iter()
        .filter_map(|((case, params, subject), points)| {
            let power = exponent(&points, shuffler)?;
            let line = theil_sen(&points)?;
            Some(Growth {
                suite: suite.into(),
                case,
                parameter: growing.parameter.into(),
                params,
                subject,
                fixed_ns: line.fixed,
                per_unit_ns: line.per_unit,
                exponent: power.fitted,
                exponent_ci95: power.ci95,
            })
        })
        .collect()
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
                n: 41,
                ..Row::default()
            })
            .collect();
        let growth = fit(&rows, &mut Shuffler::new(1));
        assert_eq!(growth.len(), 1);
        assert!((growth[0].exponent - 1.0).abs() < 1e-9);
        assert!((growth[0].per_unit_ns - 3000.0).abs() < 1.0);
        assert_eq!(fit(&rows[..2], &mut Shuffler::new(1)), []);
        let foreign: Vec<_> =
            rows.iter().map(|row| Row { suite: "baking".into(), ..row.clone() }).collect();
        assert_eq!(fit(&foreign, &mut Shuffler::new(1)), []);
    }
}
