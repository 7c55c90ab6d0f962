//! `cargo xtask readme`: writes the table of README.md from the committed run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::target_folder;

const FOLDER: &str = "docs/bench";
/// File name of a committed run's record, compressed by gzip.
const RECORD: &str = "run.json.gz";
const START: &str = "<!-- cost: cargo xtask readme -->\n";
const END: &str = "<!-- /cost -->\n";

pub(crate) fn command(root: &Path, options: &[String]) -> Result<bool, String> {
    match options {
        [] => {
            let (path, text, wanted) = both(root)?;
            if text != wanted {
                fs::write(&path, wanted).map_err(|error| format!("README.md: {error}"))?;
            }
            Ok(true)
        }
        [one] if one == "--check" => check(root),
        _ => Err("readme takes nothing but --check".into()),
    }
}

/// Compares the table of README.md with the committed run. Returns true if they agree.
pub(crate) fn check(root: &Path) -> Result<bool, String> {
    let (_, text, wanted) = both(root)?;
    if text != wanted {
        println!("README.md differs from the committed run: cargo xtask readme");
    }
    Ok(text == wanted)
}

/// Returns the path of README.md, its text, and the text that it should have.
fn both(root: &Path) -> Result<(PathBuf, String, String), String> {
    let path = root.join("README.md");
    let text = fs::read_to_string(&path).map_err(|error| format!("README.md: {error}"))?;
    let run = latest(root)?;
    let target = target_folder(root);
    let built = ["debug", "release"].map(|it| target.join(it).join("endseal-bench"));
    let built =
        built.into_iter().filter_map(|it| Some((fs::metadata(&it).ok()?.modified().ok()?, it)));
    let (_, newest) = built
        .max()
        .ok_or("there is no endseal-bench: cargo build --manifest-path bench/Cargo.toml")?;
    let output = Command::new(newest)
        .args(["report", "--readme"])
        .arg(run.join(RECORD))
        .output()
        .map_err(|error| format!("endseal-bench: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted = replaced(&text, &table).ok_or("README.md has no place for the table")?;
    Ok((path, text, wanted))
}

/// Returns the folder of the latest run. Folders are named by dates.
fn latest(root: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(root.join(FOLDER)).map_err(|error| format!("{FOLDER}: {error}"))?;
    let folders =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.join(RECORD).exists());
    folders.max().ok_or_else(|| format!("there is no run in {FOLDER}"))
}

fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(START)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{START}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_is_replaced() {
        let text = format!("a\n{START}old\n{END}b\n");
        assert_eq!(replaced(&text, "new\n").unwrap(), format!("a\n{START}new\n{END}b\n"));
        assert_eq!(replaced("no place", "new"), None);
    }
}
