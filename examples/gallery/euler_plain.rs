//! The gas of `euler` by plain loops.

use tida_suite::oracle::{Grid, Outside};

use crate::euler::{CFL, GAMMA, quadrant};

type State = [f64; 4];

fn conserved([rho, u, v, p]: State) -> State {
    [rho, rho * u, rho * v, p / (GAMMA - 1.0) + 0.5 * rho * (u * u + v * v)]
}

fn primitive([rho, mx, my, e]: State) -> State {
    [rho, mx / rho, my / rho, (GAMMA - 1.0) * (e - 0.5 * (mx * mx + my * my) / rho)]
}

fn sound([rho, _, _, p]: State) -> f64 {
    (GAMMA * p / rho).sqrt()
}

/// Half of the lesser of two slopes.
fn half_slope(a: f64, b: f64) -> f64 {
    0.5 * match (a * b <= 0.0, a.abs() < b.abs()) {
        (true, _) => 0.0,
        (false, true) => a,
        (false, false) => b,
    }
}

/// The flux through a face, along the velocity that is number `axis` of a state, from four cells `step` apart; the
/// third is at `at`.
pub fn flux(cells: &[State], at: usize, step: usize, axis: usize) -> State {
    // Density, velocity through the face and along it, pressure.
    let order = [0, axis, 3 - axis, 3];
    let near = [at - 2 * step, at - step, at, at + step].map(|place| {
        let w = primitive(cells[place]);
        order.map(|k| w[k])
    });
    let [a, b, c, d] = near;
    let l: State = std::array::from_fn(|k| b[k] + half_slope(b[k] - a[k], c[k] - b[k]));
    let r: State = std::array::from_fn(|k| c[k] - half_slope(c[k] - b[k], d[k] - c[k]));
    let slowest = (l[1] - sound(l)).min(r[1] - sound(r)).min(0.0);
    let fastest = (l[1] + sound(l)).max(r[1] + sound(r)).max(0.0);
    let (cl, cr) = (conserved(l), conserved(r));
    let flow = |c: State, w: State| [c[1], c[1] * w[1] + w[3], c[2] * w[1], (c[3] + w[3]) * w[1]];
    let (fl, fr) = (flow(cl, l), flow(cr, r));
    let through: State = std::array::from_fn(|k| {
        (fastest * fl[k] - slowest * fr[k] + slowest * fastest * (cr[k] - cl[k])) / (fastest - slowest)
    });
    order.map(|k| through[k])
}

/// The fluxes through all faces of a periodic gas: along x with `n + 1` a row, along y with `n + 1` rows.
fn fluxes(gas: &mut Grid<State>, n: usize) -> [Vec<State>; 2] {
    gas.fill_ghosts(Outside::Periodic);
    let row = gas.stride(1);
    let (mut fx, mut fy) = (Vec::with_capacity(n * (n + 1)), Vec::with_capacity(n * (n + 1)));
    for j in 0..n {
        for i in 0..=n {
            fx.push(flux(&gas.data, gas.position(0, j, i), 1, 1));
        }
    }
    for j in 0..=n {
        for i in 0..n {
            fy.push(flux(&gas.data, gas.position(0, j, i), row, 2));
        }
    }
    [fx, fy]
}

/// What is conserved in each cell after some steps.
pub fn flowed(n: usize, steps: u64) -> Vec<f64> {
    let start: Vec<State> = (0..n * n).map(|cell| conserved(quadrant(n, [cell / n, cell % n]))).collect();
    let mut gas = Grid::new(&[n, n], 2, &start);
    let mut half = gas.clone();
    for _ in 0..steps {
        let speed = |c: State| {
            let w = primitive(c);
            sound(w) + w[1].abs().max(w[2].abs())
        };
        let ratio = CFL / gas.cells().into_iter().map(speed).fold(f64::NEG_INFINITY, f64::max);
        let [fx, fy] = fluxes(&mut gas, n);
        let change = |fx: &[State], fy: &[State], j: usize, i: usize, k: usize| {
            let (x, y) = (j * (n + 1) + i, j * n + i);
            ratio * ((fx[x + 1][k] - fx[x][k]) + (fy[y + n][k] - fy[y][k]))
        };
        for j in 0..n {
            for i in 0..n {
                let at = gas.position(0, j, i);
                for k in 0..4 {
                    half.data[at][k] = gas.data[at][k] - change(&fx, &fy, j, i, k);
                }
            }
        }
        let [fx, fy] = fluxes(&mut half, n);
        for j in 0..n {
            for i in 0..n {
                let at = gas.position(0, j, i);
                for k in 0..4 {
                    gas.data[at][k] = 0.5 * (gas.data[at][k] + (half.data[at][k] - change(&fx, &fy, j, i, k)));
                }
            }
        }
    }
    gas.cells().concat()
}
