//! A step of the check: commands that run one after the other, and what they depend on.

/// Queue of a step. Steps of one queue run one after the other; the two queues run in parallel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lane {
    /// Calls of Cargo with the shared target folder, which Cargo locks while it compiles.
    Build,
    /// Other programs, and builds with a target folder of their own.
    Run,
}

impl Lane {
    pub(crate) const ALL: [Self; 2] = [Self::Build, Self::Run];
}

/// One named part of the check, with its commands.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) lane: Lane,
    /// Name of the step whose result this one needs, such as the program that it starts.
    pub(crate) after: Option<&'static str>,
    /// Time limit in minutes. A step that takes longer is ended and fails.
    pub(crate) minutes: u64,
    /// Files and folders, relative to the root. The step runs if one of them changed; empty means
    /// always.
    pub(crate) paths: &'static [&'static str],
    pub(crate) jobs: Vec<Job>,
}

/// A program with its arguments, started in the root of the checkout.
///
/// The program name `xtask` stands for this program, and `{target}` in an argument for Cargo's
/// target folder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) words: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Job {
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }
}

/// Returns a call of Cargo with arguments that are separated by single blanks.
pub(crate) fn cargo(arguments: &str) -> Job {
    program(&format!("cargo {arguments}"))
}

/// Returns a program with its arguments, separated by single blanks.
pub(crate) fn program(words: &str) -> Job {
    Job { words: words.split(' ').map(str::to_owned).collect(), environment: Vec::new() }
}

impl Step {
    /// Returns true if one of the changed files is below one of the step's paths.
    pub(crate) fn depends_on(&self, changed: &[String]) -> bool {
        let is_ours = |file: &String| self.paths.iter().any(|path| is_below(file, path));
        self.paths.is_empty() || changed.iter().any(is_ours)
    }
}

/// Returns true if `file` is `path` or lies in the folder `path`.
pub(crate) fn is_below(file: &str, path: &str) -> bool {
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_depends_on_files_below_its_paths() {
        let step = |paths| Step {
            name: "a",
            purpose: "",
            lane: Lane::Run,
            after: None,
            minutes: 1,
            paths,
            jobs: Vec::new(),
        };
        let changed = ["crates/a/src/lib.rs".to_owned()];
        assert!(step(&["crates"]).depends_on(&changed));
        assert!(step(&["docs", "crates/a"]).depends_on(&changed));
        assert!(!step(&["crate", "crates/a/src/lib.rs/x"]).depends_on(&changed));
        assert!(step(&[]).depends_on(&[]));
    }
}
