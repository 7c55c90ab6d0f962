//! Modules of a crate do not use each other in a circle.
//!
//! A module that names its ancestor does not count: it takes what the ancestor shares with its children.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Outcome};
use crate::source;
use crate::tree::Tree;

/// Modules in the largest circle of crates that are still to be cleaned. Numbers only shrink.
const ALLOWED: &[(&str, usize)] = &[
    ("endseal-cli", 2),
    ("endseal-codec", 2),
    ("endseal-crypto", 3),
    ("endseal-node", 4),
    ("endseal-session", 13),
    ("endseal-store", 8),
    ("endseal-transport", 3),
];

type Path = Vec<String>;
type Graph = BTreeMap<Path, BTreeSet<Path>>;

pub(super) fn check(tree: &Tree) -> Outcome {
    check_with(tree, ALLOWED)
}

fn check_with(tree: &Tree, allowed: &[(&str, usize)]) -> Outcome {
    let mut outcome = Outcome::default();
    for name in tree.folders_in("crates") {
        let folder = format!("crates/{name}/src");
        let graph = graph(tree, &folder);
        let largest = circles(&graph).into_iter().max_by_key(Vec::len).unwrap_or_default();
        let limit = allowed.iter().find(|(known, _)| *known == name).map_or(1, |(_, limit)| *limit);
        if largest.len() > limit {
            let names: Vec<String> = largest.iter().map(|path| path.join("::")).collect();
            let message = format!("{} modules in a circle: {}", names.len(), names.join(", "));
            outcome.findings.push(Finding::of(&folder, message));
        } else if largest.len().max(1) < limit {
            let message =
                format!("its circle has {} modules: lower the limit of {limit}", largest.len());
            outcome.findings.push(Finding::of(&folder, message));
        } else if limit > 1 {
            outcome.notes.push(format!("{name}: {limit} modules in a circle"));
        }
    }
    outcome
}

/// The modules of a crate, each with those that it uses.
fn graph(tree: &Tree, folder: &str) -> Graph {
    let own = |path: &str| module(path.strip_prefix(folder)?.strip_prefix('/')?);
    let files: Vec<(Path, &str)> = tree
        .rust()
        .filter(|file| !source::is_test_file(&file.path))
        .filter_map(|file| Some((own(&file.path)?, file.text.as_str())))
        .collect();
    let known: BTreeSet<Path> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut graph = Graph::new();
    for (module, text) in files {
        let code = source::product_code(text);
        let uses = paths(&code).into_iter().filter_map(|path| resolve(&module, &path, &known));
        let uses = uses.filter(|used| !module.starts_with(used));
        graph.entry(module.clone()).or_default().extend(uses);
    }
    graph
}

/// The module of a file below `src`.
fn module(file: &str) -> Option<Path> {
    let path = file.strip_suffix(".rs")?;
    match path {
        "lib" | "main" => Some(Vec::new()),
        _ => Some(path.split('/').map(str::to_owned).collect()),
    }
}

/// The module that a path leads to, as far as it names modules.
fn resolve(module: &[String], path: &[String], known: &BTreeSet<Path>) -> Option<Path> {
    let mut at = module.to_vec();
    let mut rest = path.iter();
    let mut rest = match rest.next()?.as_str() {
        "crate" => {
            at.clear();
            rest
        }
        "super" => {
            at.pop()?;
            rest
        }
        _ => rest,
    }
    .peekable();
    while rest.next_if(|word| *word == "super").is_some() {
        at.pop()?;
    }
    for word in rest {
        at.push(word.clone());
        if !known.contains(&at) {
            at.pop();
            break;
        }
    }
    Some(at)
}

