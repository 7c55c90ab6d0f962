//! Versions of crates, from the lock file that this program was built with.

const LOCK: &str = include_str!("../Cargo.lock");

/// The version of `name` that this package depends on, or the only one in the lock file.
pub(crate) fn of(name: &str) -> Option<&'static str> {
    let direct = package(env!("CARGO_PKG_NAME"))
        .flat_map(|lines| lines.lines())
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\",")?.split_once(' '))
        .find_map(|(dependency, version)| (dependency == name).then_some(version));
    // Dependencies have a version there only where the name alone is not clear.
    direct.or_else(|| package(name).find_map(|lines| field(lines, "version")))
}

fn package(name: &str) -> impl Iterator<Item = &'static str> {
    LOCK.split("[[package]]").filter(move |lines| field(lines, "name") == Some(name))
}

fn field<'a>(lines: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"');
    lines.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{SUBJECTS, codec, transport};

    #[test]
    fn every_crate_of_a_subject_has_a_version() {
        let envelope = SUBJECTS.iter().flat_map(|subject| subject.crates);
        let codec = codec::SUBJECTS.iter().flat_map(|subject| subject.crates);
        let transport = transport::SUBJECTS.iter().flat_map(|subject| subject.crates);
        for name in envelope.chain(codec).chain(transport) {
            assert!(of(name).is_some_and(|version| version.contains('.')), "{name}");
        }
    }

    #[test]
    fn the_direct_dependency_is_meant() {
        assert!(of("curve25519-dalek").is_some_and(|version| version.starts_with("5.")));
        assert_eq!(of("no-such-crate"), None);
    }

    #[test]
    fn settings_name_the_version_that_is_built() {
        let envelope = SUBJECTS.iter().map(|subject| subject.settings);
        let codec = codec::SUBJECTS.iter().map(|subject| subject.settings);
        let transport = transport::SUBJECTS.iter().map(|subject| subject.settings);
        for settings in envelope.chain(codec).chain(transport) {
            let Some(rest) = settings.strip_prefix("https://docs.rs/") else { continue };
            let mut parts = rest.split('/');
            let (name, version) = (parts.next().unwrap(), parts.next().unwrap());
            assert_eq!(of(name), Some(version), "{settings}");
        }
    }
}
