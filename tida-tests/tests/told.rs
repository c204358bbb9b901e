//! What is said of kernels that run slower than they could: once each, with the place.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tida::prelude::*;
use tida_tests::on_cpu;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps warnings.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                write!(self.0, "{}={value:?} ", field.name()).unwrap();
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The warnings of `f`.
fn heard(f: impl FnOnce()) -> Vec<String> {
    let heard = Heard::default();
    tracing::subscriber::with_default(heard.clone(), f);
    let all = heard.0.lock().unwrap();
    all.clone()
}

fn arrays() -> [TileArray<f64, 2>; 2] {
    let mut u = TileArray::<f64, 2>::builder([16, 64]).build(&on_cpu()).unwrap();
    u.fill(|[j, i]| (j + i) as f64).unwrap();
    [u.like().unwrap(), u]
}

#[test]
fn a_checked_read_is_told_once() {
    let [mut v, u] = arrays();
    let said = heard(|| {
        for _ in 0..3 {
            for tile in TileIter::new(&v) {
                let proven = compute(
                    &tile,
                    (&mut v, all(&u)),
                    kernel!(|v, u, at| {
                        v[at] = u[[at[0] % 16, at[1] / 3]];
                    }),
                );
                proven.unwrap();
            }
        }
        v.acc().sync().unwrap();
    });
    assert_eq!(said, [""; 0], "quotients are proven");
    let line = line!() + 8;
    let said = heard(|| {
        for _ in 0..3 {
            for tile in TileIter::new(&v) {
                let checked = compute(
                    &tile,
                    (&mut v, all(&u)),
                    kernel!(|v, u, at| {
                        v[at] = u[[at[0], (u[at] * 0.5) as i64]];
                    }),
                );
                checked.unwrap();
            }
        }
        v.acc().sync().unwrap();
    });
    let [only] = said.as_slice() else { panic!("{said:?}") };
    let place = format!("{}:{line}:", file!());
    assert!(only.contains("the read of `u`") && only.contains(&place), "{place} {only}");
}

#[test]
fn a_loop_that_each_cell_takes_by_itself_is_told_once() {
    let [mut v, u] = arrays();
    let line = line!() + 5;
    macro_rules! own {
        () => {
            kernel!(|v, u, at| {
                let mut s = u[at];
                for _ in 0..at[1] {
                    s = s * 0.5 + 1.0;
                }
                v[at] = s;
            })
        };
    }
    let said = heard(|| {
        for _ in 0..3 {
            TileIter::new(&u).for_each(|tile| compute(&tile, (&mut v, &u), own!()).unwrap());
        }
    });
    let place = format!("{}:{line}:17", file!());
    assert!(matches!(said.as_slice(), [only] if only.contains(&place)), "{place} {said:?}");
    let text = tida::explain((&mut v, &u), own!()).unwrap().to_string();
    assert!(text.contains(&format!("alone: each cell takes the loop at {place}")), "{text}");
}

#[test]
fn loops_that_cells_take_together_are_fast() {
    let [mut v, u] = arrays();
    let n = 16i64;
    macro_rules! together {
        () => {
            kernel!(|v, u, at| {
                let mut s = 0.0;
                for k in 0..n {
                    s += u[[k, at[1]]];
                }
                for k in 0..3 {
                    s *= k as f64;
                }
                v[at] = s;
            })
        };
    }
    let said = heard(|| TileIter::new(&u).for_each(|tile| compute(&tile, (&mut v, all(&u)), together!()).unwrap()));
    assert_eq!(said, [""; 0]);
    let text = tida::explain((&mut v, all(&u)), together!()).unwrap().to_string();
    assert!(text.contains("blocks: 8 x 256 cells") && !text.contains("alone:"), "{text}");
}
