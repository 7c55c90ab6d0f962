//! Counts that other programs print: tests, cases or inputs, with failures.

/// Number of things that a check did, with its failures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Count {
    pub(crate) done: usize,
    pub(crate) what: String,
    pub(crate) failures: usize,
}

impl Count {
    /// Sums all lines `test result: … N passed; M failed; …` of the test harness. `None` if there
    /// is no such line.
    pub(crate) fn of_tests(output: &str) -> Option<Self> {
        let mut count = Self { done: 0, what: "tests".to_owned(), failures: 0 };
        let mut found = false;
        for line in output.lines().filter(|line| line.starts_with("test result:")) {
            let number = |unit: &str| {
                let before = line.split_once(unit)?.0.trim_end();
                before.rsplit(' ').next()?.parse::<usize>().ok()
            };
            let (passed, failed) = (number("passed")?, number("failed")?);
            count.done += passed + failed;
            count.failures += failed;
            found = true;
        }
        found.then_some(count)
    }

    /// Reads the last line of pytest: `== 2 failed, 3 passed, 1 skipped in 4.56s ==`.
    pub(crate) fn of_pytest(output: &str) -> Option<Self> {
        let line =
            output.lines().rev().find(|line| line.contains(" in ") && line.ends_with('='))?;
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let number = |name: &str| {
            let counted = words.windows(2).filter(|pair| pair[1].trim_end_matches('s') == name);
            counted.filter_map(|pair| pair[0].parse::<usize>().ok()).sum::<usize>()
        };
        let failures = number("failed") + number("error");
        let done = number("passed") + failures;
        Some(Self { done, what: "tests".to_owned(), failures })
    }

    /// Reads the last line `name: N things, M failures`, which our own programs print.
    pub(crate) fn of_summary(output: &str, name: &str) -> Option<Self> {
        let line =
            output.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        let (done, failures) = line.split_once(", ")?;
        let (done, what) = done.split_once(' ')?;
        let failures = failures.strip_suffix(" failures")?.parse().ok()?;
        Some(Self { done: done.parse().ok()?, what: what.to_owned(), failures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read() {
        let output = "ok a: 0 reports\nconstant time: 15 cases, 2 failures\n==1== end\n";
        let count = Count::of_summary(output, "constant time").unwrap();
        assert_eq!((count.done, count.what.as_str(), count.failures), (15, "cases", 2));
        assert!(Count::of_summary("constant time: many\n", "constant time").is_none());
    }

    #[test]
    fn results_of_tests_are_summed() {
        let output = "test result: ok. 4 passed; 0 failed; 1 ignored\n\
                      test result: FAILED. 2 passed; 3 failed; 0 ignored\n";
        let count = Count::of_tests(output).unwrap();
        assert_eq!((count.done, count.failures), (9, 3));
        assert!(Count::of_tests("error: could not compile").is_none());
    }

    #[test]
    fn results_of_pytest_are_read() {
        let read = |line: &str| Count::of_pytest(line).map(|count| (count.done, count.failures));
        let good = "== 645 passed, 32 skipped, 15 xfailed in 512.34s (0:08:32) ==\n";
        assert_eq!(read(good), Some((645, 0)));
        let bad = "FAILED x\n== 2 failed, 3 passed, 1 error in 4.56s ==\n";
        assert_eq!(read(bad), Some((6, 3)));
        assert_eq!(read("= 1 passed, 2 errors in 1.0s ="), Some((3, 2)));
        assert_eq!(read("ImportError"), None);
    }
}
