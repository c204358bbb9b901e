//! Faults for `cargo xtask sanitize` to find, so that it is known to find any. They have undefined behaviour: run them
//! nowhere else.

use std::cell::UnsafeCell;

#[test]
#[ignore = "only for cargo xtask sanitize"]
fn memory_that_was_given_back_is_read() {
    let memory = Box::into_raw(Box::new(1u8));
    // SAFETY: none. The read comes after the end of the memory.
    let value = unsafe {
        drop(Box::from_raw(memory));
        std::hint::black_box(memory).read_volatile()
    };
    println!("{value}");
}

#[test]
#[ignore = "only for cargo xtask sanitize"]
fn two_threads_write_one_cell() {
    struct Cell(UnsafeCell<u32>);
    // SAFETY: none. Nothing orders the two threads.
    unsafe impl Sync for Cell {}
    let cell = Cell(UnsafeCell::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let cell = &cell;
            // SAFETY: none, as above.
            scope.spawn(move || (0..100).for_each(|_| unsafe { *std::hint::black_box(cell.0.get()) += 1 }));
        }
    });
    println!("{}", cell.0.into_inner());
}