/// Every path that begins with `crate`, `super` or `self`, of groups each of their paths.
fn paths(code: &str) -> Vec<Path> {
    let words = words(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let begins = matches!(words[at], "crate" | "super" | "self")
            && (at == 0 || words[at - 1] != "::")
            && words.get(at + 1) == Some(&"::");
        if begins {
            at = path(&words, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads the path at `at` behind `before`. Returns where it ends.
fn path(words: &[&str], mut at: usize, before: &[String], found: &mut Vec<Path>) -> usize {
    let mut own = before.to_vec();
    while let Some(&word) = words.get(at) {
        if word == "{" {
            at += 1;
            while let Some(&word) = words.get(at) {
                match word {
                    "}" => return at + 1,
                    "," => at += 1,
                    _ => at = path(words, at, &own, found).max(at + 1),
                }
            }
            return at;
        }
        if !word.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            break;
        }
        own.push(word.to_owned());
        at += 1;
        if words.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    found.push(own);
    at
}

/// Names, `::` and single characters.
fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let len = if is_name(first) {
            rest.find(|c: char| !is_name(c)).unwrap_or(rest.len())
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

/// Sets of modules each of which leads to each other one, of two or more.
fn circles(graph: &Graph) -> Vec<Vec<Path>> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let mut left: BTreeSet<&Path> = graph.keys().collect();
    let mut circles = Vec::new();
    while let Some(from) = left.pop_first() {
        let both =
            |other: &&&Path| reached[from].contains(**other) && reached[**other].contains(from);
        let mut circle: Vec<Path> = left.iter().filter(both).map(|path| (*path).clone()).collect();
        if circle.is_empty() {
            continue;
        }
        left.retain(|path| !circle.contains(path));
        circle.insert(0, from.clone());
        circles.push(circle);
    }
    circles
}

fn reachable<'g>(graph: &'g Graph, from: &Path) -> BTreeSet<&'g Path> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Path> = graph.get(from).into_iter().flatten().collect();
    while let Some(path) = waiting.pop() {
        if let Some((path, uses)) = graph.get_key_value(path)
            && reached.insert(path)
        {
            waiting.extend(uses);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::scratch::Scratch;

    fn files<'a>(list: &[(&'a str, &'a str)]) -> Vec<(String, &'a str)> {
        list.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect()
    }

    fn found(list: &[(&str, &str)]) -> Vec<String> {
        let files = files(list);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        run(check, &files)
    }

    #[test]
    fn a_circle_is_found_through_groups_and_supers() {
        let list = [
            ("lib.rs", "mod b;\nmod c;\nmod d;\n"),
            ("b.rs", "use crate::{c::{self, X}, Root};\n"),
            ("c.rs", "fn f() { super::d::g(); }\n"),
            ("d.rs", "mod e;\n"),
            ("d/e.rs", "use crate::b::B;\n"),
        ];
        assert_eq!(found(&list), [""; 0], "d does not use its child");
        let list = [list[0], list[1], list[2], ("d.rs", "mod e;\nuse self::e::E;\n"), list[4]];
        assert_eq!(found(&list), ["crates/a/src: 4 modules in a circle: b, c, d, d::e"]);
    }

    #[test]
    fn ancestors_tests_and_comments_do_not_count() {
        let list = [
            ("lib.rs", "mod b;\nuse b::B;\n"),
            ("b.rs", "mod c;\nuse crate::Root;\npub use self::c::C;\n"),
            (
                "b/c.rs",
                "use super::D;\n// crate::e::E\n#[cfg(test)]\nmod tests { use crate::e::E; }\n",
            ),
            ("e.rs", "use crate::b::c::C;\n"),
        ];
        assert_eq!(found(&list), [""; 0]);
    }

    #[test]
    fn limits_only_shrink() {
        let list = files(&[("b.rs", "use crate::c::C;\n"), ("c.rs", "use crate::b::B;\n")]);
        let list: Vec<(&str, &str)> =
            list.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let scratch = Scratch::with(&list);
        let tree = Tree::read(scratch.path()).unwrap();
        let told = |limit| {
            let outcome = check_with(&tree, &[("a", limit)]);
            outcome.findings.iter().map(Finding::to_string).collect::<Vec<_>>()
        };
        assert_eq!(told(2), [""; 0]);
        assert_eq!(told(3), ["crates/a/src: its circle has 2 modules: lower the limit of 3"]);
        assert_eq!(told(1), ["crates/a/src: 2 modules in a circle: b, c"]);
    }
}
