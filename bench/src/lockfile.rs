//! Compares the versions of packages with a peer's lock file.

use std::fs;
use std::path::Path;

/// The lock file of a package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lockfile {
    /// `package-lock.json`, version 2 or 3.
    Npm,
    /// `Cargo.lock`.
    Cargo,
    /// `go.mod`, which has the versions of all modules; `go.sum` has only their hashes.
    Go,
    /// `pom.xml` with exact versions; Maven has no other.
    Maven,
}

impl Lockfile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Npm => "package-lock.json",
            Self::Cargo => "Cargo.lock",
            Self::Go => "go.mod",
            Self::Maven => "pom.xml",
        }
    }

    /// Reads the lock file in a folder.
    ///
    /// # Errors
    /// Fails if the file cannot be read. The error is a text for people.
    pub(crate) fn read(self, folder: &Path) -> Result<String, String> {
        let file = folder.join(self.name());
        fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Returns the versions of a package at the top level of a lock file. The version follows the
    /// name in each format.
    pub(crate) fn versions<'a>(self, text: &'a str, package: &str) -> Vec<&'a str> {
        let (name, before, after) = match self {
            Self::Npm => (format!("\"node_modules/{package}\": {{"), "\"version\": \"", '"'),
            Self::Cargo => (format!("name = \"{package}\"\n"), "version = \"", '"'),
            Self::Go => (format!("{package} "), "", ' '),
            Self::Maven => (format!("<artifactId>{package}</artifactId>"), "<version>", '<'),
        };
        let found = text.match_indices(&name).filter_map(|(at, _)| {
            let line = text[..at].rsplit('\n').next().unwrap_or_default().trim();
            let whole = line.is_empty() || line == "require";
            let rest = text[at + name.len()..].trim_start();
            let version = rest.strip_prefix(before)?.split([after, '\n']).next();
            version.filter(|_| whole)
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_by_package() {
        let cargo = "[[package]]\nname = \"rand\"\nversion = \"0.8.5\"\n\n[[package]]\n\
                     name = \"rand\"\nversion = \"0.9.2\"\n";
        assert_eq!(Lockfile::Cargo.versions(cargo, "rand"), ["0.8.5", "0.9.2"]);
        let npm = "{\n \"node_modules/@noble/curves\": {\n  \"version\": \"1.9.7\",\n },\n \
                   \"node_modules/a/node_modules/@noble/curves\": {\n  \"version\": \"1.2.0\"\n}}";
        assert_eq!(Lockfile::Npm.versions(npm, "@noble/curves"), ["1.9.7"]);
        let go = "require (\n\tgolang.org/x/sys v0.31.0\n\texample.org/a v1.0.0 // indirect\n)\n\n\
                  require lukechampine.com/x v1.2.3\n";
        assert_eq!(Lockfile::Go.versions(go, "golang.org/x/sys"), ["v0.31.0"]);
        assert_eq!(Lockfile::Go.versions(go, "example.org/a"), ["v1.0.0"]);
        assert_eq!(Lockfile::Go.versions(go, "lukechampine.com/x"), ["v1.2.3"]);
        let maven = "  <artifactId>jna</artifactId>\n  <version>5.13.0</version>\n";
        assert_eq!(Lockfile::Maven.versions(maven, "jna"), ["5.13.0"]);
        assert_eq!(Lockfile::Maven.versions(maven, "jn"), [""; 0]);
    }
}
