//! Configuration of the program: `config.toml` in the user's configuration folder.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::failure::{Failure, Kind};

/// Entries of the configuration file. Relative paths are resolved against its folder.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub(crate) home: Option<PathBuf>,
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Command that prints the passphrase. It is not used if there is a file.
    pub(crate) passphrase_command: Option<String>,
    pub(crate) s3_config: Option<PathBuf>,
}

/// Returns endseal's configuration folder, by the XDG Base Directory Specification.
pub(crate) fn folder(environment: fn(&'static str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    base.map(|base| base.join("endseal"))
}

/// Returns the path of the configuration file, which need not exist.
pub(crate) fn file(environment: fn(&'static str) -> Option<OsString>) -> Option<PathBuf> {
    Some(folder(environment)?.join("config.toml"))
}

impl Config {
    /// Reads the file. Without a file, all entries are unset.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a regular file, is not TOML, or has an unknown
    /// entry.
    pub(crate) fn load(environment: fn(&'static str) -> Option<OsString>) -> Result<Self, Failure> {
        let Some(file) = file(environment) else { return Ok(Self::default()) };
        // Reading a pipe would wait for a writer.
        if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let what = format!("'{}' is not a regular file", file.display());
            return Err(Failure::new(Kind::Configuration, what));
        }
        let folder = file.parent().unwrap_or(Path::new("."));
        match fs::read_to_string(&file) {
            Ok(text) => Self::parse(&text, folder).map_err(|cause| {
                let what = format!("'{}' is not a configuration", file.display());
                Failure::new(Kind::Configuration, what).because_text(cause).hint(
                    "entries are: home, passphrase_file, passphrase_command, and config in [s3]",
                )
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => {
                let what = format!("cannot read '{}'", file.display());
                Err(Failure::new(Kind::Configuration, what).because(&error))
            }
        }
    }

    fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let table: Table = toml::from_str(text).map_err(|error| {
            let start = error.span().unwrap_or_default().start;
            let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
            format!("line {line}: {}", error.message())
        })?;
        let mut config = Self::default();
        for (key, value) in entries(&table) {
            let text = value.as_str().ok_or_else(|| format!("'{key}' is not text"));
            let path = || text.clone().map(|path| Some(folder.join(path)));
            match key.as_str() {
                "home" => config.home = path()?,
                "passphrase_file" => config.passphrase_file = path()?,
                "passphrase_command" => config.passphrase_command = Some(text?.to_owned()),
                "s3.config" => config.s3_config = path()?,
                _ => return Err(format!("there is no entry '{key}'")),
            }
        }
        Ok(config)
    }
}

/// Returns all values, with dots between the names of tables and keys.
fn entries(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if key == "s3" => {
                found.extend(inner.iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => found.push((key.clone(), value)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_count_from_the_folder_of_the_file() {
        let text = "home = \"state\"\n[s3]\nconfig = \"/etc/s3.toml\"\n";
        let config = Config::parse(text, Path::new("/c/endseal")).unwrap();
        assert_eq!(config.home.unwrap(), Path::new("/c/endseal/state"));
        assert_eq!(config.s3_config.unwrap(), Path::new("/etc/s3.toml"));
        assert!(config.passphrase_file.is_none());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, cause) in [
            ("hom = \"x\"", "there is no entry 'hom'"),
            ("[s3]\nconf = \"x\"", "there is no entry 's3.conf'"),
            ("[s4]\nconfig = \"x\"", "there is no entry 's4'"),
            ("home = 7", "'home' is not text"),
            ("\nhome", "line 2: "),
        ] {
            let error = Config::parse(text, Path::new("/c")).unwrap_err();
            assert!(error.contains(cause), "{text}: {error}");
        }
    }

    #[test]
    fn a_relative_folder_of_configurations_is_ignored() {
        assert_eq!(folder(|name| (name == "XDG_CONFIG_HOME").then(|| "x".into())), None);
        let home = folder(|name| (name == "HOME").then(|| "/h".into()));
        assert_eq!(home.unwrap(), Path::new("/h/.config/endseal"));
        let both = folder(|name| Some(format!("/{name}").into()));
        assert_eq!(both.unwrap(), Path::new("/XDG_CONFIG_HOME/endseal"));
    }
}
