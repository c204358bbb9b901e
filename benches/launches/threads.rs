//! What each thread of the process has run.

use std::collections::BTreeMap;

/// Nanoseconds so far, by the kind of thread; empty where the system does not say.
pub fn now() -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
        let Some((name, ran)) = read("comm").zip(read("schedstat")) else { continue };
        let of_pool = name.strip_prefix("tida-").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let kind = if of_pool { "pool" } else { name.trim() };
        let ran: f64 = ran.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0);
        *all.entry(kind.to_owned()).or_default() += ran;
    }
    all
}

/// What kinds of threads ran.
#[derive(Default)]
pub struct Ran(BTreeMap<String, f64>);

impl Ran {
    pub fn add(&mut self, before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) {
        for (kind, ran) in after {
            *self.0.entry(kind.clone()).or_default() += ran - before.get(kind).unwrap_or(&0.0);
        }
    }

    /// In µs a step; what is less than a twentieth is left out.
    pub fn per_step(&self, steps: usize) -> String {
        let each = self.0.iter().map(|(kind, ran)| (kind, ran / 1e3 / steps as f64)).filter(|(_, ran)| *ran > 0.05);
        each.map(|(kind, ran)| format!("{kind} {ran:.2}")).collect::<Vec<_>>().join(", ")
    }
}
