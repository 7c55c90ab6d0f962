//! Runs steps in two parallel queues, each step with a time limit and a log of its own.

use core::fmt;
use core::time::Duration;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::step::{Job, Lane, Step};
use super::{ENVIRONMENT, REQUIRE, required_kernels};
use crate::count::Count;
use crate::group::Group;
use crate::target_folder;

/// Interval at which a running program is polled.
const POLL: Duration = Duration::from_millis(50);

/// Result of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    /// The text names the command that failed, and the reason.
    Failed(String),
    /// The step was not started, because an earlier step failed.
    NotRun,
}

/// Result of one step, with its time and its tests.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) time: Duration,
    /// Number of tests that its output counts.
    pub(crate) tests: usize,
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verdict, reason) = match &self.verdict {
            Verdict::Passed => ("passed", ""),
            Verdict::Failed(reason) => ("FAILED", reason.as_str()),
            Verdict::NotRun => ("not run", ""),
        };
        write!(formatter, "{:12} {verdict:8} {:7.1} s", self.name, self.time.as_secs_f64())?;
        if self.tests > 0 {
            write!(formatter, "  {} tests", self.tests)?;
        }
        if !reason.is_empty() {
            write!(formatter, "  {reason}")?;
        }
        Ok(())
    }
}

/// Runs all steps and returns their results in the order of `steps`.
///
/// After a failure the other queue is stopped, unless `keep_going`. The output of a step goes to
/// `<logs>/<step>.log` and is printed when the step ends. A single step prints as it runs.
pub(crate) fn run(root: &Path, logs: &Path, steps: &[Step], keep_going: bool) -> Vec<Row> {
    let board = Board::default();
    thread::scope(|scope| {
        for lane in Lane::ALL {
            let board = &board;
            scope.spawn(move || {
                for step in steps.iter().filter(|step| step.lane == lane) {
                    board.run(root, logs, step, steps, keep_going);
                }
            });
        }
    });
    let rows = board.rows();
    let row = |step: &Step| rows.iter().find(|row| row.name == step.name).cloned();
    steps.iter().filter_map(row).collect()
}

/// Results so far, which both queues share.
#[derive(Default)]
struct Board {
    rows: Mutex<Vec<Row>>,
    changed: Condvar,
}

