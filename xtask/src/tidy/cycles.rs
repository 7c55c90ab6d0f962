//! Modules of a crate do not use each other in a cycle, and neither do folders: a module counts
//! for each folder in which it lies. A cycle of folders without a cycle of modules comes from a
//! file that lies in the wrong folder.
//!
//! The use of an ancestor does not count: a module may use items that its parent shares with all
//! children. A name that a module only re-exports counts as a use of the module that defines it.
//! Names that a `*` re-exports are not followed.

mod uses;

use std::collections::{BTreeMap, BTreeSet};

use self::uses::{Path, Uses};
use super::{Finding, Outcome};
use crate::source;
use crate::tree::Tree;

/// Largest number of re-exports that are followed from one name; a longer chain can only be a
/// cycle.
const MAX_REEXPORTS: usize = 16;

/// For each module the modules that it uses, without its ancestors.
type Graph = BTreeMap<Path, BTreeSet<Path>>;

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    let crates = tree.folders_in("crates");
    let folders = crates.iter().map(|name| format!("crates/{name}/src"));
    for folder in folders.chain(["xtask/src".to_owned()]) {
        let graph = Crate::read(tree, &folder).graph();
        let of_modules = cycles(&graph);
        for cycle in &of_modules {
            findings.push(Finding::of(&folder, describe(cycle, &graph)));
        }
        for cycle in cycles(&folders_of(&graph)) {
            let is_known = |of_modules: &BTreeSet<Path>| {
                cycle.iter().all(|it| of_modules.iter().any(|module| module.starts_with(it)))
            };
            if !of_modules.iter().any(is_known) {
                findings.push(Finding::of(&folder, describe_folders(&cycle, &graph)));
            }
        }
    }
    findings.into()
}

/// Describes a cycle of modules, each with the modules of the cycle that it uses.
fn describe(cycle: &BTreeSet<Path>, graph: &Graph) -> String {
    let uses = |module: &Path| {
        let used: Vec<String> =
            graph[module].intersection(cycle).map(|used| used.join("::")).collect();
        format!("{} uses {}", module.join("::"), used.join(", "))
    };
    let lines: Vec<String> = cycle.iter().map(uses).collect();
    format!("{} modules in a cycle: {}", cycle.len(), lines.join("; "))
}

/// Describes the uses that form a cycle of folders.
fn describe_folders(cycle: &BTreeSet<Path>, graph: &Graph) -> String {
    let uses = graph.iter().flat_map(|(from, used)| used.iter().map(move |to| (from, to)));
    let lines: Vec<String> = uses
        .filter(|(from, to)| {
            siblings(from, to).is_some_and(|(from, to)| cycle.contains(from) && cycle.contains(to))
        })
        .map(|(from, to)| format!("{} uses {}", from.join("::"), to.join("::")))
        .collect();
    format!("{} folders in a cycle: {}", cycle.len(), lines.join("; "))
}

/// Returns the uses between folders that have the same parent, and between modules beside them.
fn folders_of(graph: &Graph) -> Graph {
    let mut folders = Graph::new();
    for (from, used) in graph {
        for (from, to) in used.iter().filter_map(|to| siblings(from, to)) {
            folders.entry(to.to_vec()).or_default();
            folders.entry(from.to_vec()).or_default().insert(to.to_vec());
        }
    }
    folders
}

/// Returns the two folders or modules with the same parent in which two modules lie. Returns `None`
/// if one module lies in the other.
fn siblings<'p>(from: &'p [String], to: &'p [String]) -> Option<(&'p [String], &'p [String])> {
    let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    Some((from.get(..=shared)?, to.get(..=shared)?))
}

/// Modules of a crate, each with the paths in its code.
struct Crate(BTreeMap<Path, Uses>);

/// The module that a path leads to.
struct Target {
    module: Path,
    /// True if the path names an item of the module, not the module itself.
    is_item: bool,
}

impl Crate {
    fn read(tree: &Tree, folder: &str) -> Self {
        let own = |path: &str| module(path.strip_prefix(folder)?.strip_prefix('/')?);
        let mut modules = BTreeMap::<Path, Uses>::new();
        for file in tree.rust().filter(|file| !source::is_test_file(&file.path)) {
            if let Some(path) = own(&file.path) {
                modules.insert(path, Uses::read(&source::product_code(&file.text)));
            }
        }
        Self(modules)
    }

    fn graph(&self) -> Graph {
        let used = |(module, uses): (&Path, &Uses)| {
            let targets = uses.paths.iter().flat_map(|path| self.resolve(module, path, 0));
            let used = targets.map(|target| target.module).filter(|used| !module.starts_with(used));
            (module.clone(), used.collect())
        };
        self.0.iter().map(used).collect()
    }

    /// Follows a path that is written in `module`. Returns no target if it leaves the crate.
    fn resolve(&self, module: &Path, path: &[String], reexports: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        match first.as_str() {
            "crate" => self.descend(Path::new(), rest, reexports),
            "self" => self.descend(module.clone(), rest, reexports),
            "super" => {
                let supers = path.iter().take_while(|word| *word == "super").count();
                let Some(depth) = module.len().checked_sub(supers) else { return Vec::new() };
                self.descend(module[..depth].to_vec(), &path[supers..], reexports)
            }
            _ => self.member(module, first, rest, reexports).unwrap_or_default(),
        }
    }

