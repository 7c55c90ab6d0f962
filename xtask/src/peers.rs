//! `cargo xtask peers NAME…`: installs and builds the programs that the benchmark compares with.
//!
//! Each has its own lock file and dependencies. None of them becomes part of the workspace.

use std::path::Path;
use std::process::Command;

/// Instructions for one peer: its name, its folder below `peers/`, and the commands that install or
/// build it, in order.
struct Recipe {
    name: &'static str,
    folder: &'static str,
    steps: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    // The native packages contain prebuilt binaries, so that no install script has to run. One of
    // them is adapted to the C library of this machine.
    Recipe {
        name: "node",
        folder: "node",
        steps: &["npm ci --ignore-scripts", "node prepare.mjs"],
    },
    Recipe { name: "rust", folder: "rust", steps: &["cargo build --release --locked"] },
    // Apart from the other Rust peers, which need half as many packages.
    Recipe { name: "iroh", folder: "rust-iroh", steps: &["cargo build --release --locked"] },
    Recipe { name: "rust-nostr", folder: "rust-nostr", steps: &["cargo build --release --locked"] },
    // Built below `target`, like the Rust peers. Go must not add version control data.
    Recipe {
        name: "go",
        folder: "go",
        steps: &["go build -buildvcs=false -o target/endseal-peers-go ."],
    },
    // The newest release that was reviewed, from the module proxy: the package of Debian 12 is from
    // 2022.
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
        // `bench` looks for programs below the peer's own folder.
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
