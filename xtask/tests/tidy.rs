//! House rules that no compiler checks.

#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/links.rs"]
mod links;
#[path = "tidy/sizes.rs"]
mod sizes;

use std::path::{Path, PathBuf};

/// Files allowed to be longer than [`LINES`], each with its reason.
const LONG: &[(&str, &str)] = &[];

/// Lines of code (blank lines, comments and tests not counted) beyond which a file usually holds two ideas.
const LINES: usize = 600;

/// Columns of a line of text, in documents and in comments.
const COLUMNS: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Files below the root with this extension, with their text. Hidden folders, build output and links to other files are
/// left out.
fn files(extension: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
                walk(&path, extension, found);
            } else if path.extension().is_some_and(|e| e == extension) && !path.is_symlink() {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), extension, &mut found);
    let named = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root()).unwrap().to_string_lossy().into_owned(), text)
    };
    let mut files: Vec<_> = found.into_iter().map(named).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Lines before the tests, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with("//"))
}

fn none_of(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn no_file_holds_two_ideas() {
    let long = |(path, text): &(String, String)| {
        let lines = code(text).count();
        let excused = LONG.iter().any(|(allowed, _)| allowed == path);
        match (lines > LINES, excused) {
            (true, false) => Some(format!("{path}: {lines} lines of code; split it by idea, or list it with a reason")),
            (false, true) => Some(format!("{path}: {lines} lines of code; take it off the list of long files")),
            _ => None,
        }
    };
    none_of(files("rs").iter().filter_map(long).collect());
}

/// Lines of the text of a document, of which tables, links and code may be longer.
fn prose<'a>(path: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    let mut in_code = false;
    let markdown = path.ends_with(".md");
    let prose = |(_, line): &(usize, &str)| {
        let line = line.trim();
        in_code ^= markdown && line.starts_with("```");
        let comment = ["///", "//!", "//"].iter().find_map(|mark| line.strip_prefix(mark));
        let said = if markdown { Some(line) } else { comment };
        said.map(str::trim).is_some_and(|said| !in_code && !said.starts_with(['|', '`', '[']))
    };
    text.lines().enumerate().filter(prose).map(|(number, line)| (number + 1, line)).collect()
}

#[test]
fn lines_of_prose_fit_the_page() {
    let mut problems = Vec::new();
    for (path, text) in files("md").iter().chain(&files("rs")) {
        let long = prose(path, text).into_iter().filter(|(_, line)| line.chars().count() > COLUMNS);
        problems.extend(long.map(|(number, _)| format!("{path}:{number}: more than {COLUMNS} columns")));
    }
    none_of(problems);
}

#[test]
fn nothing_is_left_to_do_in_the_sources() {
    let words = ["todo", "unimplemented", "dbg"].map(|word| format!("{word}!("));
    let mut problems = Vec::new();
    for (path, text) in files("rs").iter().filter(|(path, _)| path.contains("src/")) {
        for (number, line) in code(text) {
            problems.extend(words.iter().filter(|w| line.contains(*w)).map(|w| format!("{path}:{number}: {w}..)")));
        }
    }
    none_of(problems);
}

#[test]
fn every_unsafe_says_why() {
    let mut problems = Vec::new();
    for (path, text) in files("rs").iter().filter(|(path, _)| path.contains("src/")) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, line) in code(text) {
            let (needs, word) = if line.contains("unsafe {") || line.starts_with("unsafe impl") {
                (true, "SAFETY:")
            } else {
                (line.contains("unsafe fn") || line.contains("unsafe trait"), "# Safety")
            };
            // In an implementation the trait says it; a type of a function pointer promises nothing itself.
            let inherited = line.contains("unsafe fn(") || (word == "# Safety" && !line.starts_with("pub"));
            let first = number.saturating_sub(15);
            if needs && !inherited && !lines[first..number].iter().any(|l| l.contains(word)) {
                problems.push(format!("{path}:{number}: no {word} above `{line}`"));
            }
        }
    }
    none_of(problems);
}

#[test]
fn the_code_map_names_every_module() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut problems = Vec::new();
    for source in ["tida/src", "tida-kernels/src", "tida-derive/src", "tida-plot/src", "tida-io/src"] {
        for entry in std::fs::read_dir(root().join(source)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let module = name.trim_end_matches(".rs");
            if !["lib", "tests", "__private"].contains(&module) && !map.contains(&format!("`{module}")) {
                problems.push(format!("ARCHITECTURE.md does not name {source}/{name}"));
            }
        }
    }
    none_of(problems);
}

