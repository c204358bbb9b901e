//! House rules that no compiler checks.

#[path = "tidy/links.rs"]
mod links;

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
    for source in ["tida/src", "tida-kernels/src", "tida-derive/src"] {
        for entry in std::fs::read_dir(root().join(source)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let module = name.trim_end_matches(".rs");
            if !["lib", "__private"].contains(&module) && !map.contains(&format!("`{module}")) {
                problems.push(format!("ARCHITECTURE.md does not name {source}/{name}"));
            }
        }
    }
    none_of(problems);
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