    /// Follows `path` from the module `at`.
    fn descend(&self, at: Path, path: &[String], reexports: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return vec![Target { module: at, is_item: false }];
        };
        let targets = self.member(&at, first, rest, reexports);
        targets.unwrap_or_else(|| vec![Target { module: at, is_item: true }])
    }

    /// Follows `rest` from the child or import `name` of the module `at`. Returns `None` if `at`
    /// has neither, or if the import leads to another crate.
    fn member(
        &self,
        at: &Path,
        name: &str,
        rest: &[String],
        reexports: usize,
    ) -> Option<Vec<Target>> {
        let child = [at.as_slice(), &[name.to_owned()]].concat();
        if self.0.contains_key(&child) {
            return Some(self.descend(child, rest, reexports));
        }
        if reexports == MAX_REEXPORTS {
            return None;
        }
        let imports = self.0.get(at)?.imports.get(name)?;
        let targets = imports.iter().flat_map(|path| self.resolve(at, path, reexports + 1));
        let targets: Vec<Target> = targets
            .flat_map(|target| match target.is_item {
                true => vec![target],
                false => self.descend(target.module, rest, reexports + 1),
            })
            .collect();
        (!targets.is_empty()).then_some(targets)
    }
}

/// Returns the module of a file below `src`.
fn module(file: &str) -> Option<Path> {
    let path = file.strip_suffix(".rs")?;
    match path {
        "lib" | "main" => Some(Vec::new()),
        _ => Some(path.split('/').map(str::to_owned).collect()),
    }
}

/// Returns the sets of two or more modules each of which leads to every other one.
fn cycles(graph: &Graph) -> Vec<BTreeSet<Path>> {
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let mut left: BTreeSet<&Path> = graph.keys().collect();
    let mut cycles = Vec::new();
    while let Some(from) = left.pop_first() {
        let both =
            |other: &&&Path| reached[from].contains(**other) && reached[**other].contains(from);
        let mut cycle: BTreeSet<Path> =
            left.iter().filter(both).map(|path| (*path).clone()).collect();
        if cycle.is_empty() {
            continue;
        }
        left.retain(|path| !cycle.contains(*path));
        cycle.insert(from.clone());
        cycles.push(cycle);
    }
    cycles
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

    fn found(list: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            list.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        run(check, &files)
    }

    #[test]
    fn a_cycle_is_found_through_groups_and_supers() {
        let list = [
            ("lib.rs", "mod b;\nmod c;\nmod d;\n"),
            ("b.rs", "use crate::{c::{self, X}, Root};\n"),
            ("c.rs", "fn f() { super::d::g(); }\n"),
            ("d.rs", "mod e;\n"),
            ("d/e.rs", "use crate::b::B;\n"),
        ];
        let of_folders = "crates/a/src: 3 folders in a cycle: b uses c; c uses d; d::e uses b";
        assert_eq!(found(&list), [of_folders], "d does not use its child");
        let list = [list[0], list[1], list[2], ("d.rs", "mod e;\nuse self::e::E;\n"), list[4]];
        let cycle =
            "crates/a/src: 4 modules in a cycle: b uses c; c uses d; d uses d::e; d::e uses b";
        assert_eq!(found(&list), [cycle]);
    }

    #[test]
    fn a_child_is_a_use_without_self() {
        let cycle = "crates/a/src: 3 modules in a cycle: b uses b::c; b::c uses d; d uses b";
        for parent in ["mod c;\nuse c::C;\n", "mod c;\nfn f() -> c::C { todo() }\n"] {
            let list = [
                ("lib.rs", "mod b;\nmod d;\n"),
                ("b.rs", parent),
                ("b/c.rs", "use crate::d::D;\n"),
                ("d.rs", "use crate::b::B;\n"),
            ];
            assert_eq!(found(&list), [cycle]);
        }
    }

    #[test]
    fn a_reexport_is_a_use_of_what_defines_the_name() {
        let cycle = "crates/a/src: 2 modules in a cycle: b::c uses b::e; b::e uses b::c";
        for (parent, used) in [
            ("mod c;\nmod e;\npub use c::C;\n", "use super::C;\n"),
            ("mod c;\nmod e;\npub use c::C as D;\n", "use crate::b::{D, X};\n"),
            ("mod c;\nmod e;\n", "use crate::C;\n"),
            ("mod c;\nmod e;\n", "use super::c;\nfn f() { c::g() }\n"),
        ] {
            let list = [
                ("lib.rs", "mod b;\nuse b::c::C;\n"),
                ("b.rs", parent),
                ("b/c.rs", "fn f() { super::e::g() }\n"),
                ("b/e.rs", used),
            ];
            assert_eq!(found(&list), [cycle], "{used}");
        }
    }

    #[test]
    fn a_file_in_the_wrong_folder_is_found() {
        let list = [
            ("lib.rs", "mod b;\nmod c;\n"),
            ("b.rs", "mod d;\nmod e;\n"),
            ("b/d.rs", "use crate::c::C;\n"),
            ("b/e.rs", "pub struct E;\n"),
            ("c.rs", "use crate::b::e::E;\npub struct C;\n"),
        ];
        let cycle = "crates/a/src: 2 folders in a cycle: b::d uses c; c uses b::e";
        assert_eq!(found(&list), [cycle]);
        let list = [list[0], list[1], list[2], list[3], ("c.rs", "pub struct C;\n")];
        assert_eq!(found(&list), [""; 0]);
    }

    #[test]
    fn names_of_other_crates_and_of_items_lead_nowhere() {
        let list = [
            ("lib.rs", "mod b;\nmod c;\n"),
            ("b.rs", "use crate::c::C;\nuse x::x;\nfn f() { x::y(); C::g(); }\n"),
            ("c.rs", "use crate::d::g;\npub struct C;\n"),
            ("d.rs", "mod b;\n"),
            ("d/b.rs", "use b::X;\n"),
        ];
        assert_eq!(found(&list), [""; 0]);
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
}