/// The examples that take the flags of all examples, and the programs of the gallery.
fn programs() -> Vec<String> {
    let without = ["explain", "rust_ptx", "gallery"];
    let stem = |path: &str| path.rsplit('/').next().unwrap().trim_end_matches(".rs").to_owned();
    let mut names = Vec::new();
    for (path, text) in files("rs") {
        match path.strip_prefix("examples/") {
            Some(file) if file.starts_with("gallery/") && text.contains("pub const PROGRAM") => names.push(stem(file)),
            Some(file) if !file.contains('/') => names.push(stem(file)),
            Some(file) => names.extend(file.strip_suffix("/main.rs").map(str::to_owned)),
            None => {}
        }
    }
    names.retain(|name| !without.contains(&name.as_str()));
    assert!(names.len() > 30, "{names:?}");
    names
}

#[test]
fn every_program_is_on_the_gallery_page() {
    let page = std::fs::read_to_string(root().join("docs/GALLERY.md")).unwrap();
    let mut problems = Vec::new();
    for name in programs() {
        let section = page.split_once(&format!("### `{name}`\n")).map(|(_, rest)| rest.split("### ").next().unwrap());
        let is_shown = section.is_some_and(|section| section.contains(&format!("(images/{name}.png)")));
        if !is_shown {
            problems.push(format!("docs/GALLERY.md has no picture of {name}: add it to xtask/src/pictures.rs"));
        }
    }
    for image in page.split("](images/").skip(1).filter_map(|rest| rest.split(')').next()) {
        // Whoever clones the repository has all of them.
        let most = if image.ends_with("-steps.png") { 300 << 10 } else { 60 << 10 };
        match std::fs::read(root().join("docs/images").join(image)) {
            Ok(bytes) if !bytes.starts_with(b"\x89PNG") => problems.push(format!("docs/images/{image} is no PNG")),
            Ok(bytes) if bytes.len() > most => {
                problems.push(format!("docs/images/{image} has {} bytes, more than {most}", bytes.len()));
            }
            Ok(_) => {}
            Err(e) => problems.push(format!("docs/images/{image}: {e}")),
        }
    }
    none_of(problems);
}

/// What is wrong with a page of a decision: its title has no number, no status follows, or the list lacks it.
fn wrong_with_decision(list: &str, path: &str, text: &str) -> Option<String> {
    let file = path.rsplit('/').next().unwrap_or_default();
    let number = file.split('-').next().unwrap_or_default();
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let (title, status) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let problem = match list.matches(&format!("]({file})")).count() {
        _ if !title.starts_with(&format!("# {number}")) => format!("its title begins with `# {number}: `"),
        _ if !status.starts_with("Status: ") => "`Status: ` stands below its title".to_owned(),
        1 => return None,
        times => format!("docs/decisions/README.md has one line for it, and not {times}"),
    };
    Some(format!("{path}: {problem}"))
}

#[test]
fn decisions_have_a_status_and_are_listed() {
    let (list, pages): (Vec<_>, Vec<_>) = files("md")
        .into_iter()
        .filter(|(path, _)| path.starts_with("docs/decisions/"))
        .partition(|(path, _)| path.ends_with("README.md"));
    assert!(pages.len() > 90);
    none_of(pages.iter().filter_map(|(path, text)| wrong_with_decision(&list[0].1, path, text)).collect());
    let wrong = |list, text| wrong_with_decision(list, "docs/decisions/0007-x.md", text).unwrap_or_default();
    let right = "# 0007: X\n\nStatus: accepted.\n";
    assert_eq!(wrong("- [0007](0007-x.md): x", right), "");
    assert!(wrong("", right).contains("one line for it"));
    assert!(wrong("- [0007](0007-x.md): x", "# X\n\nStatus: accepted.").contains("title"));
    assert!(wrong("- [0007](0007-x.md): x", "# 0007: X\n\n## Context").contains("`Status: `"));
}

/// The name of each variable of tida's that stands in a text, with what stands before it.
fn variables(text: &str) -> impl Iterator<Item = (Option<char>, &str)> {
    text.match_indices("TIDA_").filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let long = text[at..].find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let name = &text[at..long.map_or(text.len(), |long| at + long)];
        let part_of_a_word = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        (!part_of_a_word && name.len() > "TIDA_".len()).then_some((before, name))
    })
}

