//! Programs that a run starts: this one in another role, the shipped `endseal`, and those of
//! others.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::subject::Failure;

/// Prefixes of environment variables that these programs read, and that are removed for them.
const FOREIGN: [&str; 4] = ["AWS_", "ENDSEAL_", "MINIO_", "RCLONE_"];
/// File name of the shipped program.
const ENDSEAL: &str = "endseal";
/// Subcommand of `endseal-bench` that runs [`roles::serve`](crate::roles::serve).
const ROLE: &str = "role";

static PROGRAMS: OnceLock<Programs> = OnceLock::new();

struct Programs {
    bench: PathBuf,
    endseal: PathBuf,
    peers: PathBuf,
}

/// Sets the program whose subcommand `role` calls [`roles::serve`](crate::roles::serve), the
/// shipped `endseal`, and the folder of peers. Only the first call has an effect. Without a call,
/// neither the suite `s3` nor the memory of sessions and hubs nor remote signing is measured.
pub fn set_programs(bench: &Path, endseal: &Path, peers: &Path) {
    let [bench, endseal, peers] = [bench, endseal, peers].map(Path::to_owned);
    let _ = PROGRAMS.set(Programs { bench, endseal, peers });
}

/// Returns the path of the shipped `endseal` in the folder of another program.
#[must_use]
pub fn endseal_beside(program: &Path) -> PathBuf {
    program.with_file_name(ENDSEAL)
}

/// Returns true if the file exists and is executable.
#[must_use]
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Returns the path of a program: in the search path, or where Go and `tests/s3/install.sh` install
/// programs.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("ENDSEAL_S3_CACHE").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| home.join(".cache/endseal-s3"));
    let folders = std::env::split_paths(&path);
    let mut places = folders.chain([home.join("go/bin"), cache.join("bin")]);
    places.find_map(|folder| Some(folder.join(name)).filter(|program| is_program(program)))
}

/// Returns true if [`set_programs`] was called.
pub(crate) fn is_known() -> bool {
    PROGRAMS.get().is_some()
}

/// Returns the command of a program that ends when this process ends.
pub(crate) fn command_of(program: &Path) -> Result<Command, Failure> {
    let mut command = role("exec")?;
    command.arg(program);
    // Removes settings for the user's own storage, which must not apply to these programs.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    Ok(command)
}

/// Returns the command of the shipped program.
pub(crate) fn endseal() -> Result<Command, Failure> {
    let program = &programs()?.endseal;
    if !is_program(program) {
        return Err(format!("the shipped program is not at {}", program.display()).into());
    }
    command_of(program)
}

/// Returns the folder of the peers.
pub(crate) fn peers() -> Result<&'static Path, Failure> {
    Ok(&programs()?.peers)
}

/// Starts a process that removes `folder` when this process has ended in any way. A process that
/// inherits the sweeper's standard input delays it.
pub(crate) fn sweeper(folder: &Path) -> Result<Child, Failure> {
    let mut command = role("sweep")?;
    command.arg(folder);
    // An interrupt from the terminal must end only this process.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?)
}

fn programs() -> Result<&'static Programs, Failure> {
    PROGRAMS.get().ok_or_else(|| "no program is known that plays roles".into())
}

/// Returns the command of this program in another role.
pub(crate) fn role(name: &str) -> Result<Command, Failure> {
    let mut command = Command::new(&programs()?.bench);
    command.args([ROLE, name]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_search_path() {
        assert!(find("sh").is_some_and(|program| program.is_absolute()));
        assert_eq!(find("endseal-there-is-no-such-program"), None);
    }

    #[test]
    fn the_shipped_program_is_looked_for_beside_this_one() {
        let found = endseal_beside(Path::new("/checkout/target/release/endseal-bench"));
        assert_eq!(found, Path::new("/checkout/target/release/endseal"));
        assert!(!is_program(Path::new("/")) && !is_program(Path::new("/dev/null")));
    }
}
