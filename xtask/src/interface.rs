//! That the public interface of tida shows nothing of the kernel compiler and of quotations, as rustdoc tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shell::{command, root, run, target, write_script};
use crate::{Result, docs};

/// Crates whose types no public item of tida may name.
const INNER: [&str; 2] = ["tida_kernels", "tida_quote"];

/// Types of theirs that are settings and no more: tida hands them on.
const SETTINGS: [&str; 3] =
    ["tida_kernels::codec::Format", "tida_kernels::plan::Math", "tida_kernels::plan::cache::Cache"];

/// Public enums that never grow. All others are `#[non_exhaustive]`.
const CLOSED: [&str; 2] = ["Centering", "Side"];

/// Fails where a public item of tida, or of the settings that it hands on, names a type of the inner crates, and where
/// an enum could not grow.
pub fn check() -> Result<()> {
    let tida = Interface::of("tida")?;
    let (seen, mut problems) = tida.shown(tida.root()?);
    println!("{} public items of tida", seen.len());
    tida.may_grow(&seen)?;
    // What is not found at all would not be found where it should not be, either.
    let named: BTreeSet<&str> = problems.iter().map(|problem| problem.shows.as_str()).collect();
    if let Some(stale) = SETTINGS.iter().find(|setting| !named.contains(*setting)) {
        return Err(format!("tida hands on {stale}, but rustdoc does not tell of it"));
    }
    let kernels = Interface::of("tida-kernels")?;
    for setting in SETTINGS {
        let (seen, shown) = kernels.shown(kernels.named(setting)?);
        kernels.may_grow(&seen)?;
        problems.extend(shown);
    }
    problems.retain(|problem| !SETTINGS.contains(&problem.shows.as_str()));
    let lines: BTreeSet<String> =
        problems.iter().map(|Shown { place, shows }| format!("{place} shows {shows}")).collect();
    match lines.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the public interface shows what is inner (make it private or #[doc(hidden)], or give text and numbers):\n{}",
            lines.into_iter().collect::<Vec<_>>().join("\n")
        )),
    }
}

/// A public item that names a type of the inner crates.
struct Shown {
    place: String,
    shows: String,
}

/// What rustdoc tells of a crate.
struct Interface {
    /// The crate's id, and those of what is named in it.
    told: Value,
    /// Types and traits of the inner crates, by their ids.
    inner: BTreeMap<u64, String>,
}

impl Interface {
    /// Asks rustdoc, where the documentation has not been built with it.
    fn of(package: &str) -> Result<Interface> {
        let asked = Asked { root: &root(), target: &target(), whole: Whole::PublicItems };
        let file = docs::told_of(package).map_or_else(|| told(package, asked), Ok)?;
        let text = fs::read(&file).map_err(|e| format!("tried to read {}; found: {e}", file.display()))?;
        Interface::from(serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", file.display()))?)
    }

    fn from(told: Value) -> Result<Interface> {
        let paths = told["paths"].as_object().filter(|_| told["index"].is_object());
        let paths = paths.ok_or("rustdoc's JSON has no `index` and `paths`: its format has changed")?;
        let inner = paths.iter().filter_map(|(id, item)| {
            let path: Vec<&str> = item["path"].as_array()?.iter().filter_map(Value::as_str).collect();
            INNER.contains(path.first()?).then_some((id.parse().ok()?, path.join("::")))
        });
        Ok(Interface { inner: inner.collect(), told })
    }

    fn root(&self) -> Result<u64> {
        self.told["root"].as_u64().ok_or_else(|| "rustdoc's JSON has no `root`: its format has changed".into())
    }

    /// The item of that path.
    fn named(&self, path: &str) -> Result<u64> {
        let found = self.inner.iter().find(|(_, name)| *name == path);
        found.map(|(id, _)| *id).ok_or_else(|| format!("{path} is not there"))
    }

    /// The public items from this one on, and all that they name of the inner crates.
    fn shown(&self, root: u64) -> (BTreeSet<u64>, Vec<Shown>) {
        let (mut seen, mut shown, mut next) = (BTreeSet::new(), Vec::new(), vec![root]);
        while let Some(id) = next.pop() {
            let item = &self.told["index"][id.to_string()];
            // What stands elsewhere, and what was seen.
            if item["crate_id"] != 0 || !seen.insert(id) {
                continue;
            }
            self.each(&item["inner"], &mut |found| match found {
                Found::Part(part) => next.push(part),
                Found::Name(name) => shown.push(Shown { place: place(item), shows: name.into() }),
            });
        }
        (seen, shown)
    }

    /// Fails where one of these items is an enum that users could match every variant of.
    fn may_grow(&self, items: &BTreeSet<u64>) -> Result<()> {
        let items = items.iter().map(|id| &self.told["index"][id.to_string()]);
        let closed = items.filter(|item| {
            let known = item["name"].as_str().is_some_and(|name| CLOSED.contains(&name));
            !item["inner"]["enum"].is_null() && !known && !item["attrs"].to_string().contains("non_exhaustive")
        });
        let closed: Vec<String> = closed.map(place).collect();
        match closed.is_empty() {
            true => Ok(()),
            false => Err(format!("public enums without #[non_exhaustive]:\n{}", closed.join("\n"))),
        }
    }

    /// Goes through what is told of an item: numbers in lists are its parts; what has an id and a path is a name.
    fn each<'a>(&'a self, told: &'a Value, see: &mut impl FnMut(Found<'a>)) {
        match told {
            Value::Array(list) => list.iter().for_each(|value| match value.as_u64() {
                Some(part) => see(Found::Part(part)),
                None => self.each(value, see),
            }),
            Value::Object(fields) => {
                let id = fields.get("id").and_then(Value::as_u64);
                if let Some(name) = id.and_then(|id| self.inner.get(&id)) {
                    see(Found::Name(name));
                } else if fields.contains_key("source") {
                    // What is handed on.
                    id.into_iter().for_each(|id| see(Found::Part(id)));
                }
                fields.values().for_each(|value| self.each(value, see));
            }
            _ => {}
        }
    }
}

