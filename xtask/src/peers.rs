//! `cargo xtask peers NAME…`: installs and builds the programs that the benchmark measures beside.
//!
//! Each has its own lock file and dependencies; nothing of it enters the workspace.

use std::path::Path;
use std::process::Command;

/// A peer's folder below `peers/`, and what makes it ready.
struct Recipe {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    // Both native packages ship prebuilt binaries: no script has to run.
    Recipe { name: "node", program: "npm", arguments: &["ci", "--ignore-scripts"] },
    Recipe { name: "rust", program: "cargo", arguments: &["build", "--release", "--locked"] },
];

pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let wanted = chosen(arguments)?;
    let mut all_done = true;
    for recipe in wanted {
        let folder = root.join("peers").join(recipe.name);
        println!("== peers/{}: {} {}", recipe.name, recipe.program, recipe.arguments.join(" "));
        let status = Command::new(recipe.program)
            .args(recipe.arguments)
            .current_dir(&folder)
            // `bench` looks for what is built below the peer's own folder.
            .env_remove("CARGO_TARGET_DIR")
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => {
                println!("peers/{}: {status}", recipe.name);
                all_done = false;
            }
            Err(error) => {
                println!("peers/{}: {} cannot be started: {error}", recipe.name, recipe.program);
                all_done = false;
            }
        }
    }
    Ok(all_done)
}

fn chosen(arguments: &[String]) -> Result<Vec<&'static Recipe>, String> {
    if arguments.is_empty() {
        return Ok(RECIPES.iter().collect());
    }
    let find = |name: &String| {
        RECIPES.iter().find(|recipe| recipe.name == name).ok_or_else(|| {
            let names: Vec<_> = RECIPES.iter().map(|recipe| recipe.name).collect();
            format!("there is no peer '{name}'; there are: {}", names.join(", "))
        })
    };
    arguments.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_chosen_by_name() {
        let names = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            chosen(&arguments).map(|chosen| chosen.iter().map(|r| r.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]), Ok(vec!["node", "rust"]));
        assert_eq!(names(&["rust"]), Ok(vec!["rust"]));
        assert!(names(&["go"]).is_err_and(|error| error.contains("node, rust")));
    }
}
