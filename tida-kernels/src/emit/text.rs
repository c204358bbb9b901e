//! Lines of source with where they come from.

use crate::quote::Span;

/// Where a line comes from.
pub(super) type Place = Option<(String, Span)>;

/// Lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub lines: Vec<(String, Place)>,
    pub depth: usize,
}

impl Text {
    /// Adds a line, indented.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.placed(text, None);
    }

    /// Adds a line of the user's.
    pub fn placed(&mut self, text: impl AsRef<str>, place: Place) {
        let text = text.as_ref();
        let indent = if text.is_empty() { 0 } else { self.depth * 4 };
        self.lines.push((format!("{:indent$}{text}", ""), place));
    }

    /// Adds `head {`, the lines of `body` one step further in, and `}`.
    pub fn block(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Text)) {
        self.line(format!("{} {{", head.as_ref()).trim_start());
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("}");
    }

    /// Adds lines as they stand, at this depth.
    pub fn all(&mut self, lines: &str) {
        lines.lines().for_each(|line| self.line(line));
    }

    /// The same lines, so many steps further in.
    pub fn deeper(mut self, steps: usize) -> Text {
        for (line, _) in self.lines.iter_mut().filter(|(line, _)| !line.is_empty()) {
            line.insert_str(0, &"    ".repeat(steps));
        }
        self
    }

    /// Adds another text, as deep as it is itself.
    pub fn append(&mut self, other: Text) {
        self.lines.extend(other.lines);
    }

    /// Whether a word stands in the text.
    pub fn has_word(&self, word: &str) -> bool {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.lines.iter().any(|(line, _)| {
            let code = line.split("//").next().unwrap_or_default();
            code.match_indices(word).any(|(at, _)| {
                let before = code[..at].chars().next_back().is_some_and(part);
                let after = code[at + word.len()..].chars().next().is_some_and(part);
                !before && !after
            })
        })
    }
}
