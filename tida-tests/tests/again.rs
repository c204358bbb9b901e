//! Calls that come again and again, of which what was found once is taken over: the values of plain loops, whatever
//! changes from call to call.

use std::time::Duration;

use tida::prelude::*;

/// One that a program never pauses: what is known of calls is forgotten when it waits alone.
fn acc() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).pause(Duration::from_secs(600)).build().unwrap()
}

fn filled(acc: &TileAcc, seed: usize) -> TileArray<f64, 1> {
    let mut array = TileArray::<f64, 1>::builder([64]).build(acc).unwrap();
    array.fill(|[i]| ((i * 7 + seed * 3) % 11) as f64).unwrap();
    array
}

/// One step of a mean, of a factor that the kernel captures, over tiles of so many cells.
fn step(next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>, factor: f64, tile: usize) -> tida::Result<()> {
    let mut tiles = TileIter::new(u).within([1], [63]).tile_size([tile]);
    tiles.try_for_each(|tile| {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| next[at] = factor * (u[at - [1]] + u[at + [1]]) + 0.25 * next[at]),
        )
    })
}

fn plain_step(next: &mut [f64], u: &[f64], factor: f64) {
    (1..63).for_each(|i| next[i] = factor * (u[i - 1] + u[i + 1]) + 0.25 * next[i]);
}

/// The same values, others in turn, new ones at times; one tile and several; two arrays in turn, and a third at times.
#[test]
fn calls_have_the_values_of_loops() {
    for (tile, factors) in [(62, [0.5, 0.5]), (62, [0.5, 0.25]), (20, [0.5, 0.5]), (20, [0.25, 0.5])] {
        let acc = acc();
        let mut arrays: Vec<_> = (0..3).map(|n| filled(&acc, n)).collect();
        let mut plain: Vec<Vec<f64>> = arrays.iter().map(|array| array.read_box(array.domain()).unwrap()).collect();
        for turn in 0..48usize {
            // New values in some turns, which no call had before.
            let factor = if turn % 7 == 6 { 0.01 * turn as f64 } else { factors[turn / 2 % 2] };
            let (to, from) = if turn % 5 == 4 { (2, 0) } else { (turn % 2, 1 - turn % 2) };
            let mut next = arrays.remove(to);
            step(&mut next, &arrays[if from > to { from - 1 } else { from }], factor, tile).unwrap();
            arrays.insert(to, next);
            let mut next = std::mem::take(&mut plain[to]);
            plain_step(&mut next, &plain[from], factor);
            plain[to] = next;
        }
        for (array, plain) in arrays.iter().zip(&plain) {
            assert_eq!(&array.read_box(array.domain()).unwrap(), plain, "tiles of {tile} cells, {factors:?}");
        }
    }
}

/// A call that came before is refused all the same once the ghosts that it reads are old.
#[test]
fn ghosts_are_looked_at_each_time() {
    let acc = acc();
    let build = || TileArray::<f64, 1>::builder([64]).ghost(1).boundary(Boundary::Periodic).build(&acc).unwrap();
    let (mut u, mut next) = (build(), build());
    u.fill(|[i]| i as f64).unwrap();
    let sum = |next: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>| {
        TileIter::new(u).try_for_each(|tile| {
            compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = u[at - [1]] + u[at + [1]]))
        })
    };
    u.fill_ghosts().unwrap();
    (0..4).for_each(|_| sum(&mut next, &u).unwrap());
    TileIter::new(&u).for_each(|tile| compute(&tile, &mut u, kernel!(|u, at| u[at] += 1.0)).unwrap());
    assert_eq!(sum(&mut next, &u).unwrap_err().kind(), ErrorKind::StaleGhost);
    u.fill_ghosts().unwrap();
    sum(&mut next, &u).unwrap();
    assert_eq!(next.read_box(GridBox::new([0], [2])).unwrap(), [66.0, 4.0]);
}

/// Tables, captured lists and integers, whole arrays, orders and colours that change while all else stays.
#[test]
fn what_changes_is_seen() {
    let acc = acc();
    let (mut u, mut w) = (filled(&acc, 1), filled(&acc, 2));
    let mut plain = [&u, &w].map(|array| array.read_box(array.domain()).unwrap());
    let mut line = TileArray::<f64, 1>::builder([64]).ghost(1).build(&acc).unwrap();
    line.fill_value(0.0).unwrap();
    let mut sums = vec![0.0; 64];
    for turn in 0..30usize {
        let change = turn / 3;
        let (list, by) = ([0.5, 0.25 * change as f64], (change % 3) as i64);
        let weights = [1.0 + change as f64, 0.125];
        for tile in w.tiles().within([2], [62]) {
            compute(
                &tile,
                (&mut w, all(&u), table(&weights)),
                kernel!(|w, u, weights, at| w[at] = list[0] * u[[at[0] - by]] + list[1] * weights[0] + weights[1]),
            )
            .unwrap();
        }
        let [plain_u, plain_w] = &mut plain;
        for i in 2..62 {
            plain_w[i] = list[0] * plain_u[i - by as usize] + list[1] * weights[0] + weights[1];
        }
        // Forwards and backwards in turn.
        if change % 2 == 0 {
            sweep_along(0, Forward, line.tiles(), (&mut line, &w), kernel!(|s, w, at| s[at] = w[at] + s[at - [1]]))
                .unwrap();
            (0..64).for_each(|i| sums[i] = plain_w[i] + if i > 0 { sums[i - 1] } else { 0.0 });
        } else {
            sweep_along(0, Backward, line.tiles(), (&mut line, &w), kernel!(|s, w, at| s[at] = w[at] + s[at + [1]]))
                .unwrap();
            (0..64).rev().for_each(|i| sums[i] = plain_w[i] + if i < 63 { sums[i + 1] } else { 0.0 });
        }
        let colour = change % 2;
        sweep_colour(
            Colour::red_black(colour),
            u.tiles().within([1], [63]),
            (&mut u, &w),
            kernel!(|u, w, at| u[at] = 0.25 * (u[at - [1]] + u[at + [1]]) + 0.125 * w[at]),
        )
        .unwrap();
        for i in (1..63).filter(|i| i % 2 == colour) {
            plain_u[i] = 0.25 * (plain_u[i - 1] + plain_u[i + 1]) + 0.125 * plain_w[i];
        }
    }
    for (array, plain) in [(&u, &plain[0]), (&w, &plain[1]), (&line, &sums)] {
        assert_eq!(&array.read_box(array.domain()).unwrap(), plain);
    }
}