/// What the first cells of a page's tables name, above this heading and below it.
fn tables<'a>(page: &'a str, heading: &str) -> [Vec<&'a str>; 2] {
    let (above, below) = page.split_once(heading).unwrap();
    [above, below].map(|part| {
        let rows = part.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.flat_map(|row| variables(row.split(" | ").next().unwrap())).map(|(_, name)| name).collect()
    })
}

/// Variables that a source names, with those that its code, without tests, names as a whole string: it reads them.
fn named_and_read<'a>(path: &str, text: &'a str) -> [Vec<&'a str>; 2] {
    let library = ["tida/src/", "tida-kernels/src/", "tida-derive/src/"].iter().any(|folder| path.starts_with(folder));
    let tests = path.ends_with("tests.rs") || path.contains("tests/") || path.ends_with("contract.rs");
    let whole = |line: &'a str| {
        variables(line).filter(move |(before, name)| *before == Some('"') && line.contains(&format!("\"{name}\"")))
    };
    let read = code(text).flat_map(|(_, line)| whole(line)).map(|(_, name)| name);
    let read = if library && !tests { read.collect() } else { Vec::new() };
    [variables(text).map(|(_, name)| name).collect(), read]
}

#[test]
fn every_variable_is_in_the_tables() {
    const PAGE: &str = "docs/ENVIRONMENT.md";
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let [library, others] = tables(&page, "## What tests, benches and tools read");
    let (mut problems, mut read_somewhere) = (Vec::new(), Vec::new());
    // A name that ends in a line is the start of several.
    let is_other = |name: &&&str| others.iter().any(|o| o == *name || o.ends_with('_') && name.starts_with(o));
    let this = |(path, _): &(String, String)| !path.ends_with("tests/tidy.rs");
    let sources: Vec<_> = files("rs").into_iter().filter(this).chain(files("sh")).collect();
    for (path, text) in &sources {
        let [named, read] = named_and_read(path, text);
        let unknown = named.iter().filter(|name| !library.contains(name) && !is_other(name));
        problems.extend(unknown.map(|name| format!("{path}: {PAGE} does not list {name}")));
        let misplaced = read.iter().filter(|name| is_other(name));
        problems
            .extend(misplaced.map(|name| format!("{path}: the library reads {name}, which {PAGE} has among others")));
        read_somewhere.extend(read);
    }
    let stale = library.iter().filter(|name| !read_somewhere.contains(name));
    problems.extend(stale.map(|name| format!("{PAGE}: the library does not read {name}")));
    let stale = others.iter().filter(|name| !sources.iter().any(|(_, text)| text.contains(*name)));
    problems.extend(stale.map(|name| format!("{PAGE}: nothing reads {name}")));
    none_of(problems);
}

/// The page says which method of the builder stands for a variable, and the builder says the variable.
#[test]
fn variables_and_methods_of_the_builder_go_together() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let page = read("docs/ENVIRONMENT.md");
    let files = ["builder.rs", "builder/choice.rs", "builder/places.rs", "builder/ranks.rs"]
        .map(|file| read(&format!("tida/src/acc/{file}")));
    let builder = files.concat();
    let (_, none) = page.split_once("variables have none:").unwrap();
    let none: Vec<_> = variables(none.split_once('.').unwrap().0).map(|(_, name)| name).collect();
    let table = page.split_once("## What tests").unwrap().0;
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| `TIDA_")).collect();
    assert!(rows.len() > 10 && none.len() == 5);
    let mut problems = Vec::new();
    for row in rows {
        let name = row.split('`').nth(1).unwrap();
        let named = row.split("(`").skip(1).filter_map(|rest| Some(rest.split_once("`)")?.0));
        let method = named.clone().find(|method| builder.contains(&format!("    pub fn {method}(")));
        match method {
            Some(_) if none.contains(&name) => problems.push(format!("{name} has a method and is said to have none")),
            // The documentation of the method, which stands before it, names the variable.
            Some(method) => {
                let (before, _) = builder.split_once(&format!("    pub fn {method}(")).unwrap();
                if !before.rsplit("\n    }\n").next().unwrap().contains(&format!("`{name}`")) {
                    problems.push(format!("`TileAccBuilder::{method}` does not say that {name} stands for it"));
                }
            }
            None if none.contains(&name) || named.clone().any(|method| method == "TileIter::march") => {}
            None => problems.push(format!("docs/ENVIRONMENT.md: no method of the builder is said for {name}")),
        }
    }
    none_of(problems);
}

