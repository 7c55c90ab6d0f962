//! Reads the versions of packages from a peer's lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

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

/// Versions by package: a lock file may have several of one.
pub(crate) type Versions = BTreeMap<String, BTreeSet<String>>;

impl Lockfile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Npm => "package-lock.json",
            Self::Cargo => "Cargo.lock",
            Self::Go => "go.mod",
            Self::Maven => "pom.xml",
        }
    }

    /// Reads the versions of all packages from the lock file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not of this format. The error is a text for people.
    pub(crate) fn read(self, file: &Path) -> Result<Versions, String> {
        let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
        match self {
            Self::Npm => npm(&text),
            Self::Cargo => Ok(cargo(&text)),
            Self::Go => Ok(go(&text)),
            Self::Maven => Ok(maven(&text)),
        }
    }
}

/// Reads only packages at the top level: a package below another one is a dependency of that one.
fn npm(text: &str) -> Result<Versions, String> {
    let lock: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let packages = lock.get("packages").and_then(Value::as_object).ok_or("it has no packages")?;
    let mut found = Versions::new();
    for (path, package) in packages {
        let name =
            path.strip_prefix("node_modules/").filter(|name| !name.contains("node_modules/"));
        if let (Some(name), Some(version)) = (name, package["version"].as_str()) {
            found.entry(name.to_owned()).or_default().insert(version.to_owned());
        }
    }
    Ok(found)
}

/// Cargo writes `name` and `version` of a package on lines of their own, one after the other.
fn cargo(text: &str) -> Versions {
    let value = |line: &str, key: &str| {
        let quoted = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        quoted.strip_suffix('"').map(str::to_owned)
    };
    pairs(text, |line| value(line, "name"), |line| value(line, "version"))
}

/// Reads the lines of `require` directives: a module's path and its version, with `require` before
/// them if the directive has one line.
fn go(text: &str) -> Versions {
    let mut found = Versions::new();
    for line in text.lines() {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        if let (Some(path), Some(version)) = (words.next(), words.next())
            && version.starts_with('v')
        {
            found.entry(path.to_owned()).or_default().insert(version.to_owned());
        }
    }
    found
}

/// Reads our `pom.xml`, in which `artifactId` and `version` have lines of their own, one after the
/// other. Plug-ins are read as well.
fn maven(text: &str) -> Versions {
    let value = |line: &str, key: &str| {
        let rest = line.trim().strip_prefix('<')?.strip_prefix(key)?.strip_prefix('>')?;
        rest.split_once("</").map(|(value, _)| value.to_owned())
    };
    pairs(text, |line| value(line, "artifactId"), |line| value(line, "version"))
}

/// Pairs each version with the name before it.
fn pairs(
    text: &str,
    name_of: impl Fn(&str) -> Option<String>,
    version_of: impl Fn(&str) -> Option<String>,
) -> Versions {
    let mut found = Versions::new();
    let mut name = None;
    for line in text.lines() {
        name = name_of(line).or(name);
        if let Some(version) = version_of(line)
            && let Some(name) = name.take()
        {
            found.entry(name).or_default().insert(version);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_by_package() {
        let found = cargo(
            "version = 4\n\n[[package]]\nname = \"age\"\nversion = \"0.12.1\"\n\n[[package]]\n\
             name = \"rand\"\nversion = \"0.8.5\"\n\n[[package]]\nname = \"rand\"\n\
             version = \"0.9.2\"\n",
        );
        assert_eq!(found.len(), 2);
        assert!(found["age"].contains("0.12.1") && found["rand"].len() == 2);
        let found = npm(r#"{"packages": {"": {"version": "1.0.0"}, "node_modules/@noble/curves":
                {"version": "1.9.7"}, "node_modules/a/node_modules/@noble/curves":
                {"version": "1.2.0"}}}"#);
        assert_eq!(found.unwrap()["@noble/curves"], BTreeSet::from(["1.9.7".to_owned()]));
        assert!(npm("{}").is_err() && npm("").is_err());
        let found = go(
            "module endseal/peers/go\n\ngo 1.24.1\n\nrequire (\n\tgolang.org/x/sys v0.31.0\n\t\
             github.com/josharian/intern v1.0.0 // indirect\n)\n\nrequire lukechampine.com/x v1.2.3\n",
        );
        assert_eq!(found.len(), 3);
        assert!(found["golang.org/x/sys"].contains("v0.31.0"));
        assert!(found["lukechampine.com/x"].contains("v1.2.3"));
        let found = maven(
            "<artifactId>peer</artifactId>\n<version>0</version>\n  <artifactId>jna</artifactId>\n  \
             <version>5.13.0</version>\n",
        );
        assert_eq!((found.len(), found["jna"].len()), (2, 1));
        assert!(found["jna"].contains("5.13.0") && maven("<version>1").is_empty());
    }
}
