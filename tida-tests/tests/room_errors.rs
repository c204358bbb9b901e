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
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[[at[0] * at[1] % 128, 0]])).unwrap();
    }
    told(
        &next,
        &["region by region because of the read of `u`", &format!("room_errors.rs:{line}:"), "smaller regions"],
    );
}
