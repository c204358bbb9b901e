//! Work on all threads of a pool.
//!
//! A program that calls the library compiles the library's generic functions for its own types. What rayon makes for
//! each of its calls is hundreds of functions, so generic code calls it through these, which are compiled once.

pub(crate) mod lanes;

use rayon::prelude::*;

/// Calls `work` with 0 to `count - 1`, on the threads of the pool that it is called in. A thread takes at least so many
/// calls at once.
pub(crate) fn each(count: usize, at_least: usize, work: &(dyn Fn(usize) + Sync)) {
    if count <= at_least {
        return (0..count).for_each(work);
    }
    (0..count).into_par_iter().with_min_len(at_least.max(1)).for_each(work);
}

/// Calls `work` with each piece of so many bytes, the last of which may be shorter, and its number: as [`each`], a
/// piece at a time.
pub(crate) fn each_piece(bytes: &mut [u8], piece: usize, work: &(dyn Fn(usize, &mut [u8]) + Sync)) {
    if bytes.len() <= piece {
        return work(0, bytes);
    }
    bytes.par_chunks_mut(piece.max(1)).enumerate().for_each(|(number, piece)| work(number, piece));
}

/// Bytes that are worth one more thread.
const WORTH_A_THREAD: usize = 1 << 20;

/// Calls `work` with each of these, of so many bytes in all, on threads of their own: those of a pool that waits may
/// turn to other work, which must not happen where a lock is held.
pub(crate) fn apart<T: Sync>(all: &[T], bytes: usize, work: &(dyn Fn(&T) + Sync)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(bytes / WORTH_A_THREAD);
    if threads <= 1 {
        return all.iter().for_each(work);
    }
    std::thread::scope(|scope| {
        for part in all.chunks(all.len().div_ceil(threads).max(1)) {
            scope.spawn(move || part.iter().for_each(work));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_piece_comes_with_its_number() {
        for (bytes, piece) in [(0, 4), (3, 4), (4, 4), (5, 4), (1000, 1), (1000, 0), (1000, 999)] {
            let mut all = vec![99; bytes];
            each_piece(&mut all, piece, &|number, piece| piece.fill(number as u8));
            let known = all.iter().enumerate().all(|(at, byte)| *byte == (at / piece.max(1)) as u8);
            assert!(known, "{bytes} {piece}");
        }
    }

    #[test]
    fn threads_of_their_own_do_all() {
        for (count, bytes) in [(0, 0), (3, 0), (3, 3 << 20), (1, 9 << 20), (100, 64 << 20)] {
            let calls: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            apart(&calls, bytes, &|call| {
                call.fetch_add(1, Ordering::Relaxed);
            });
            assert!(calls.into_iter().all(|calls| calls.into_inner() == 1), "{count} {bytes}");
        }
    }

    #[test]
    fn each_number_comes_once() {
        for (count, at_least) in [(0, 1), (1, 0), (5, 8), (1000, 1), (1000, 0), (1000, 64)] {
            let calls: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            each(count, at_least, &|n| {
                calls[n].fetch_add(1, Ordering::Relaxed);
            });
            assert!(calls.into_iter().all(|calls| calls.into_inner() == 1), "{count} {at_least}");
        }
    }
}
