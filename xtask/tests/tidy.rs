//! House rules that no compiler checks.

use std::path::{Path, PathBuf};

/// Files allowed to be longer than [`LINES`], each with its reason.
const LONG: &[(&str, &str)] = &[];

/// Lines of code (blank lines, comments and tests not counted) beyond which a file usually holds two ideas.
const LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Files below the root with this extension, with their text. Hidden folders and build output are left out.
fn files(extension: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
                walk(&path, extension, found);
            } else if path.extension().is_some_and(|e| e == extension) {
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
fn links_in_the_documents_lead_somewhere() {
    let mut problems = Vec::new();
    for (path, text) in files("md") {
        let folder = root().join(&path).parent().unwrap().to_path_buf();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !folder.join(file).exists() {
                problems.push(format!("{path}: {link} is not there"));
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
