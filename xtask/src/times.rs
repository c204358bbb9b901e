//! Time that steps and programs take: of the clock, and of processors.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Linux counts processor time for `/proc` in these parts of a second.
const TICKS: f64 = 100.0;

/// How often it is asked whether a program has ended.
const OFTEN: Duration = Duration::from_millis(5);

/// What something took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// By the clock, in seconds.
    pub wall: f64,
    /// Processor time, the system's included, in seconds. Unknown where there is no `/proc`.
    pub processor: Option<f64>,
}

impl Spent {
    /// For a table.
    fn cells(&self) -> String {
        let processor = self.processor.map_or_else(|| "?".to_owned(), |seconds| format!("{seconds:.1}"));
        format!("{:>8.1}  {processor:>9}", self.wall)
    }
}

/// Processor time of what ran aside so far.
static ASIDE: Mutex<f64> = Mutex::new(0.0);

/// Measures from its beginning on.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    before: Option<f64>,
}

impl Watch {
    pub fn start() -> Watch {
        Watch { begun: Instant::now(), before: ended_here() }
    }

    /// The processor time is that of all programs that ended since then, but for those that ran [`aside`].
    pub fn spent(&self) -> Spent {
        let processor = self.before.and_then(|before| Some(ended_here()? - before));
        Spent { wall: self.begun.elapsed().as_secs_f64(), processor }
    }
}

/// Processor time of all programs that this one started and that have ended, and of those that they started.
fn ended() -> Option<f64> {
    let told = fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may have spaces; see proc(5): `cutime` and `cstime`.
    let fields: Vec<&str> = told.rsplit_once(')')?.1.split_whitespace().collect();
    let [user, system] = [fields.get(13)?, fields.get(14)?].map(|ticks| ticks.parse::<f64>());
    Some((user.ok()? + system.ok()?) / TICKS)
}

/// The same without those that ran aside.
fn ended_here() -> Option<f64> {
    let aside = ASIDE.lock().unwrap_or_else(PoisonError::into_inner);
    Some(ended()? - *aside)
}

/// What a program printed, standard error after standard output, how it ended, and what it took.
pub struct Output {
    pub status: ExitStatus,
    pub text: String,
    pub spent: Spent,
}

/// Runs a program. Several may be measured at once.
///
/// # Errors
/// What the system says where the program does not start.
pub fn output(command: &mut Command) -> std::io::Result<Output> {
    measured(command, false)
}

/// The same of a program that runs beside what watches measure.
///
/// # Errors
/// As [`output`].
pub fn aside(command: &mut Command) -> std::io::Result<Output> {
    measured(command, true)
}

fn measured(command: &mut Command, aside: bool) -> std::io::Result<Output> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (out, err) = std::thread::scope(|scope| {
        let err = scope.spawn(|| text(err));
        (text(out), err.join().unwrap_or_default())
    });
    let (status, processor) = end(&mut child, aside)?;
    Ok(Output { status, text: out + &err, spent: Spent { wall: begun.elapsed().as_secs_f64(), processor } })
}

/// All that comes out of a pipe.
fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is shown all the same.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for a program. The system adds its time to ours when we ask for how it ended: no two ask at once.
fn end(child: &mut Child, is_aside: bool) -> std::io::Result<(ExitStatus, Option<f64>)> {
    loop {
        {
            let mut aside = ASIDE.lock().unwrap_or_else(PoisonError::into_inner);
            let before = ended();
            if let Some(status) = child.try_wait()? {
                let processor = before.and_then(|before| Some(ended()? - before));
                *aside += processor.filter(|_| is_aside).unwrap_or_default();
                return Ok((status, processor));
            }
        }
        std::thread::sleep(OFTEN);
    }
}

/// Lines of a table, with a line above that says what they are.
pub fn table(what: &str, rows: &[(String, Spent)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).chain([what.len()]).max().unwrap_or_default();
    let mut lines = vec![format!("{what:width$}  seconds  processor")];
    lines.extend(rows.iter().map(|(name, spent)| format!("{name:width$} {}", spent.cells())));
    lines.join("\n")
}

/// The longest of them, longest first.
pub fn longest(mut rows: Vec<(String, Spent)>, most: usize) -> Vec<(String, Spent)> {
    rows.sort_by(|(_, a), (_, b)| b.wall.total_cmp(&a.wall));
    rows.truncate(most);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::command;

    #[test]
    fn each_program_has_its_own_processor_time() {
        let busy =
            || output(command("sh -c").arg("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo a; echo b >&2"));
        let (idle, busy) = std::thread::scope(|scope| {
            let busy = scope.spawn(busy);
            (output(&mut command("sleep 0.2")).unwrap(), busy.join().unwrap().unwrap())
        });
        assert_eq!((busy.status.success(), busy.text.as_str()), (true, "a\nb\n"));
        assert!(idle.spent.wall >= 0.2, "{:?}", idle.spent);
        if cfg!(target_os = "linux") {
            assert!(
                busy.spent.processor > Some(0.05) && idle.spent.processor < Some(0.05),
                "{:?}, {:?}",
                busy.spent,
                idle.spent
            );
        }
        assert!(output(&mut Command::new("/no/such/program")).is_err());
    }

    #[test]
    fn tables_have_the_longest_first() {
        let row = |name: &str, wall: f64| (name.to_owned(), Spent { wall, processor: Some(2.0 * wall) });
        let rows = longest(vec![row("a", 1.0), row("long", 3.0), row("b", 2.0)], 2);
        assert_eq!(
            table("program", &rows),
            "program  seconds  processor\nlong         3.0        6.0\nb            2.0        4.0"
        );
    }
}
