//! The waves of `seismic` by plain loops.

use crate::seismic::{LAMBDA, MU, RATE, WIDTH, damping, source};

/// A field of `P` parts in its own shape.
struct Field<const P: usize> {
    shape: [usize; 3],
    data: Vec<[f32; P]>,
}

impl<const P: usize> Field<P> {
    /// A field of `n` values on each axis, one more on those that are named.
    fn new(n: usize, faces: &[usize]) -> Field<P> {
        let shape = [0, 1, 2].map(|axis| n + usize::from(faces.contains(&axis)));
        Field { shape, data: vec![[0.0; P]; shape.iter().product()] }
    }

    fn place(&self, [k, j, i]: [usize; 3]) -> usize {
        (k * self.shape[1] + j) * self.shape[2] + i
    }

    /// The derivative between two values.
    fn slope(&self, high: [usize; 3], low: [usize; 3]) -> f32 {
        let (high, low) = (self.data[self.place(high)], self.data[self.place(low)]);
        let mut sum = (high[0] - low[0]) / WIDTH;
        for part in 1..P {
            sum += (high[part] - low[part]) / WIDTH;
        }
        sum
    }

    /// A step of a part.
    fn drive(&mut self, at: [usize; 3], part: usize, force: f32, damping: f32) {
        let place = self.place(at);
        let value = &mut self.data[place][part];
        *value = (*value * (RATE - 0.5 * damping) + force) / (RATE + 0.5 * damping);
    }
}

fn above(mut at: [usize; 3], axis: usize) -> [usize; 3] {
    at[axis] += 1;
    at
}

fn below(mut at: [usize; 3], axis: usize) -> [usize; 3] {
    at[axis] -= 1;
    at
}

/// All coordinates from `low` to `n` on each axis.
fn places(low: [usize; 3], n: usize) -> impl Iterator<Item = [usize; 3]> {
    (low[0]..n).flat_map(move |k| (low[1]..n).flat_map(move |j| (low[2]..n).map(move |i| [k, j, i])))
}

/// The parts of the three velocities, axis by axis, after `steps` steps.
pub fn waves(n: usize, steps: u64) -> Vec<f32> {
    let mut v = [0, 1, 2].map(|axis| Field::<3>::new(n, &[axis]));
    let mut normal = [0, 1, 2].map(|_| Field::<3>::new(n, &[]));
    // By the axis that they do not lie between: yz, xz, xy.
    let edges = [[1, 2], [0, 2], [0, 1]];
    let mut shear = edges.map(|axes| Field::<2>::new(n, &axes));
    let cell = |i: usize| damping(i as f64 + 0.5, n);
    let face = |i: usize| damping(i as f64, n);
    for step in 0..steps {
        for at in places([0; 3], n) {
            for axis in 0..3 {
                let slope = v[axis].slope(above(at, axis), at);
                for (of, stress) in normal.iter_mut().enumerate() {
                    let stiffness = if of == axis { LAMBDA + 2.0 * MU } else { LAMBDA };
                    stress.drive(at, axis, stiffness * slope, cell(at[axis]));
                }
            }
        }
        for (stress, [first, second]) in shear.iter_mut().zip(edges) {
            let mut low = [0; 3];
            (low[first], low[second]) = (1, 1);
            for at in places(low, n) {
                let slopes = [v[second].slope(at, below(at, first)), v[first].slope(at, below(at, second))];
                stress.drive(at, 0, MU * slopes[0], face(at[first]));
                stress.drive(at, 1, MU * slopes[1], face(at[second]));
            }
        }
        for (axis, v) in v.iter_mut().enumerate() {
            let mut low = [0; 3];
            low[axis] = 1;
            for at in places(low, n) {
                for along in 0..3 {
                    if along == axis {
                        v.drive(at, along, normal[axis].slope(at, below(at, axis)), face(at[axis]));
                    } else {
                        let stress = &shear[3 - axis - along];
                        v.drive(at, along, stress.slope(above(at, along), at), cell(at[along]));
                    }
                }
            }
        }
        let place = v[2].place([n / 2; 3]);
        v[2].data[place][2] += source(step) / RATE;
    }
    v.iter().flat_map(|v| v.data.iter().flatten()).copied().collect()
}
