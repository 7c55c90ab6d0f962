//! A relative link in a document must lead to an existing file or folder.

use super::{Finding, Outcome};
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in links(&file.text) {
            if !leads_somewhere(tree, folder, target) {
                let message = format!("'{target}' leads nowhere");
                findings.push(Finding::at(&file.path, line, message));
            }
        }
    }
    findings.into()
}

/// Returns the targets of `[text](target)` and `[label]: target`, each with its line.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        // Every second piece is between backticks.
        for prose in line.split('`').step_by(2) {
            let inline = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            links.extend(inline.map(|target| (index + 1, target)));
        }
        let is_definition = line.starts_with('[') && !line.starts_with("[^");
        if let Some((_, target)) = line.split_once("]: ").filter(|_| is_definition) {
            links.push((index + 1, target));
        }
    }
    links
}

fn leads_somewhere(tree: &Tree, folder: &str, target: &str) -> bool {
    // Removes a title after the target, angle brackets around it, and a fragment.
    let target = target.split(' ').next().unwrap_or(target).trim_matches(['<', '>']);
    let path = target.split('#').next().unwrap_or(target);
    // A link to another site, or to a heading of the same file.
    if path.is_empty() || path.contains(':') {
        return true;
    }
    let Some(path) = resolve(folder, path) else { return false };
    path.is_empty() || tree.file(&path).is_some() || tree.folders.binary_search(&path).is_ok()
}

/// Returns the path from the root; `None` if it leaves the root or is absolute.
fn resolve(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "[a](../README.md#top) [b](spec/) [c](https://example.org/x) [d](#here)\n\
            `[e](code)`\n```\n[f](block)\n```\n\n[g]: spec/x.md \"title\"\n[^1]: a note\n";
        let files = [("docs/a.md", text), ("README.md", "[h](docs)\n"), ("docs/spec/x.md", "")];
        assert_eq!(run(check, &files), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text = "x\n[a](gone.md) [b](../../out.md)\n[c]: gone/x.md\n[d](/README.md)\n";
        assert_eq!(
            run(check, &[("docs/a.md", text), ("README.md", "")]),
            [
                "docs/a.md:2: 'gone.md' leads nowhere",
                "docs/a.md:2: '../../out.md' leads nowhere",
                "docs/a.md:3: 'gone/x.md' leads nowhere",
                "docs/a.md:4: '/README.md' leads nowhere",
            ]
        );
    }
}
