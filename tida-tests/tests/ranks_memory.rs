//! A rank that has no memory for what all ranks read: it makes the call all the same, and the others are told.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tida::prelude::*;
use tida_tests::ranks::on_ranks;

/// The system's memory, of which a thread can be refused pieces of some size.
struct Refusing;

thread_local! {
    /// So many bytes at once are too many for this thread.
    static TOO_MANY: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: what is given is the system's; null says that there is none.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match TOO_MANY.try_with(|too_many| layout.size() >= too_many.get()) {
            Ok(true) => std::ptr::null_mut(),
            // SAFETY: handed on.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: handed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: Refusing = Refusing;

/// Runs `f` while this thread is given less than so many bytes at once.
fn with_less_than<R>(bytes: usize, f: impl FnOnce() -> R) -> R {
    TOO_MANY.set(bytes);
    let given = f();
    TOO_MANY.set(usize::MAX);
    given
}

#[test]
fn a_rank_without_memory_tells_the_others() {
    // All cells; and those of which the first rank has all.
    let boxes = [GridBox::new([0, 0], [24, 64]), GridBox::new([1, 0], [7, 64])];
    for (poor, cells) in (0..3).flat_map(|rank| boxes.map(|cells| (rank, cells))) {
        let run = |acc: &TileAcc| {
            let mut u = TileArray::<f64, 2>::builder([24, 64]).build(acc).unwrap();
            u.fill(|[i, j]| (i * 64 + j) as f64).unwrap();
            let bytes = if acc.rank() == poor { cells.cells() * 8 } else { usize::MAX };
            let read = with_less_than(bytes, || u.read_box_later(cells));
            let values = read.and_then(|later| later.get().map(<[f64]>::to_vec));
            // They go on, and agree about the calls.
            let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
            assert_eq!(sum, (0..24 * 64).sum::<usize>() as f64);
            let again = u.read_box_later(cells).unwrap();
            let expected: Vec<f64> = (cells.lo[0] * 64..cells.hi[0] * 64).map(|n| n as f64).collect();
            assert!(again.get().unwrap() == expected);
            values.map(|values| assert!(values == expected))
        };
        let read = on_ranks(3, 40 + poor as u64, |of| of.device(Device::Cpu), run);
        for (rank, read) in read.into_iter().enumerate() {
            // What a rank has none of it need not give.
            let has_some = cells == boxes[0] || poor == 0;
            let what = format!("rank {rank}, where rank {poor} has no memory for {cells:?}: {read:?}");
            match read {
                Ok(()) => assert!(rank != poor && !has_some, "{what}"),
                Err(error) => {
                    assert!(rank == poor || has_some, "{what}");
                    assert_eq!(error.kind(), ErrorKind::Memory, "{what}");
                    assert!(error.found().contains("no memory for"), "{what}");
                    let names = error.found().contains(&format!("on rank {poor}"));
                    assert_eq!(names, rank != poor, "{what}");
                }
            }
        }
    }
}
