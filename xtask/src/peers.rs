//! `cargo xtask peers NAME…`: installs and builds the programs that the benchmark measures beside.
//!
//! Each has its own lock file and dependencies; nothing of it enters the workspace.

use std::path::Path;
use std::process::Command;

/// A peer, its folder below `peers/`, and what makes it ready: programs with their arguments, one
/// after the other.
struct Recipe {
    name: &'static str,
    folder: &'static str,
    steps: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    // The native packages ship prebuilt binaries: no script has to run. One of them is made to load
    // with the C library of this machine.
    Recipe {
        name: "node",
        folder: "node",
        steps: &["npm ci --ignore-scripts", "node prepare.mjs"],
    },
    Recipe { name: "rust", folder: "rust", steps: &["cargo build --release --locked"] },
    // Apart from the others in Rust, which need half as many packages.
    Recipe { name: "iroh", folder: "rust-iroh", steps: &["cargo build --release --locked"] },
    Recipe { name: "rust-nostr", folder: "rust-nostr", steps: &["cargo build --release --locked"] },
    // Below `target`, as the others in Rust. The version control system has nothing to add.
    Recipe {
        name: "go",
        folder: "go",
        steps: &["go build -buildvcs=false -o target/endseal-peers-go ."],
    },
    // The newest release that was looked at, from the module proxy: that of Debian 12 is of 2022.
    Recipe { name: "rclone", folder: "rclone", steps: &["./install.sh"] },
    Recipe { name: "jvm", folder: "jvm", steps: &["mvn --batch-mode --quiet package -DskipTests"] },
];

pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let wanted = chosen(arguments)?;
    let mut all_done = true;
    for recipe in wanted {
        let folder = root.join("peers").join(recipe.folder);
        for step in recipe.steps {
            println!("== peers/{}: {step}", recipe.folder);
            if let Err(why) = run(step, &folder) {
                println!("peers/{}: {why}", recipe.folder);
                all_done = false;
                break;
            }
        }
    }
    Ok(all_done)
}

fn run(step: &str, folder: &Path) -> Result<(), String> {
    let mut words = step.split(' ');
    let program = words.next().unwrap_or_default();
    let status = Command::new(program)
        .args(words)
        .current_dir(folder)
        // `bench` looks for what is built below the peer's own folder.
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .status()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
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
        assert_eq!(
            names(&[]),
            Ok(vec!["node", "rust", "iroh", "rust-nostr", "go", "rclone", "jvm"])
        );
        assert_eq!(names(&["rust"]), Ok(vec!["rust"]));
        assert!(names(&["deno"]).is_err_and(|error| error.contains("node, rust, iroh, ")));
    }
}
