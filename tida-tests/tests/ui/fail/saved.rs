use tida::array::Saved;
use tida::prelude::*;

/// What `save` and `restore` do in turn: with the files of another array, or out of turn, memory would be overwritten.
fn mixed_up(u: &mut TileArray<f64, 1>, other: &TileArray<[f64; 9], 1>, mut file: &[u8]) {
    u.read_part(&other.parts()[0], &mut file, "mix up").unwrap();
}

fn out_of_turn(array: &mut dyn Saved, mut file: &[u8]) {
    array.make_way().unwrap();
    array.kept_mut().0.read(0, &mut file, 8, "read").unwrap();
}

struct Mine;

impl Saved for Mine {}

fn main() {}
