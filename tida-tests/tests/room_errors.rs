//! Errors of too little room on a device.

use tida::SimDevice;
use tida::prelude::*;

/// What keeps arrays from streaming is named, with its line, and what to do of it.
#[test]
fn errors_say_what_needs_the_room() {
    let acc = TileAcc::builder().simulate(SimDevice::new()).memory_limit(100_000).build().unwrap();
    let new = || {
        let builder = TileArray::<f64, 2>::builder([128, 128]).ghost(1).boundary(Boundary::Fixed(0.0));
        let mut array = builder.build(&acc).unwrap();
        array.fill_value(1.0).unwrap();
        array
    };
    let (mut u, mut next) = (new(), new());
    let mut profile = TileArray::<f64, 1>::builder([8192]).build(&acc).unwrap();
    profile.fill_value(0.25).unwrap();
    let told = |next: &TileArray<f64, 2>, wanted: &[&str]| {
        let error = next.read_box(next.domain()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let text = error.to_string();
        assert!(wanted.iter().all(|part| text.contains(part)), "{wanted:?} in: {text}");
    };
    u.fill_ghosts().unwrap();
    let line = line!() + 3;
    for tile in TileIter::new(&u) {
        let args = (&mut next, &u, all(&profile));
        compute(&tile, args, kernel!(|next, u, p, at| next[at] = p[[at[0]]] * u[at + [1, 0]])).unwrap();
    }
    told(
        &next,
        &[
            "as a whole because of `p`",
            "`all`",
            &format!("room_errors.rs:{line}:"),
            "half of the memory",
            "bytes of arrays there: ",
            "hold",
            "Device::Cpu",
        ],
    );
    next.fill_value(0.0).unwrap();
    let mut ring = TileArray::<f64, 2>::builder([128, 128]).ghost(1).boundary(Boundary::Periodic).build(&acc).unwrap();
    ring.fill_value(1.0).unwrap();
    for tile in TileIter::new(&ring).grown(1).within([-1, 0], [0, 128]) {
        compute(&tile, &mut ring, kernel!(|u, at| u[at] = 2.0)).unwrap();
    }
    told(&ring, &["region by region because of tiles that were grown", "room_errors.rs:", "smaller regions"]);
    u.fill_value(1.0).unwrap();
    u.fill_ghosts().unwrap();
    let line = line!() + 2;
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[[u[at] as i64, 0]])).unwrap();
    }
    told(
        &next,
        &["region by region because of the read of `u`", &format!("room_errors.rs:{line}:"), "smaller regions"],
    );
}

/// Where windows of planes do not fit beside an array that is read as a whole, both are named.
#[test]
fn errors_name_windows_beside_whole_arrays() {
    let acc = TileAcc::builder().simulate(SimDevice::new()).memory_limit(100_000).build().unwrap();
    let mut u = TileArray::<f64, 2>::builder([64, 1024]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc).unwrap();
    u.fill_value(1.0).unwrap();
    let mut next = u.like().unwrap();
    let mut profile = TileArray::<f64, 1>::builder([6000]).build(&acc).unwrap();
    profile.fill_value(0.25).unwrap();
    u.fill_ghosts().unwrap();
    for tile in TileIter::new(&u) {
        let args = (&mut next, &u, all(&profile));
        compute(&tile, args, kernel!(|next, u, p, at| next[at] = p[[at[0]]] * u[at + [1, 0]])).unwrap();
    }
    let error = next.read_box(next.domain()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    for part in ["window of planes", "beside 48128 bytes of arrays that are read as a whole", "these windows need"] {
        assert!(error.to_string().contains(part), "{part} in: {error}");
    }
}

/// Cells of an array that is written; three times as many are read as a whole.
const CELLS: usize = 1 << 13;

/// An accelerator with room for one pair of such arrays, and for one more that is written.
fn with_room_for_a_pair() -> TileAcc {
    let limit = 5 * CELLS as u64 * 8;
    TileAcc::builder().simulate(SimDevice::new()).memory_limit(limit).build().unwrap()
}

/// A pair of such arrays.
fn pair(acc: &TileAcc, seed: i64) -> (TileArray<i64, 1>, TileArray<i64, 1>) {
    let mut profile = TileArray::<i64, 1>::builder([3 * CELLS]).build(acc).unwrap();
    profile.fill(|[x]| x as i64 * seed).unwrap();
    (TileArray::builder([CELLS]).build(acc).unwrap(), profile)
}

/// Adds to an array.
fn add(sum: &mut TileArray<i64, 1>, profile: &TileArray<i64, 1>) {
    for tile in TileIter::new(sum) {
        let args = (&mut *sum, all(profile));
        compute(&tile, args, kernel!(|sum, p, at| sum[at] = sum[at] + p[[(at[0] * 2) as i64]])).unwrap();
    }
}

/// The last value of an array to which was added so often.
fn check(sum: &TileArray<i64, 1>, seed: i64, times: i64) {
    let last = CELLS as i64 - 1;
    assert_eq!(sum.read_box(GridBox::new([last], [last + 1])).unwrap(), [times * 2 * last * seed]);
}

/// Arrays that fit by themselves have room, whatever was used just now: it leaves.
#[test]
fn arrays_that_fit_alone_have_room() {
    let acc = with_room_for_a_pair();
    let mut pairs = [1, 2, 3].map(|seed| pair(&acc, seed));
    for _ in 0..5 {
        pairs.iter_mut().for_each(|(sum, profile)| add(sum, profile));
    }
    pairs.iter().zip(1..).for_each(|((sum, _), seed)| check(sum, seed, 5));
    // Also what was replaced leaves.
    for _ in 0..5 {
        pairs = [4, 5, 6].map(|seed| pair(&acc, seed));
        pairs.iter_mut().for_each(|(sum, profile)| add(sum, profile));
    }
    pairs.iter().zip(4..).for_each(|((sum, _), seed)| check(sum, seed, 1));
    acc.sync().unwrap();
}

/// Threads record work whose arrays have room for those of one of them at a time: they take turns.
#[test]
fn threads_take_turns_with_the_room() {
    let acc = with_room_for_a_pair();
    let work = &|seed: i64| {
        let (mut sum, profile) = pair(&acc, seed);
        for times in 1..40 {
            add(&mut sum, &profile);
            check(&sum, seed, times);
        }
    };
    std::thread::scope(|scope| (1..4).for_each(|seed| drop(scope.spawn(move || work(seed)))));
    acc.sync().unwrap();
}