impl Board {
    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, root: &Path, logs: &Path, step: &Step, steps: &[Step], keep_going: bool) {
        let not_run =
            Row { name: step.name, verdict: Verdict::NotRun, time: Duration::ZERO, tests: 0 };
        let row = if self.may_start(step, steps, keep_going) {
            let live = steps.len() == 1;
            println!("== {} started: {}", step.name, step.purpose);
            let start = Instant::now();
            let log = (!live).then(|| logs.join(format!("{}.log", step.name)));
            let stop = || !keep_going && self.has_failed();
            let verdict = run_jobs(root, &step.jobs, step.minutes, log.as_deref(), &stop);
            let text = log.and_then(|path| fs::read(path).ok()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let tests = Count::of_tests(&text).map_or(0, |count| count.done);
            let row = Row { name: step.name, verdict, time: start.elapsed(), tests };
            println!("\n{text}== {row}\n");
            row
        } else {
            not_run
        };
        self.rows().push(row);
        self.changed.notify_all();
    }

    /// Waits for the step that this one depends on. Returns false if that one or, unless
    /// `keep_going`, any other step failed.
    fn may_start(&self, step: &Step, steps: &[Step], keep_going: bool) -> bool {
        // A step that is not in this run has been done before.
        let before = step.after.filter(|name| steps.iter().any(|it| it.name == *name));
        let mut rows = self.rows();
        loop {
            if !keep_going && rows.iter().any(|row| row.verdict != Verdict::Passed) {
                return false;
            }
            let Some(before) = before else { return true };
            if let Some(row) = rows.iter().find(|row| row.name == before) {
                return row.verdict == Verdict::Passed;
            }
            rows = self.changed.wait(rows).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn has_failed(&self) -> bool {
        self.rows().iter().any(|row| matches!(row.verdict, Verdict::Failed(_)))
    }
}

/// Runs jobs up to the first that fails, all of them within `minutes`. Their output goes to the
/// file `log`, or to our own output. They are ended when `stop` returns true.
pub(crate) fn run_jobs(
    root: &Path,
    jobs: &[Job],
    minutes: u64,
    log: Option<&Path>,
    stop: &dyn Fn() -> bool,
) -> Verdict {
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    if let Some(log) = log {
        let made =
            log.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(log, ""));
        if let Err(error) = made {
            return Verdict::Failed(format!("{}: {error}", log.display()));
        }
    }
    for job in jobs {
        if let Err(reason) = run_job(root, job, log, end, stop) {
            return Verdict::Failed(format!("{reason}: {}", job.words.join(" ")));
        }
    }
    Verdict::Passed
}

fn run_job(
    root: &Path,
    job: &Job,
    log: Option<&Path>,
    end: Instant,
    stop: &dyn Fn() -> bool,
) -> Result<(), String> {
    let mut command = command(root, job)?;
    if let Some(log) = log {
        let opened = File::options().append(true).open(log).and_then(|mut file| {
            file.write_all(shown(job).as_bytes())?;
            Ok((file.try_clone()?, file))
        });
        let (out, err) = opened.map_err(|error| format!("{}: {error}", log.display()))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
    } else {
        print!("{}", shown(job));
    }
    wait(Group::start(&mut command)?, end, stop)
}

fn shown(job: &Job) -> String {
    let environment: String =
        job.environment.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    format!("$ {environment}{}\n", job.words.join(" "))
}

/// Waits for the program. Ends it and its children at the time limit, or when `stop` returns true.
fn wait(mut group: Group, end: Instant, stop: &dyn Fn() -> bool) -> Result<(), String> {
    loop {
        let status = group.child().try_wait().map_err(|error| error.to_string())?;
        match status {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None => {}
        }
        let late = Instant::now() >= end;
        if late || stop() {
            group.end();
            return Err(if late { "over its time limit" } else { "stopped" }.to_owned());
        }
        thread::sleep(POLL);
    }
}

fn command(root: &Path, job: &Job) -> Result<Command, String> {
    let target = target_folder(root);
    let target = target.to_str().ok_or("the target folder is not UTF-8")?;
    let words: Vec<String> =
        job.words.iter().map(|word| word.replace("{target}", target)).collect();
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let path = match program.as_str() {
        "xtask" => std::env::current_exe().map_err(|error| error.to_string())?,
        // Our own programs have a path from the root; other names are looked up in the search path.
        _ if program.contains('/') => root.join(program),
        _ => PathBuf::from(program),
    };
    let mut command = Command::new(path);
    command.current_dir(root).args(arguments);
    command.envs(ENVIRONMENT.iter().copied()).env(REQUIRE, required_kernels());
    // One target folder for all workspaces, which share build results.
    command.env("CARGO_TARGET_DIR", target);
    // Passes the root of the checkout to this program when it runs as a job.
    command.env("CARGO_MANIFEST_DIR", root.join("xtask"));
    command.envs(
        job.environment.iter().map(|(name, value)| (*name, value.replace("{target}", target))),
    );
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::super::step::program;
    use super::*;
    use crate::scratch::Scratch;

    fn step(name: &'static str, lane: Lane, after: Option<&'static str>, words: &[&str]) -> Step {
        let jobs = words.iter().map(|it| program(it)).collect();
        Step { name, purpose: "", lane, after, minutes: 1, paths: &[], jobs }
    }

    fn verdicts(steps: &[Step], keep_going: bool) -> Vec<bool> {
        let scratch = Scratch::with(&[]);
        run(scratch.path(), scratch.path(), steps, keep_going)
            .iter()
            .map(|row| row.verdict == Verdict::Passed)
            .collect()
    }

    #[test]
    fn a_step_fails_with_its_first_job_that_fails() {
        let of = |words: &[&str]| verdicts(&[step("a", Lane::Run, None, words)], false);
        assert_eq!(of(&["true", "true"]), [true]);
        assert_eq!(of(&["false", "true"]), [false]);
        assert_eq!(of(&["true", "/no/such/program"]), [false]);
    }

    #[test]
    fn a_step_waits_for_the_one_it_needs_in_the_other_lane() {
        let scratch = Scratch::with(&[]);
        let made = [
            step("use", Lane::Run, Some("make"), &["test -e made"]),
            step("make", Lane::Build, None, &["sleep 0.2", "touch made"]),
        ];
        let rows = run(scratch.path(), scratch.path(), &made, false);
        assert!(rows.iter().all(|row| row.verdict == Verdict::Passed), "{rows:?}");
    }

    #[test]
    fn what_needs_a_failed_step_is_not_run_and_others_go_on_if_asked() {
        let steps = || {
            [
                step("a", Lane::Build, None, &["false"]),
                step("b", Lane::Build, None, &["true"]),
                step("c", Lane::Run, Some("a"), &["true"]),
            ]
        };
        assert_eq!(verdicts(&steps(), true), [false, true, false]);
        assert_eq!(verdicts(&steps(), false), [false, false, false]);
    }

    #[test]
    fn a_step_over_its_limit_is_ended_with_its_children_and_named() {
        let script = "sleep 600 & echo $! >new\nmv new child\nwait\n";
        let scratch = Scratch::with(&[("slow", script)]);
        let slow = [program("sh slow")];
        let stop = || scratch.path().join("child").exists();
        let Verdict::Failed(reason) = run_jobs(scratch.path(), &slow, 1, None, &stop) else {
            panic!("it passed")
        };
        assert_eq!(reason, "stopped: sh slow");
        let child = fs::read_to_string(scratch.path().join("child")).unwrap();
        // A signal takes effect some time after it is sent, and a child that has ended may remain
        // as a zombie.
        let ends = Instant::now() + Duration::from_secs(60);
        while fs::read_to_string(format!("/proc/{}/stat", child.trim()))
            .is_ok_and(|state| !state.contains(") Z "))
        {
            assert!(Instant::now() < ends, "the child lives");
            thread::sleep(POLL);
        }
        let Verdict::Failed(reason) = run_jobs(scratch.path(), &slow, 0, None, &|| false) else {
            panic!("it passed")
        };
        assert_eq!(reason, "over its time limit: sh slow");
    }

    #[test]
    fn the_output_of_a_step_is_kept_with_its_commands() {
        let scratch = Scratch::with(&[]);
        let log = scratch.path().join("log");
        let two = [program("echo one"), program("echo two")];
        let verdict = run_jobs(scratch.path(), &two, 1, Some(&log), &|| false);
        assert_eq!(verdict, Verdict::Passed);
        assert_eq!(fs::read_to_string(log).unwrap(), "$ echo one\none\n$ echo two\ntwo\n");
    }
}
