//! Versions of crates, from the lock file that this program is built with.

use std::collections::BTreeMap;

const LOCK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"));

/// Returns the versions of all `names`.
pub(crate) fn of_all(names: &'static [&'static str]) -> BTreeMap<&'static str, &'static str> {
    names.iter().map(|name| (*name, of(name).unwrap_or("unknown"))).collect()
}

/// Returns the version of `name` that this package depends on, or the only one in the lock file.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let direct = package(env!("CARGO_PKG_NAME"))
        .flat_map(|lines| lines.lines())
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\",")?.split_once(' '))
        .find_map(|(dependency, version)| (dependency == name).then_some(version));
    // The lock file has a version at a dependency only if the name alone is ambiguous.
    direct.or_else(|| package(name).find_map(|lines| field(lines, "version")))
}

fn package(name: &str) -> impl Iterator<Item = &'static str> {
    LOCK.split("[[package]]").filter(move |lines| field(lines, "name") == Some(name))
}

fn field<'a>(lines: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"');
    lines.lines().find_map(value)
}

/// Asserts that every crate has a version, and that settings name the version that is built.
#[cfg(test)]
pub(crate) fn assert_fit(subjects: &[crate::protocol::Described]) {
    for subject in subjects {
        for (name, version) in &subject.versions {
            assert!(version.contains('.'), "{name} {version}");
        }
        let Some(rest) = subject.settings.strip_prefix("https://docs.rs/") else { continue };
        let mut parts = rest.split('/');
        let (name, version) = (parts.next().unwrap(), parts.next().unwrap());
        assert_eq!(of(name), Some(version), "{}", subject.settings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_locked_has_no_version() {
        assert!(of("serde").is_some_and(|version| version.starts_with("1.")));
        assert_eq!(of("no-such-crate"), None);
    }
}
