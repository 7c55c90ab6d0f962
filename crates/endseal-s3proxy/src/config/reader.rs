//! Tables of TOML, entry by entry, so that what nobody asked for is an error.

use core::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Table, TableLike, TomlError, Value};

use crate::access::SecretAccessKey;

/// A configuration that makes no sense, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    entry: String,
    message: String,
}

impl ConfigError {
    pub(super) fn of(entry: impl Into<String>, message: impl Into<String>) -> Self {
        Self { entry: entry.into(), message: message.into() }
    }

    /// The entry that is wrong; empty if the file is no TOML.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entry.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.entry, self.message)
        }
    }
}

impl core::error::Error for ConfigError {}

/// The place and nothing of the text: the parser's own words show the line, in which there may be a secret.
fn not_toml(text: &str, error: &TomlError) -> ConfigError {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    ConfigError::of("", format!("no TOML at line {line}, column {column}"))
}

/// A table of which entries are taken until none is left.
pub(super) struct Reader {
    name: String,
    folder: PathBuf,
    table: Table,
}

impl Reader {
    pub(super) fn document(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let document: Document<&str> =
            Document::parse(text).map_err(|error| not_toml(text, &error))?;
        let table = document.as_table().clone();
        Ok(Self { name: String::new(), folder: folder.to_owned(), table })
    }

    fn entry(&self, name: &str) -> String {
        if self.name.is_empty() { name.to_owned() } else { format!("{}.{name}", self.name) }
    }

    fn of(&self, name: &str, table: &dyn TableLike) -> Self {
        let table = table.iter().map(|(key, item)| (key.to_owned(), item.clone())).collect();
        Self { name: self.entry(name), folder: self.folder.clone(), table }
    }

    fn take<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(item) = self.table.remove(name) else { return Ok(None) };
        let value = item.as_value().and_then(read);
        let value = value
            .ok_or_else(|| ConfigError::of(self.entry(name), format!("expected {expected}")))?;
        Ok(Some(value))
    }

    pub(super) fn string(&mut self, name: &str) -> Result<Option<String>, ConfigError> {
        self.take(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn required(&mut self, name: &str) -> Result<String, ConfigError> {
        self.string(name)?.ok_or_else(|| ConfigError::of(self.entry(name), "is missing"))
    }

    pub(super) fn integer(&mut self, name: &str) -> Result<Option<i64>, ConfigError> {
        self.take(name, "an integer", Value::as_integer)
    }

    pub(super) fn boolean(&mut self, name: &str) -> Result<Option<bool>, ConfigError> {
        self.take(name, "true or false", Value::as_bool)
    }

    pub(super) fn strings(&mut self, name: &str) -> Result<Vec<String>, ConfigError> {
        let strings = self.take(name, "a list of strings", |value| {
            value.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        })?;
        Ok(strings.unwrap_or_default())
    }

    pub(super) fn optional_path(&mut self, name: &str) -> Result<Option<PathBuf>, ConfigError> {
        Ok(self.string(name)?.map(|path| self.folder.join(path)))
    }

    pub(super) fn path(&mut self, name: &str) -> Result<PathBuf, ConfigError> {
        self.optional_path(name)?.ok_or_else(|| ConfigError::of(self.entry(name), "is missing"))
    }

    pub(super) fn paths(&mut self, name: &str) -> Result<Vec<PathBuf>, ConfigError> {
        Ok(self.strings(name)?.iter().map(|path| self.folder.join(path)).collect())
    }

    /// A secret: as it stands, or the first line of a file.
    pub(super) fn secret(
        &mut self,
        name: &str,
        file: &str,
    ) -> Result<Option<SecretAccessKey>, ConfigError> {
        match (self.string(name)?, self.optional_path(file)?) {
            (Some(_), Some(_)) => {
                Err(ConfigError::of(self.entry(file), format!("excludes {name}")))
            }
            (Some(secret), None) => Ok(Some(SecretAccessKey::new(secret))),
            (None, Some(path)) => {
                let text = fs::read_to_string(&path).map_err(|error| {
                    let message = format!("cannot read {}: {error}", path.display());
                    ConfigError::of(self.entry(file), message)
                })?;
                let line = text.lines().next().unwrap_or("").to_owned();
                if line.is_empty() {
                    return Err(ConfigError::of(self.entry(file), "its first line is empty"));
                }
                Ok(Some(SecretAccessKey::new(line)))
            }
            (None, None) => Ok(None),
        }
    }

    pub(super) fn optional_table(&mut self, name: &str) -> Result<Option<Self>, ConfigError> {
        let Some(item) = self.table.remove(name) else { return Ok(None) };
        let table = item
            .as_table_like()
            .ok_or_else(|| ConfigError::of(self.entry(name), "expected a table"))?;
        Ok(Some(self.of(name, table)))
    }

    pub(super) fn table(&mut self, name: &str) -> Result<Self, ConfigError> {
        let table = self.optional_table(name)?;
        Ok(table.unwrap_or_else(|| self.of(name, &Table::new())))
    }

    pub(super) fn tables(&mut self, name: &str) -> Result<Vec<Self>, ConfigError> {
        let Some(item) = self.table.remove(name) else { return Ok(Vec::new()) };
        let tables = match &item {
            Item::ArrayOfTables(tables) => {
                tables.iter().map(|table| self.of(name, table)).collect()
            }
            _ => return Err(ConfigError::of(self.entry(name), format!("expected [[{name}]]"))),
        };
        Ok(tables)
    }

    /// Refuses what is left.
    pub(super) fn finish(&self) -> Result<(), ConfigError> {
        match self.table.iter().next() {
            Some((name, _)) => Err(ConfigError::of(self.entry(name), "is no entry that exists")),
            None => Ok(()),
        }
    }
}
