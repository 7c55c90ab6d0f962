//! `cargo xtask gate`: compares instruction counts of portable kernels with committed ones. It
//! counts with callgrind, so that the load of the machine does not matter.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::target_folder;

const BASELINE: &str = "docs/bench/instructions.tsv";
/// Share by which a count may differ: keys are random, and so is the order of slots.
const TOLERANCE: f64 = 0.02;
/// Option for callgrind: count only while this function runs.
const TOGGLE: &str = "--toggle-collect=*kernel*measured*";
const HEAD: &str = "suite\tsubject\tcase\tparams\titerations\tinstructions";

/// A kernel with the reviewed number of instructions of one iteration.
#[derive(Clone, Debug, PartialEq)]
struct Kernel {
    /// Arguments of the role `kernel`: suite, subject, case, parameters and iterations.
    words: [String; 5],
    instructions: f64,
}

pub(crate) fn command(root: &Path, options: &[String]) -> Result<bool, String> {
    match options {
        [] => check(root),
        [one] if one == "--write" => write(root),
        _ => Err("gate takes nothing but --write".into()),
    }
}

/// Counts and compares. Without valgrind, or with a compiler other than the pinned one, it prints
/// that and passes.
pub(crate) fn check(root: &Path) -> Result<bool, String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: there is no valgrind");
        return Ok(true);
    }
    let mut sound = true;
    for kernel in read(root)? {
        let counted = count(root, &kernel)?;
        let change = counted / kernel.instructions - 1.0;
        let verdict = if change.abs() <= TOLERANCE { "ok" } else { "CHANGED" };
        sound &= change.abs() <= TOLERANCE;
        println!("{verdict:8} {:+.2} %  {counted:.0}  {}", change * 100.0, kernel.words.join(" "));
    }
    if !sound {
        println!("a change that is meant is committed by `cargo xtask gate --write`");
    }
    Ok(sound)
}

fn write(root: &Path) -> Result<bool, String> {
    let mut text = String::from(HEAD);
    text.push('\n');
    for kernel in read(root)? {
        let counted = count(root, &kernel)?;
        println!("{counted:.0}  {}", kernel.words.join(" "));
        text += &format!("{}\t{counted:.0}\n", kernel.words.join("\t"));
    }
    fs::write(root.join(BASELINE), text).map_err(|error| format!("{BASELINE}: {error}"))?;
    Ok(true)
}

fn read(root: &Path) -> Result<Vec<Kernel>, String> {
    let text =
        fs::read_to_string(root.join(BASELINE)).map_err(|error| format!("{BASELINE}: {error}"))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Kernel>, String> {
    let kernel = |line: &str| {
        let fault = || format!("{BASELINE}: no kernel: {line}");
        let (words, count) = line.rsplit_once('\t').ok_or_else(fault)?;
        let words: Vec<String> = words.split('\t').map(str::to_owned).collect();
        let words = words.try_into().map_err(|_| fault())?;
        Ok(Kernel { words, instructions: count.parse().map_err(|_| fault())? })
    };
    text.lines().skip(1).map(kernel).collect()
}

/// Returns the number of instructions of one iteration.
fn count(root: &Path, kernel: &Kernel) -> Result<f64, String> {
    let [.., iterations] = &kernel.words;
    let number: f64 = iterations.parse().map_err(|_| format!("iterations: {iterations}"))?;
    Ok(instructions(root, &kernel.words)? / number)
}

/// Returns the instructions of the function that runs the iterations, including its callees.
fn instructions(root: &Path, words: &[String]) -> Result<f64, String> {
    let target = target_folder(root);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", TOGGLE])
        .arg(target.join("release/endseal-bench"))
        .args(["role", "kernel"])
        .args(words)
        .current_dir(root)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected :")).map(|(_, n)| n.trim());
    match line.and_then(|count| count.parse().ok()).filter(|_| output.status.success()) {
        Some(count) => Ok(count),
        None => Err(format!("{}: {text}", words.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_five_words_and_a_count() {
        let read =
            parse(&format!("{HEAD}\ncodec\tendseal\tencode\tbytes=8192\t10\t1234\n")).unwrap();
        let words = ["codec", "endseal", "encode", "bytes=8192", "10"].map(str::to_owned);
        assert_eq!(read, [Kernel { words, instructions: 1234.0 }]);
        for wrong in ["codec\tendseal\t10", "a\tb\tc\td\te\tmany", "a\tb\tc\td\te\tf\t1"] {
            assert!(parse(&format!("{HEAD}\n{wrong}\n")).is_err(), "{wrong}");
        }
    }
}
