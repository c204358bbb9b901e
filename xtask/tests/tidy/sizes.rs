//! Functions and types where recorded work is planned and run are small enough to be read at once.

use super::layers::shipped;
use super::{files, none_of};

const FOLDERS: &[&str] = &["acc", "device", "memory", "program", "record", "run"];

/// Lines of code of a function, at most.
const LINES: usize = 80;

/// Fields of a type, at most.
const FIELDS: usize = 12;

/// Types allowed to have more, each with its reason.
const WIDE: &[(&str, &str)] = &[("Stats", "plain counts, which users read by their names")];

/// What is counted of an item.
#[derive(Debug, PartialEq)]
enum Size {
    Lines(usize),
    Fields(usize),
}

/// The name of an item that starts in this line, after one of these words, if nothing but what may stand before such
/// an item does.
fn named<'a>(line: &'a str, item: &str) -> Option<&'a str> {
    let (before, after) = match line.strip_prefix(item) {
        Some(after) => ("", after),
        None => line.split_once(&format!(" {item}"))?,
    };
    let may = |word: &str| ["pub", "const", "unsafe", "extern", "\"C\""].contains(&word) || word.starts_with("pub(");
    let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    (before.split_whitespace().all(may) && end > 0).then(|| &after[..end])
}

/// Functions and types with named fields of a source as rustfmt leaves it, each with the line where it starts.
fn sizes(text: &str) -> Vec<(usize, &str, Size)> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        // The end stands as far in as the start.
        let ends = |line: &&str| {
            let outside = line.len() - line.trim_start().len() == indent;
            outside && (line.trim_start() == "}" || line.ends_with(';'))
        };
        let rest = || lines[first + 1..].iter().take_while(|line| !ends(line)).filter(|line| !line.is_empty());
        if let Some(name) = named(words, "fn ") {
            let one_line = line.ends_with([';', '}']);
            found.push((first + 1, name, Size::Lines(if one_line { 1 } else { rest().count() + 2 })));
        }
        if let Some(name) = named(words, "struct ").filter(|_| line.ends_with('{')) {
            let is_field = |line: &&&str| {
                let field = line.trim_start();
                let inside = line.len() - field.len() == indent + 4;
                inside && field.contains(": ") && !field.starts_with('#')
            };
            found.push((first + 1, name, Size::Fields(rest().filter(is_field).count())));
        }
    }
    found
}

#[test]
fn functions_and_types_can_be_read_at_once() {
    let (mut problems, mut wide) = (Vec::new(), Vec::new());
    let in_folder =
        |(path, _): &(String, String)| FOLDERS.iter().any(|folder| path.starts_with(&format!("tida/src/{folder}/")));
    for (path, text) in files("rs").iter().filter(|file| in_folder(file)) {
        for (line, name, size) in sizes(&shipped(text)) {
            match size {
                Size::Lines(lines) if lines > LINES => {
                    problems.push(format!("{path}:{line}: `{name}` has {lines} lines of code, at most {LINES}"));
                }
                Size::Fields(fields) if fields > FIELDS => match WIDE.iter().any(|(excused, _)| *excused == name) {
                    true => wide.push(name.to_owned()),
                    false => problems.push(format!("{path}:{line}: `{name}` has {fields} fields, at most {FIELDS}")),
                },
                _ => {}
            }
        }
    }
    let stale = WIDE.iter().filter(|(excused, _)| !wide.iter().any(|name| name == excused));
    problems.extend(stale.map(|(excused, _)| format!("`{excused}` is not wide: take it off the list")));
    none_of(problems);
}

#[test]
fn sizes_are_counted_as_the_code_stands() {
    let text = "\
pub(crate) struct A<'a> {
    /// What it is.
    pub one: u8,
    #[cfg(test)]
    two: Vec<&'a str>,
}

struct B(u8);

impl A<'_> {
    // No code.
    pub fn short(&self) -> u8 { self.one }

    pub(super) const unsafe fn long(
        &self,
    ) -> u8 {
        let f = |x| {
            x
        };

        f(self.one)
    }
}

trait C {
    fn given(
        &self,
        other: u8,
    ) -> u8;
    fn word();
}
";
    let found = sizes(text);
    let of = |name: &str| found.iter().find(|(_, known, _)| *known == name).map(|(line, _, size)| (*line, size));
    assert_eq!(of("A"), Some((1, &Size::Fields(2))));
    assert_eq!(of("short"), Some((12, &Size::Lines(1))));
    assert_eq!(of("long"), Some((14, &Size::Lines(8))));
    assert_eq!(of("given"), Some((26, &Size::Lines(4))));
    assert_eq!(of("word"), Some((30, &Size::Lines(1))));
    assert_eq!(found.len(), 5, "{found:?}");
}
