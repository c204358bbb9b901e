//! The layers of the crate `tida`: which of its modules may use which.

use super::{files, none_of};

/// The modules, lowest first. Each may use those before it. (docs/decisions/0046-layers.md)
const LAYERS: &[&str] = &[
    "error",
    "sealed",
    "sync",
    "parallel",
    "variables",
    "bytes",
    "grid",
    "program",
    "backend",
    "device",
    "memory",
    "launch",
    "run",
    "record",
    "ranks",
    "acc",
    "array",
    "tile",
    "compute",
];

/// What stands before the layers: the crate's root, and what macros and their expansions name. They may use all of
/// them, and nothing in the layers names these by their modules.
const DOORS: &[&str] = &["lib", "macros", "__private"];

const SOURCES: &str = "tida/src/";

/// The module of a file, as the names from the crate's root on.
fn module(path: &str) -> Vec<&str> {
    let path = path.trim_start_matches(SOURCES).trim_end_matches(".rs");
    path.trim_end_matches("/mod").split('/').collect()
}

/// The modules of tests alone that a file declares as files of their own.
fn modules_of_tests(path: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let names = declared.filter_map(|pair| pair[1].strip_prefix("mod ")?.strip_suffix(';'));
    names.map(|name| format!("{SOURCES}{}/{name}", module(path).join("/"))).collect()
}

/// The code of a file without comments and tests, line by line as it was.
pub(super) fn shipped(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |n: usize| lines[n] == "#[cfg(test)]" && lines.get(n + 1).is_some_and(|next| next.ends_with('{'));
    let end = (0..lines.len()).find(|n| is_tests(*n)).unwrap_or(lines.len());
    lines[..end].iter().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect()
}

/// The first names of what a path goes on with: one name, or those of a group in braces.
fn first_names(rest: &str) -> Vec<&str> {
    let name = |text: &'_ str| text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let Some(group) = rest.strip_prefix('{') else { return vec![&rest[..name(rest)]] };
    let (mut depth, mut start, mut names) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        let ends = depth == 0 && (c == ',' || c == '}');
        if ends {
            let part = group[start..at].trim_start();
            names.push(&part[..name(part)]);
            start = at + 1;
        }
        match c {
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            '{' => depth += 1,
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What a file uses from the crate's root on: the line, and the name below the root.
fn used<'a>(path: &str, code: &'a str) -> Vec<(usize, &'a str)> {
    let root = "super::".repeat(module(path).len());
    let starts = ["crate::", &root].map(|start| {
        let is_whole = |at: &usize| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
        code.match_indices(start)
            .map(|(at, _)| at)
            .filter(is_whole)
            .map(|at| (at, at + start.len()))
            .collect::<Vec<_>>()
    });
    let names = |(at, end): (usize, usize)| {
        let line = code[..at].matches('\n').count() + 1;
        first_names(&code[end..]).into_iter().map(move |name| (line, name))
    };
    starts.into_iter().flatten().flat_map(names).collect()
}

/// What is wrong with what modules use, in sources of these layers.
fn upward(layers: &[&str], sources: &[(String, String)]) -> Vec<String> {
    let place = |name: &str| layers.iter().position(|layer| *layer == name);
    let tests: Vec<String> = sources.iter().flat_map(|(path, text)| modules_of_tests(path, text)).collect();
    let is_test = |path: &str| {
        tests.iter().any(|test| path.strip_prefix(test).is_some_and(|rest| rest == ".rs" || rest.starts_with('/')))
    };
    let mut problems = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| path.starts_with(SOURCES) && !is_test(path)) {
        let layer = module(path)[0];
        if DOORS.contains(&layer) {
            continue;
        }
        let Some(own) = place(layer) else {
            problems.push(format!("{path}: `{layer}` is no layer: give it a place in `LAYERS` ({})", file!()));
            continue;
        };
        for (line, name) in used(path, &shipped(text)) {
            match place(name) {
                Some(other) if other <= own => {}
                Some(_) => problems.push(format!(
                    "{path}:{line}: the layer `{layer}` uses `crate::{name}`, and the layer `{name}` is above it; move what \
                     is needed down, or hand it in as a value, a trait or a closure (docs/decisions/0046-layers.md)"
                )),
                // What the root alone has is made of all layers: the last one may use it.
                None if own + 1 == layers.len() => {}
                None => problems.push(format!(
                    "{path}:{line}: the layer `{layer}` uses `crate::{name}`, which the root takes from some layer; name it \
                     by the module that it is from"
                )),
            }
        }
    }
    problems
}

#[test]
fn layers_use_those_below_them() {
    none_of(upward(LAYERS, &files("rs")));
}

#[test]
fn every_layer_is_there() {
    let sources = files("rs");
    let has = |layer: &&&str| sources.iter().any(|(path, _)| path.starts_with(SOURCES) && module(path)[0] == **layer);
    let missing = LAYERS.iter().chain(DOORS).filter(|layer| !has(layer));
    none_of(missing.map(|layer| format!("{SOURCES} has no `{layer}`: take it out of the list")).collect());
}

/// The problems of made-up sources in three layers, each a path below the sources and its text.
fn of(sources: &[(&str, &str)]) -> Vec<String> {
    let sources: Vec<_> = sources.iter().map(|(path, text)| (format!("{SOURCES}{path}"), (*text).to_owned())).collect();
    upward(&["low", "middle", "high"], &sources)
}

#[test]
fn what_points_upward_is_refused() {
    let problems = of(&[
        ("low/mod.rs", "mod a;\n"),
        ("low/a.rs", "use std::fmt;\n\nuse crate::middle::Thing;\n"),
        ("middle.rs", "use crate::{\n    low::{x, y},\n    high::z as other,\n};\n"),
        ("low/deep/b.rs", "fn f() {\n    super::super::super::high::go();\n}\n"),
        ("high.rs", "use crate::low::a;\nuse crate::Root;\n"),
    ]);
    let starts = [
        "tida/src/low/a.rs:3: the layer `low` uses `crate::middle`, and the layer `middle` is above it",
        "tida/src/middle.rs:1: the layer `middle` uses `crate::high`, and the layer `high` is above it",
        "tida/src/low/deep/b.rs:2: the layer `low` uses `crate::high`, and the layer `high` is above it",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn a_cycle_is_refused_on_one_side() {
    let problems = of(&[("low.rs", "use crate::middle::A;\n"), ("middle.rs", "use crate::low::B;\n")]);
    assert!(matches!(&problems[..], [one] if one.starts_with("tida/src/low.rs:1:")), "{problems:?}");
}

#[test]
fn names_of_the_root_and_modules_without_a_place_are_refused() {
    let problems = of(&[("low.rs", "fn f(_: &crate::Thing) {}\n"), ("new/mod.rs", "")]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("`crate::Thing`, which the root takes from some layer"), "{problems:?}");
    assert!(problems[1].starts_with("tida/src/new/mod.rs: `new` is no layer"), "{problems:?}");
}

#[test]
fn comments_and_tests_may_name_everything() {
    let problems = of(&[
        ("low/mod.rs", "//! See [`crate::high`].\n#[cfg(test)]\nmod checks;\nmod a;\n"),
        ("low/checks.rs", "use crate::high::*;\n"),
        ("low/checks/more.rs", "use crate::high::*;\n"),
        ("low/a.rs", "fn f() {} // crate::high\n\n#[cfg(test)]\nmod tests {\n    use crate::high::*;\n}\n"),
        ("macros.rs", "pub use crate::high::*;\n"),
    ]);
    assert_eq!(problems, [""; 0]);
}
