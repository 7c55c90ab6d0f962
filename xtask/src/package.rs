//! `cargo xtask package`: packs every published crate as `cargo publish` would, and compiles what
//! was packed.
//!
//! The packed files are unpacked into one workspace with the profiles and the versions of the
//! product, so that the dependencies which the product has built serve here, too. A file that a
//! crate reads and does not pack is then missing. Cargo's own verification builds each crate with
//! all of its dependencies anew; `cargo xtask nightly` runs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::ci::ENVIRONMENT;
use crate::workspace::{Published, published};
use crate::{target_folder, workspace};

/// Files of the root that each package has a copy of.
const LICENSES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];

/// Runs `cargo xtask package`. Returns true if all packages are complete and compile.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("package takes no arguments, but got '{argument}'"));
    }
    let published = published(root)?;
    let names = workspace::arguments(&published);
    // Without the lock files, whose making asks the registry once for each crate.
    let options = "package --quiet --locked --allow-dirty --no-verify --exclude-lockfile";
    if !cargo(root, options.split(' ').chain(names.iter().map(String::as_str)))? {
        return Ok(false);
    }
    let target = target_folder(root);
    let unpacked = target.join("unpacked");
    let clean = unpack(root, &published, &target.join("package"), &unpacked)?;
    let manifest = unpacked.join("Cargo.toml").display().to_string();
    let compiles = cargo(root, ["check", "--quiet", "--workspace", "--manifest-path", &manifest])?;
    let outcome = if compiles { "compile" } else { "do not compile" };
    println!("package: {} crates, which {outcome}", published.len());
    Ok(clean && compiles)
}

fn cargo<'a>(root: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Result<bool, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(arguments).envs(ENVIRONMENT.iter().copied());
    cargo.env("CARGO_TARGET_DIR", target_folder(root));
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

/// Makes a workspace of the packages. Returns true if all of them have their licences.
fn unpack(root: &Path, crates: &[Published], packed: &Path, to: &Path) -> Result<bool, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", to.display());
    if to.exists() {
        fs::remove_dir_all(to).map_err(failed)?;
    }
    let folder = to.join("crates");
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::copy(root.join("Cargo.lock"), to.join("Cargo.lock")).map_err(failed)?;
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(failed)?;
    let names: Vec<String> = workspace::rows(root)?.into_iter().flat_map(|it| it.crates).collect();
    let manifest = without_unpublished(&manifest, &names, crates) + &patches(crates);
    fs::write(to.join("Cargo.toml"), manifest).map_err(failed)?;
    let mut clean = true;
    for Published { name, version, .. } in crates {
        let file = packed.join(format!("{name}-{version}.crate"));
        // Packed files have one fixed time. Cargo compiles again what has a new one.
        let status = Command::new("tar").arg("-xzmf").arg(&file).arg("-C").arg(&folder).status();
        if !status.map_err(|error| format!("tar: {error}"))?.success() {
            return Err(format!("{} cannot be unpacked", file.display()));
        }
        let package = folder.join(name);
        fs::rename(folder.join(format!("{name}-{version}")), &package).map_err(failed)?;
        for license in LICENSES {
            if fs::read(package.join(license)).ok() != fs::read(root.join(license)).ok() {
                println!("{name}: its package has no {license}, or another one than the project");
                clean = false;
            }
        }
    }
    Ok(clean)
}

/// Removes the lines of the root manifest that begin with the name of an unpublished crate: its
/// profile and its path. Cargo warns of profiles without a package.
fn without_unpublished(manifest: &str, names: &[String], published: &[Published]) -> String {
    let is_dropped = |line: &&str| {
        let name = line.split([' ', '.']).next().unwrap_or_default();
        names.iter().any(|it| it == name) && !published.iter().any(|it| it.name == name)
    };
    let lines = manifest.lines().filter(|line| !is_dropped(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the part of the manifest by which the packages find each other. A crate that no other
/// one needs has no patch, because Cargo warns of unused ones.
fn patches(crates: &[Published]) -> String {
    let needed = |it: &&Published| crates.iter().any(|other| other.needs.contains(&it.name));
    let lines = crates.iter().filter(needed);
    let lines = lines.map(|Published { name, .. }| format!("{name}.path = \"crates/{name}\"\n"));
    format!("\n[patch.crates-io]\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn published(name: &str, needs: &[&str]) -> Published {
        Published {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            rust_version: "1.89".to_owned(),
            needs: needs.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn only_needed_crates_are_patched() {
        let crates = [published("a", &[]), published("b", &["a", "serde"])];
        assert_eq!(patches(&crates), "\n[patch.crates-io]\na.path = \"crates/a\"\n");
    }

    #[test]
    fn lines_about_unpublished_crates_are_dropped() {
        let manifest = "[x]\na.opt-level = 0\ntests.opt-level = 0\ntests = { path = \"t\" }\n";
        let names = ["a".to_owned(), "tests".to_owned()];
        let kept = without_unpublished(manifest, &names, &[published("a", &[])]);
        assert_eq!(kept, "[x]\na.opt-level = 0\n");
    }

    #[test]
    fn a_package_without_its_licences_is_found() {
        let scratch = Scratch::with(&[
            ("Cargo.toml", "[workspace.metadata.layers]\n0 = [\"a\"]\n"),
            ("Cargo.lock", ""),
            ("LICENSE-MIT", "may be used"),
            ("LICENSE-APACHE", "may be used, too"),
            ("a-0.1.0/LICENSE-MIT", "may be used"),
            ("a-0.1.0/LICENSE-APACHE", "may be used, too"),
            ("a-0.1.0/src/lib.rs", ""),
        ]);
        let root = scratch.path();
        let unpack_a = || {
            let mut tar = Command::new("tar");
            tar.current_dir(root).args(["-czf", "a-0.1.0.crate", "a-0.1.0"]);
            assert!(tar.status().unwrap().success());
            unpack(root, &[published("a", &[])], root, &root.join("unpacked")).unwrap()
        };
        assert!(unpack_a());
        assert!(root.join("unpacked/crates/a/src/lib.rs").exists());
        scratch.write("a-0.1.0/LICENSE-MIT", "may not be used");
        assert!(!unpack_a());
        fs::remove_file(root.join("a-0.1.0/LICENSE-MIT")).unwrap();
        assert!(!unpack_a());
    }
}
