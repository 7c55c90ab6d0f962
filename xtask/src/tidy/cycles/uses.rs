//! Paths in the code of a module: those of its `use` items, with the names that they bind, and all
//! others.

use std::collections::BTreeMap;

/// Segments of a path, in order.
pub(super) type Path = Vec<String>;

/// Paths that one module contains, as they are written.
#[derive(Default)]
pub(super) struct Uses {
    /// Every path of two or more segments, and every path of a `use` item.
    pub(super) paths: Vec<Path>,
    /// For each name that a `use` item binds, its paths. There are several if conditional
    /// compilation selects one.
    pub(super) imports: BTreeMap<String, Vec<Path>>,
}

impl Uses {
    /// Reads code whose comments and literals have been blanked out.
    pub(super) fn read(code: &str) -> Self {
        let words = words(code);
        let mut uses = Self::default();
        let mut at = 0;
        while at < words.len() {
            let next = words.get(at + 1).copied();
            at = if words[at] == "use" && next != Some("<") {
                uses.read_tree(&words, at + 1, &[])
            } else if is_name(words[at]) && next == Some("::") && (at == 0 || words[at - 1] != "::")
            {
                let (path, end) = path(&words, at);
                uses.paths.push(path);
                end
            } else {
                at + 1
            };
        }
        uses
    }

    /// Reads the tree of a `use` item at `at`, which follows the segments `before`. Returns its
    /// end.
    fn read_tree(&mut self, words: &[&str], at: usize, before: &[String]) -> usize {
        let (own, mut at) = path(words, at);
        let full = [before, &own].concat();
        match words.get(at).copied() {
            Some("{") => {
                at += 1;
                while let Some(&word) = words.get(at) {
                    match word {
                        "}" => return at + 1,
                        "," => at += 1,
                        _ => at = self.read_tree(words, at, &full).max(at + 1),
                    }
                }
                return at;
            }
            Some("*") => {
                self.paths.push(full);
                return at + 1;
            }
            _ => {}
        }
        // `self` in a group means the module before the group.
        let full = match full.split_last() {
            Some((last, module)) if last == "self" && !module.is_empty() => module.to_vec(),
            _ => full,
        };
        let mut bound = full.last().cloned();
        if words.get(at) == Some(&"as") {
            bound = words.get(at + 1).map(|name| (*name).to_owned());
            at += 2;
        }
        if let Some(name) = bound {
            self.imports.entry(name).or_default().push(full.clone());
            self.paths.push(full);
        }
        at
    }
}

/// Returns the path whose first segment is at `at`, and the positions after it and after its last
/// `::`.
fn path(words: &[&str], mut at: usize) -> (Path, usize) {
    let mut path = Path::new();
    if words.get(at) == Some(&"::") {
        // A path that starts with `::`: it gets an empty first segment, which no module has.
        path.push(String::new());
        at += 1;
    }
    while let Some(word) = words.get(at).filter(|word| is_name(word)) {
        path.push((*word).to_owned());
        at += 1;
        if words.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    (path, at)
}

/// Splits code into names, `::` and single characters.
fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let len = if is_name_part(first) {
            rest.find(|c: char| !is_name_part(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(len);
        if !first.is_whitespace() {
            words.push(word);
        }
        rest = behind;
    }
    words
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_paths(code: &str, expected: &[&str]) {
        let paths: Vec<String> =
            Uses::read(code).paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, expected, "{code}");
    }

    #[test]
    fn every_path_of_a_group_is_read() {
        assert_paths("use a::{b::{self, C as D}, E, *};", &["a::b", "a::b::C", "a::E", "a"]);
        assert_paths("pub(crate) use a;", &["a"]);
    }

    #[test]
    fn paths_outside_of_imports_have_two_segments() {
        assert_paths(
            "fn f(x: a::B<c::D>) -> e { g::<h::I>(); x.y }",
            &["a::B", "c::D", "g", "h::I"],
        );
        assert_paths("fn f() -> impl use<'a> A { ::std::b() }", &[]);
    }

    #[test]
    fn an_alias_is_the_name_that_an_import_binds() {
        let uses = Uses::read("use a::{b::{self, C as D}, e as _};\nuse f::D;");
        let names: Vec<&str> = uses.imports.keys().map(String::as_str).collect();
        assert_eq!(names, ["D", "_", "b"]);
        assert_eq!(uses.imports["D"], [vec!["a", "b", "C"], vec!["f", "D"]]);
    }
}
