//! `cargo xtask guide`: the guide as a book, its code run by mdBook, and its pages' links followed.
//!
//! `cargo xtask test` has no part in this: it runs the same code as tests of documentation, and follows the same links
//! in the sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::shell::{command, libraries, read, root, run, target, works, write, write_script};

/// Where the guide is, and what mdBook makes of it.
const GUIDE: &str = "docs/guide";
const BOOK: &str = "docs/guide/book";

/// Builds the guide.
pub fn build() -> Result<()> {
    let mdbook = mdbook()?;
    println!("== pages");
    run(Command::new(&mdbook).arg("build").arg(GUIDE).current_dir(root()))?;
    let links = links()?;
    println!("== code");
    run(&mut with_rustdoc(Command::new(&mdbook).arg("test").arg(GUIDE).current_dir(root()))?)?;
    println!("\n{BOOK}/index.html is there; {links} links lead somewhere, and all code runs");
    Ok(())
}

/// mdBook: the one that is installed, else the one that is built into `target/tools`.
fn mdbook() -> Result<PathBuf> {
    let ours = target().join("tools/bin/mdbook");
    for program in [Path::new("mdbook"), &ours] {
        if works(Command::new(program).arg("--version")) {
            return Ok(program.to_path_buf());
        }
    }
    println!("building mdBook, which takes some minutes");
    let mut install = command("cargo install mdbook --version ^0.5 --locked --no-default-features --quiet --root");
    run(install.arg(target().join("tools")))?;
    Ok(ours)
}

/// The same command, which finds a `rustdoc` that knows tida and tida-io: mdBook has no way to name a crate, and in the
/// edition of 2024 a folder of libraries is not enough.
fn with_rustdoc(mdbook: &mut Command) -> Result<Command> {
    let tida = libraries("cargo build --package tida-guide", &["tida", "tida_io"])?;
    let sysroot = read(&mut command("rustc --print sysroot"))?;
    let rustdoc = Path::new(sysroot.trim()).join("bin/rustdoc");
    let folder = target().join("tools/guide");
    let script = folder.join("rustdoc");
    let named = tida.iter().map(|argument| format!("'{argument}'")).collect::<Vec<_>>().join(" ");
    let text = format!("#!/bin/sh\nexec '{}' {named} \"$@\"\n", rustdoc.display());
    write_script(&script, &text)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).map_err(|e| format!("tried to set PATH; found: {e}"))?;
    let mut with = Command::new(mdbook.get_program());
    with.args(mdbook.get_args()).current_dir(root()).env("PATH", path);
    Ok(with)
}

/// Follows the links of the pages to files and to headings, and counts them. Documents beside the guide are no pages:
/// mdBook takes them for pages all the same, and links to those are mended.
fn links() -> Result<usize> {
    let book = root().join(BOOK);
    let io = |e: std::io::Error| format!("tried to look at the pages in {}; found: {e}", book.display());
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in fs::read_dir(&book).map_err(io)? {
        let page = entry.map_err(io)?.path();
        if page.extension().is_none_or(|e| e != "html") {
            continue;
        }
        let text = fs::read_to_string(&page).map_err(io)?;
        let mut mended = text.clone();
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            match led(&book, &page, &text, link) {
                Led::Away => {}
                Led::Right => count += 1,
                Led::ToDocument(document) => {
                    mended = mended.replace(&format!("href=\"{link}\""), &format!("href=\"{document}\""));
                    count += 1;
                }
                Led::Nowhere => wrong.push(format!("{}: {link} is not there", page.display())),
            }
        }
        write(&page, mended)?;
    }
    if wrong.is_empty() { Ok(count) } else { Err(wrong.join("\n")) }
}

/// Where a link of a page leads.
#[derive(Debug, PartialEq, Eq)]
enum Led {
    /// Into the net.
    Away,
    Right,
    /// To a page that is a document beside the guide: the right link.
    ToDocument(String),
    Nowhere,
}

fn led(book: &Path, page: &Path, text: &str, link: &str) -> Led {
    let (file, anchor) = link.split_once('#').map_or((link, ""), |(file, anchor)| (file, anchor));
    let has = |text: &str| anchor.is_empty() || text.contains(&format!("id=\"{anchor}\""));
    let to = if file.is_empty() { page.to_path_buf() } else { book.join(file) };
    let document = file.strip_suffix(".html").map(|stem| format!("{stem}.md"));
    if link.contains("://") {
        return Led::Away;
    }
    match document.filter(|document| !to.exists() && book.join(document).is_file()) {
        // Headings of documents are looked at in the sources.
        Some(document) => Led::ToDocument(if anchor.is_empty() { document } else { format!("{document}#{anchor}") }),
        None if to == page && has(text) => Led::Right,
        None if to != page && to.extension().is_some_and(|e| e == "html") => match fs::read_to_string(&to) {
            Ok(text) if has(&text) => Led::Right,
            _ => Led::Nowhere,
        },
        None if to != page && to.exists() => Led::Right,
        None => Led::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_to_files_and_headings() {
        let book = std::env::temp_dir().join(format!("tida-guide-{}/guide/book", std::process::id()));
        let page = book.join("a.html");
        let text = "<h1 id=\"top\">A</h1>";
        write(&page, text).unwrap();
        write(&book.join("b.html"), "<h2 id=\"more\">B</h2>").unwrap();
        write(&book.join("b.css"), "").unwrap();
        write(&book.join("../../C.md"), "# C").unwrap();
        let to = |link: &str| led(&book, &page, text, link);
        for right in ["#top", "a.html#top", "b.html", "b.html#more", "b.css"] {
            assert_eq!(to(right), Led::Right, "{right}");
        }
        for wrong in ["#more", "a.html#more", "b.html#top", "c.html", "c.css", "../../D.html"] {
            assert_eq!(to(wrong), Led::Nowhere, "{wrong}");
        }
        assert_eq!(to("https://a.b/c.html"), Led::Away);
        assert_eq!(to("../../C.html"), Led::ToDocument("../../C.md".into()));
        assert_eq!(to("../../C.html#c"), Led::ToDocument("../../C.md#c".into()));
        fs::remove_dir_all(book.join("../..")).unwrap();
    }
}
