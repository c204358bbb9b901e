//! A timeline in the JSON format of Chrome's tracer.

use std::fmt::{self, Write};

use super::{Lane, Timeline};

/// Number of the first row of compilations among the threads of the host.
const COMPILERS: usize = 1 << 20;

/// Number of the row of files.
const FILES: usize = 1 << 21;

/// Complete events (`"ph": "X"`) in microseconds: streams are threads of process 0, threads those of process 1;
/// of the next place, of 2 and 3, and so on.
pub(super) fn write(timeline: &Timeline) -> String {
    let mut text = String::from("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    let mut comma = "\n";
    let mut event = |line: fmt::Arguments<'_>| {
        // Into a string: it cannot fail.
        let _ = write!(text, "{comma}{line}");
        comma = ",\n";
    };
    let lanes = timeline.lanes();
    // Of one place, and of others if there are any.
    let places = lanes.iter().map(|(row, _)| row.place).max().unwrap_or(0) + 1;
    for (process, name) in (0..places).flat_map(|place| [(2 * place, timeline.device()), (2 * place + 1, "host")]) {
        let name = quoted(&if places > 1 { format!("{}: {name}", process / 2) } else { name.to_owned() });
        event(format_args!(r#"{{"ph":"M","name":"process_name","pid":{process},"args":{{"name":{name}}}}}"#));
    }
    for (row, spans) in lanes {
        let (process, thread) = match row.lane {
            Lane::Stream(number) => (0, number),
            Lane::Thread(number) => (1, number),
            Lane::Compiler(number) => (1, COMPILERS + number),
            Lane::Files => (1, FILES),
        };
        let (process, name) = (2 * row.place + process, quoted(&row.lane.name()));
        event(format_args!(
            r#"{{"ph":"M","name":"thread_name","pid":{process},"tid":{thread},"args":{{"name":{name}}}}}"#
        ));
        for span in spans {
            let (name, kind, bytes) = (quoted(&span.name), quoted(span.kind.name()), span.bytes);
            let (start, length) = (span.start * 1e6, (span.end - span.start) * 1e6);
            event(format_args!(
                r#"{{"ph":"X","name":{name},"cat":{kind},"pid":{process},"tid":{thread},"ts":{start:.3},"dur":{length:.3},"args":{{"bytes":{bytes}}}}}"#
            ));
        }
    }
    text.push_str("\n]}\n");
    text
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Into a string: it cannot fail.
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
