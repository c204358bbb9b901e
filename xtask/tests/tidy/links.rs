//! Links of documents and of comments: to files, and to headings in them.

use std::collections::HashSet;
use std::path::Path;

use super::{files, none_of, root};

/// A Markdown text without its blocks of code and its code in backticks.
fn without_code(text: &str) -> String {
    let mut fenced = false;
    let mut kept = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence {
            // Every other part lies between backticks. A piece of code that goes on in the next line is rare, and has
            // no link.
            line.split('`').step_by(2).for_each(|part| kept.push_str(part));
        }
        kept.push('\n');
    }
    kept
}

/// Where a text without code links to: `[name](target)`, and `[name]: target` at the start of a line.
fn targets(text: &str) -> Vec<&str> {
    let inline = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let named = text.lines().filter(|line| line.starts_with('[')).filter_map(|line| line.split_once("]: "));
    inline.chain(named.map(|(_, target)| target.trim())).collect()
}

/// The names in `[text][name]` that no line says the target of.
fn unnamed(text: &str) -> Vec<&str> {
    let used = text.split("][").skip(1).filter_map(|rest| rest.split(']').next());
    used.filter(|name| !text.lines().any(|line| line.starts_with(&format!("[{name}]: ")))).collect()
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> HashSet<String> {
    let mut fenced = false;
    let mut found = HashSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if !fenced && heading.len() < line.len() && heading.starts_with(' ') {
            let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let slug = kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase();
            let same = (1..).map(|n| format!("{slug}-{n}"));
            let free = std::iter::once(slug.clone()).chain(same).find(|name| !found.contains(name));
            found.extend(free);
        }
    }
    found
}

/// What is wrong with a link in a file.
fn problem(file: &str, text: &str, link: &str) -> Option<String> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    if link.contains("://") {
        return None;
    }
    let place = root().join(file).parent().unwrap().join(path);
    if !path.is_empty() && !place.exists() {
        return Some(format!("{file}: {link} is not there"));
    }
    let of = if path.is_empty() { Path::new(file) } else { &place };
    let anchor = anchor.filter(|_| of.extension().is_some_and(|e| e == "md"))?;
    let there = if path.is_empty() { anchors(text) } else { anchors(&std::fs::read_to_string(&place).unwrap()) };
    (!there.contains(anchor)).then(|| format!("{file}: {link}: there is no such heading"))
}

/// What is included for `file:anchor` of a line `{{#include file:anchor}}`.
fn included(file: &str, said: &str) -> Option<String> {
    let (path, name) = said.split_once(':').unwrap_or((said, ""));
    let text = std::fs::read_to_string(root().join(file).parent().unwrap().join(path)).ok()?;
    if name.is_empty() {
        return Some(text);
    }
    let (_, rest) = text.split_once(&format!("<!-- ANCHOR: {name} -->"))?;
    Some(rest.split_once(&format!("<!-- ANCHOR_END: {name} -->"))?.0.to_owned())
}

/// What is wrong with lines `{{#include file:anchor}}` of the guide: there is no such text, or it has named links that
/// this page does not say the targets of, or links that lead from where it stands.
fn wrong_includes(file: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for said in text.lines().filter_map(|line| line.strip_prefix("{{#include ")?.strip_suffix("}}")) {
        let Some(part) = included(file, said) else {
            problems.push(format!("{file}: there is no {said} to include"));
            continue;
        };
        let prose = without_code(&part);
        let whole = format!("{}\n{prose}", without_code(text));
        problems
            .extend(unnamed(&whole).iter().map(|name| format!("{file}: nothing says where [{name}] of {said} leads")));
        let relative = targets(&prose).into_iter().filter(|link| !link.contains("://") && !link.starts_with('#'));
        problems.extend(relative.map(|link| format!("{file}: {said} has the link {link}: give it a name")));
    }
    problems
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let mut problems = Vec::new();
    for (path, text) in files("md") {
        let prose = without_code(&text);
        problems.extend(targets(&prose).iter().filter_map(|link| problem(&path, &text, link)));
        problems.extend(unnamed(&prose).iter().map(|name| format!("{path}: nothing says where [{name}] leads")));
        problems.extend(wrong_includes(&path, &text));
    }
    none_of(problems);
}

#[test]
fn links_in_comments_to_files_lead_somewhere() {
    let mut problems = Vec::new();
    for (path, text) in files("rs").iter().filter(|(path, _)| !path.ends_with("tidy/links.rs")) {
        let comments = text.lines().map(str::trim).filter_map(|line| {
            let said = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
            Some(said.trim_start())
        });
        let prose = without_code(&comments.collect::<Vec<_>>().join("\n"));
        let to_files = targets(&prose).into_iter().filter(|link| link.contains('/') || link.ends_with(".md"));
        problems.extend(to_files.filter_map(|link| problem(path, text, link)));
    }
    none_of(problems);
}

#[test]
fn links_and_headings_are_found() {
    let text = "# A `b`, c\n[d](e.md#f) `[g](h)` [i][j]\n```text\n[k](l)\n# m\n```\n## A b c\n[j]: n.md\n";
    let prose = without_code(text);
    assert_eq!(targets(&prose), ["e.md#f", "n.md"]);
    assert_eq!(unnamed(&prose), Vec::<&str>::new());
    assert_eq!(unnamed("[o][p]"), ["p"]);
    let wanted = ["a-b-c", "a-b-c-1"].map(str::to_owned);
    assert_eq!(anchors(text), HashSet::from(wanted));
    assert!(problem("README.md", text, "#a-b-c").is_none() && problem("README.md", text, "#m").is_some());
    assert!(problem("README.md", text, "docs/ENVIRONMENT.md#no-such-heading").is_some());
    assert!(problem("docs/ENVIRONMENT.md", text, "README.md").is_some());
    let include =
        |said: &str| wrong_includes("docs/guide/src/speed.md", &format!("[0028]: a.md\n{{{{#include {said}}}}}"));
    assert_eq!(include("../../KERNELS.md:all"), Vec::<String>::new());
    assert!(include("../../KERNELS.md:none").len() == 1 && include("none.md").len() == 1);
    // Its links lead from the folder that it stands in, and the named ones are for this page to say.
    assert!(include("../../ENVIRONMENT.md:all").iter().any(|problem| problem.contains("[0076]")));
    assert!(include("../../GALLERY.md").iter().any(|problem| problem.contains("give it a name")));
}
