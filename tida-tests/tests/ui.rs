//! What the macros say to what they do not accept. What they accept are tests of their own (`ui/pass`).

#[test]
fn macros() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
}

/// The guide's table of what the compiler says, and that of `kernel!`, have the words of the messages.
#[test]
fn the_tables_have_the_words_of_the_messages() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let mut said = String::new();
    for entry in std::fs::read_dir(root.join("tests/ui/fail")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "stderr") {
            said += &std::fs::read_to_string(path).unwrap();
        }
    }
    let (guide, macros) = (read("../docs/guide/src/troubleshooting.md"), read("../tida/src/macros.rs"));
    let table = |text: &str, heading: &str, column: usize| -> Vec<String> {
        let part = text.split_once(heading).unwrap().1;
        let lines = part.lines().map(|line| line.trim_start_matches("/// ").to_owned());
        let rows = lines.skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with("| "));
        rows.map(|row| row.split(" | ").nth(column).unwrap().trim_start_matches("| ").to_owned()).collect()
    };
    let all = [
        table(&guide, "## What the compiler says", 1),
        // What stands after a comma says where.
        table(&macros, "# What the compiler says", 0).iter().map(|said| said.replace(", at `at[0]`", "")).collect(),
    ];
    assert!(all[0].len() >= 10 && all[1].len() >= 6, "{all:?}");
    for words in all.iter().flatten() {
        assert!(said.contains(words.as_str()), "no program of `ui/fail` leads to: {words}");
    }
}
