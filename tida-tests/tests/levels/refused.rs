//! What goes wrong with arguments of other resolutions is an error of the call that says what to do.

use tida::prelude::*;
use tida_tests::{expect, on_cpu};

fn field(acc: &TileAcc, cells: usize, regions: usize, ghost: usize) -> TileArray<f64, 2> {
    let mut field = TileArray::builder([cells, 6]).regions([regions, 1]).ghost(ghost).build(acc).unwrap();
    field.fill_value(1.0).unwrap();
    field
}

fn first(array: &TileArray<f64, 2>) -> Tile<2> {
    TileIter::new(array).next().unwrap()
}

#[test]
fn cuts_that_do_not_go_together() {
    let acc = on_cpu();
    let mut u = field(&acc, 16, 2, 1);
    let copy = |c: &TileArray<f64, 2>, u: &mut TileArray<f64, 2>| {
        compute(&first(u), (u, coarse(c)), kernel!(|u, c, at| u[at] = c[[at[0] / 2, at[1]]]))
    };
    for other in [field(&acc, 8, 1, 1), field(&acc, 12, 2, 1), field(&acc, 16, 2, 1)] {
        expect(copy(&other, &mut u), ErrorKind::Cuts, &["`c`", "half", "copy_from", "all(&c)"]);
    }
    assert!(copy(&field(&acc, 8, 2, 1), &mut u).is_ok());
    let mut c = field(&acc, 8, 2, 1);
    let found =
        compute(&first(&c), (&mut c, fine(&field(&acc, 16, 4, 1))), kernel!(|c, u, at| c[at] = u[[2 * at[0], at[1]]]));
    expect(found, ErrorKind::Cuts, &["`u`", "twice", "copy_from"]);
}

#[test]
fn reads_that_reach_too_far_or_are_old() {
    let acc = on_cpu();
    let (mut u, c) = (field(&acc, 16, 2, 1), field(&acc, 8, 2, 1));
    let far = compute(&first(&u), (&mut u, coarse(&c)), kernel!(|u, c, at| u[at] = c[[at[0] / 2 + 2, at[1]]]));
    expect(far, ErrorKind::Ghost, &["a read of `c`", ".ghost(2)"]);
    let near = |u: &mut TileArray<f64, 2>, c: &TileArray<f64, 2>| {
        compute(&first(u), (u, coarse(c)), kernel!(|u, c, at| u[at] = c[[(at[0] + 1) / 2, at[1]]]))
    };
    expect(near(&mut u, &c), ErrorKind::StaleGhost, &["`c.fill_ghosts()?`"]);
    let mut c = c;
    c.fill_ghosts().unwrap();
    near(&mut u, &c).unwrap();
}

#[test]
fn a_cells_own_coordinates() {
    let acc = on_cpu();
    let (mut u, c) = (field(&acc, 16, 1, 1), field(&acc, 8, 1, 1));
    let found = compute(&first(&u), (&mut u, coarse(&c)), kernel!(|u, c, at| u[at] = c[at]));
    expect(found, ErrorKind::Argument, &["`c[at]`", "own coordinates", "c[[at[0] / 2, ..]]"]);
}

#[test]
fn a_level_has_no_cells_to_reduce() {
    let acc = on_cpu();
    let c = field(&acc, 8, 1, 1);
    let found = reduce((coarse(&c),), Sum, kernel!(|c, at| c[[at[0] / 2, at[1]]]));
    expect(found.map(drop), ErrorKind::Argument, &["array"]);
}
