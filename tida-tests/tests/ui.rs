//! What the macros say to what they do not accept. What they accept are tests of their own (`ui/pass`).

#[test]
fn macros() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
}