/// What stands in an item.
enum Found<'a> {
    Part(u64),
    Name(&'a str),
}

/// Where an item stands, and its name.
fn place(item: &Value) -> String {
    let span = &item["span"];
    let file = span["filename"].as_str().unwrap_or("somewhere");
    format!("{file}:{}: {}", span["begin"][0], item["name"].as_str().unwrap_or("an implementation"))
}

/// What rustdoc is asked to tell.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The root of a workspace.
    pub root: &'a Path,
    /// Where cargo puts what it builds for it.
    pub target: &'a Path,
    pub whole: Whole,
}

/// Which items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    PublicItems,
    /// What is private tells which traits are sealed.
    WithPrivateItems,
}

/// Asks rustdoc for a package as JSON: the file. Its JSON is not stable yet, and the stable one gives it only if told
/// to.
pub fn told(package: &str, asked: Asked<'_>) -> Result<PathBuf> {
    let mut rustdoc = command("cargo rustdoc --quiet --lib --package");
    rustdoc.args([package, "--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"]);
    if asked.whole == Whole::WithPrivateItems {
        rustdoc.args(["--document-private-items", "--document-hidden-items"]);
    }
    rustdoc.current_dir(asked.root).env("CARGO_TARGET_DIR", asked.target);
    run(rustdoc.env("RUSTDOC", told_to()?))?;
    Ok(asked.target.join("doc").join(format!("{}.json", package.replace('-', "_"))))
}

/// A rustdoc that gives JSON. The variable is for it alone: build scripts ask for it, and would run anew.
fn told_to() -> Result<PathBuf> {
    let script = target().join("rustdoc-json.sh");
    write_script(&script, &format!("#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec {} \"$@\"\n", rustdoc()))?;
    Ok(script)
}

/// The program that cargo would call.
pub fn rustdoc() -> String {
    std::env::var("RUSTDOC").unwrap_or_else(|_| "rustdoc".into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_public_items_name_is_found() {
        let item = |name: &str, inner: Value| json!({ "crate_id": 0, "name": name, "span": { "filename": "lib.rs", "begin": [7, 0] }, "inner": inner });
        let told = json!({
            "root": 0,
            "index": {
                "0": item("tida", json!({ "module": { "items": [1, 2] } })),
                "1": item("f", json!({ "function": { "output": { "resolved_path": { "path": "Kernel", "id": 9 } } } })),
                "2": item("g", json!({ "use": { "source": "inside::g", "id": 3 } })),
                "3": item("g", json!({ "function": { "output": { "resolved_path": { "path": "Vec", "id": 8 } } } })),
                "5": item("E", json!({ "enum": { "variants": [] } })),
                "4": item("h", json!({ "function": { "output": { "resolved_path": { "path": "Kernel", "id": 9 } } } })),
            },
            "paths": {
                "8": { "path": ["alloc", "vec", "Vec"] },
                "9": { "path": ["tida_kernels", "ir", "Kernel"] },
            },
        });
        let interface = Interface::from(told).unwrap();
        let (seen, shown) = interface.shown(interface.root().unwrap());
        assert_eq!(seen, BTreeSet::from([0, 1, 2, 3]));
        let told: Vec<String> = shown.iter().map(|Shown { place, shows }| format!("{place} shows {shows}")).collect();
        assert_eq!(told, ["lib.rs:7: f shows tida_kernels::ir::Kernel"]);
        assert!(Interface::from(json!({ "index": 3 })).is_err());
        assert!(interface.may_grow(&seen).is_ok());
        assert!(interface.may_grow(&BTreeSet::from([5])).unwrap_err().ends_with("\nlib.rs:7: E"));
    }
}