#[test]
fn variables_are_found_where_they_are_read() {
    let text =
        "//! `TIDA_A`\nread(\"TIDA_B\"); say(\"TIDA_C is bad\"); __TIDA_D; TIDA_\n#[cfg(test)]\nread(\"TIDA_E\");";
    let [named, read] = named_and_read("tida/src/lib.rs", text);
    assert_eq!(named, ["TIDA_A", "TIDA_B", "TIDA_C", "TIDA_E"]);
    assert_eq!(read, ["TIDA_B"]);
    assert!(named_and_read("tida/src/backend/contract.rs", text)[1].is_empty());
    assert!(named_and_read("xtask/src/main.rs", text)[1].is_empty());
    let page = "| variable | |\n| `TIDA_A`, `TIDA_B` | as `TIDA_C` |\n## Others\n| `TIDA_D` | |\n";
    assert_eq!(tables(page, "## Others"), [vec!["TIDA_A", "TIDA_B"], vec!["TIDA_D"]]);
}

/// What a manifest says of a key in one of its tables.
fn said<'a>(manifest: &'a str, table: &str, key: &str) -> Option<&'a str> {
    let (_, rest) = manifest.split_once(&format!("[{table}]\n"))?;
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    let mut values = lines.filter_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    values.next().map(|value| value.trim().trim_matches('"'))
}

/// The version of Rust that builds tida stands in one place, and is told in another.
#[test]
fn one_version_of_rust_is_asked_for() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let workspace = read("Cargo.toml");
    let version = said(&workspace, "workspace.package", "rust-version").unwrap();
    let mut problems = Vec::new();
    for (path, text) in files("toml").iter().filter(|(_, text)| text.contains("\nversion.workspace = true\n")) {
        if said(text, "package", "rust-version.workspace") != Some("true") {
            problems.push(format!("{path}: no rust-version.workspace = true"));
        }
    }
    if said(&workspace, "workspace.lints.clippy", "incompatible_msrv") != Some("deny") {
        problems.push("Cargo.toml: clippy may pass what Rust has had only since a later version".into());
    }
    if !read("README.md").contains(&format!("Rust toolchain, {version} or newer")) {
        problems.push(format!("README.md does not say that it takes Rust {version}"));
    }
    none_of(problems);
}

/// The names that the prelude of a library hands on.
fn prelude(library: &str) -> Vec<&str> {
    let (_, module) = library.split_once("pub mod prelude {").unwrap();
    let (_, list) = module.split_once("pub use crate::{").unwrap();
    let (list, _) = list.split_once('}').unwrap();
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// The names of items, macros and single imports of a source that have an example that runs in their documentation.
fn with_example(text: &str) -> Vec<&str> {
    let (mut found, mut fences) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(doc) = line.strip_prefix("///") {
            fences.extend(doc.trim().strip_prefix("```"));
        } else if line.starts_with(['#', ' ']) || line.ends_with(']') {
            // Attributes, of several lines too, stand between.
        } else {
            // Every other fence ends an example.
            let runs = fences.drain(..).step_by(2).any(str::is_empty);
            let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
            let name = match line.starts_with("pub use ") {
                true => words.next_back(),
                false => {
                    let keywords = ["fn", "struct", "enum", "trait", "type", "macro_rules"];
                    words.find(|word| keywords.contains(word)).and_then(|_| words.next())
                }
            };
            found.extend(name.filter(|_| runs));
        }
    }
    found
}

#[test]
fn every_name_of_the_prelude_has_an_example() {
    let sources = files("rs");
    let library = &sources.iter().find(|(path, _)| path == "tida/src/lib.rs").unwrap().1;
    let shown: Vec<_> = sources
        .iter()
        .filter(|(path, _)| path.starts_with("tida/src/"))
        .flat_map(|(_, text)| with_example(text))
        .collect();
    let names = prelude(library);
    assert!(names.len() > 30);
    let without = names.iter().filter(|name| !shown.contains(*name));
    none_of(without.map(|name| format!("tida::prelude::{name}: no example that runs in its documentation")).collect());
}

#[test]
fn examples_are_found_where_they_stand() {
    let library = "pub mod prelude {\n    pub use crate::{\n        A, b,\n    };\n}\n";
    assert_eq!(prelude(library), ["A", "b"]);
    let text = "/// ```\n/// x\n/// ```\n#[derive(Debug)]\npub struct A;\n\npub struct B;\n\
                /// ```no_run\n/// ```\npub fn c() {}\n/// ```\n/// ```\nmacro_rules! d {\n}\n\
                /// ```\n/// ```\npub use e::F;\npub use e::G;\n";
    assert_eq!(with_example(text), ["A", "d", "F"]);
}
