//! Generic functions of tida that most tests call, for the types that most of them have.
//!
//! They are compiled with this library, once. Without it each program of tests would compile them again.

use tida::prelude::*;

/// Calls them.
///
/// # Errors
/// Those of the calls.
pub fn calls(acc: &TileAcc) -> tida::Result<()> {
    of::<f64, 1>(acc, 1.0, [2])?;
    of::<f64, 2>(acc, 1.0, [2; 2])?;
    of::<f64, 3>(acc, 1.0, [2; 3])?;
    of::<f32, 1>(acc, 1.0, [2])?;
    of::<f32, 2>(acc, 1.0, [2; 2])?;
    of::<f32, 3>(acc, 1.0, [2; 3])?;
    of::<i32, 1>(acc, 1, [2])?;
    of::<i32, 2>(acc, 1, [2; 2])?;
    of::<u32, 1>(acc, 1, [2])?;
    of::<u32, 2>(acc, 1, [2; 2])?;
    of::<u64, 1>(acc, 1, [2])?;
    of::<[f64; 3], 2>(acc, [1.0; 3], [2; 2])
}

fn of<T: Element + Copy, const D: usize>(acc: &TileAcc, value: T, shape: [usize; D]) -> tida::Result<()> {
    let builder = TileArray::<T, D>::builder(shape).regions([1; D]).region_size(shape).ghost(1);
    let mut u = builder.boundary(Boundary::Fixed(value)).build(acc)?;
    u.fill_value(value)?;
    let values = u.read_box(u.domain())?;
    u.write_box(u.domain(), &values)?;
    u.fill_ghosts()?;
    let mut next = u.like()?;
    next.copy_from(&u)?;
    fill_ghosts((&mut next, &mut u))?;
    for tile in TileIter::new(&u) {
        assert_eq!(tile.cells().cells(), 1 << D);
    }
    next.discard();
    drop(u.try_clone()?);
    Ok(())
}

#[test]
fn what_tests_share_works() {
    calls(&crate::on_cpu()).unwrap();
}
