//! What is read and written where: axes, points, computed indexes, whole arrays, tables, faces.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

#[test]
fn heat_in_one_axis() {
    over::<1>(|scene| {
        let (mut next, u) = (scene.array::<f64>(), scene.array::<f64>());
        let alpha: f64 = scene.scalar();
        check!(
            scene,
            [next, u],
            (&mut next, &u),
            kernel!(|next, u, at| next[at] = u[at] + alpha * (u[at + [1]] + u[at - [1]] - 2.0 * u[at]))
        );
    });
}

#[test]
fn heat_in_three_axes() {
    over::<3>(|scene| {
        let (mut next, u) = (scene.array::<f32>(), scene.array::<f32>());
        let alpha: f32 = scene.scalar();
        check!(
            scene,
            [next, u],
            (&mut next, &u),
            kernel!(|next, u, at| {
                let c = u[at];
                next[at] = c + alpha
                    * (u[at + [0, 0, 1]]
                        + u[at - [0, 0, 1]]
                        + u[at + [0, 1, 0]]
                        + u[at - [0, 1, 0]]
                        + u[at + [1, 0, 0]]
                        + u[at - [1, 0, 0]]
                        - 6.0 * c);
            })
        );
    });
}

#[test]
fn four_axes() {
    over::<4>(|scene| {
        let (mut next, u, n) = (scene.array::<f64>(), scene.array::<f32>(), scene.array::<u8>());
        check!(
            scene,
            [next, u, n],
            (&mut next, &u, &n),
            kernel!(|next, u, n, at| {
                let [l, k, j, i] = at;
                let corner = u[[l + 1, k - 1, j + 2, i - 2]] as f64;
                next[at] = corner * (l * k - j) as f64 + (n[at + [0, 0, 0, 1]] as i64 * i) as f64;
            })
        );
    });
}

#[test]
fn points() {
    over::<2>(|scene| {
        let (mut r, u) = (scene.array::<f64>(), scene.array::<f64>());
        let by = [1i64, -2];
        check!(
            scene,
            [r, u],
            (&mut r, &u),
            kernel!(|r, u, at| {
                let p = at + [0, 1];
                let mut q: [i64; 2] = p - [1, 0];
                q += [1, 0];
                let east = u[p] + u[q];
                q[0] -= 1;
                q -= [0, 2];
                let o = [at[0] - 1, at[1] + 2];
                let s = at + by;
                let [j, i] = s - by;
                let diagonal = if i % 2 == 0 { at + [1, 1] } else { at - [1, 1] };
                r[at] = east + u[q] + u[o] + u[s] + u[[j, i]] + u[diagonal] + u[[at[0], at[1]] - [2, 2]];
            })
        );
    });
}

#[test]
fn life() {
    over::<2>(|scene| {
        let (mut next, u) = (scene.array::<u8>(), scene.array::<u8>());
        check!(
            scene,
            [next, u],
            (&mut next, &u),
            kernel!(|next, u, at| {
                let mut alive = 0;
                for j in -1..=1 {
                    for i in -1..=1 {
                        alive += u[at + [j, i]] & 1;
                    }
                }
                alive -= u[at] & 1;
                next[at] = (alive == 3 || (alive == 2 && u[at] & 1 == 1)) as u8;
            })
        );
    });
}

#[test]
fn computed_reads_of_a_tiled_array() {
    over::<2>(|scene| {
        let (mut r, u, n) = (scene.array::<i32>(), scene.array::<i32>(), scene.array::<i64>());
        check!(
            scene,
            [r, u, n],
            (&mut r, &u, &n),
            kernel!(|r, u, n, at| {
                let k = n[at].rem_euclid(5) - 2;
                r[at] = u[at + [k, 0]] - u[at - [0, k]];
            })
        );
        // Outside now and then: an error in both forms.
        let mut r = scene.array::<i32>();
        check!(
            scene,
            [r, u, n],
            (&mut r, &u, &n),
            kernel!(|r, u, n, at| {
                if n[at] != 5 {
                    r[at] = u[at + [0, n[at]]];
                }
            })
        );
    });
}

#[test]
fn computed_reads_behind_a_test() {
    over::<1>(|scene| {
        let (mut r, u) = (scene.array::<f64>(), scene.array::<f64>());
        let last = r.shape()[0] as i64 - 1;
        check!(
            scene,
            [r, u],
            (&mut r, &u),
            kernel!(|r, u, at| {
                let i = at[0];
                let mut sum = 0.0;
                if i >= 3 {
                    sum += u[at - [2]];
                }
                if i < last {
                    sum += u[at + [1]];
                }
                r[at] = sum + if i == 0 { u[at] } else { u[[i - 1]] };
            })
        );
    });
}

#[test]
fn whole_arrays() {
    over::<2>(|scene| {
        let (mut r, n) = (scene.array::<f64>(), scene.array::<i64>());
        let (line, cube) = (scene.whole::<f64, 1>([150]), scene.whole::<i32, 3>([3, 4, 5]));
        check!(
            scene,
            [r, n, line, cube],
            (&mut r, &n, all(&line), all(&cube)),
            kernel!(|r, n, line, cube, at| {
                let i = (at[1] * 7 + n[at] % 10).rem_euclid(150);
                let mut sum = line[[i]] + line[[at[0]]];
                for k in 0..3 {
                    sum += cube[[k, at[0] % 4, 4 - k]] as f64;
                }
                r[at] = sum;
            })
        );
        // Another shape than the cells': in range or not as the draw has it.
        let mut r = scene.array::<f64>();
        let plane = scene.whole::<f64, 2>([5, 66]);
        check!(scene, [r, plane], (&mut r, all(&plane)), kernel!(|r, plane, at| r[at] = plane[at]));
        let mut r = scene.array::<f64>();
        check!(scene, [r, n, line], (&mut r, &n, all(&line)), kernel!(|r, n, line, at| r[at] = line[[n[at] + 9]]));
    });
}

#[test]
fn a_whole_array_of_structs_of_the_same_cuts() {
    over::<1>(|scene| {
        let (mut r, u) = (scene.array::<[f32; 2]>(), scene.array::<[f32; 2]>());
        let cells = r.shape()[0] as i64;
        check!(
            scene,
            [r, u],
            (&mut r, all(&u)),
            kernel!(|r, u, at| {
                let mirror = u[[cells - 1 - at[0]]];
                r[at] = [mirror[1], u[[at[0] * 3 % cells]][(at[0] & 1) as usize]];
            })
        );
    });
}

#[test]
fn tables() {
    over::<2>(|scene| {
        let (mut r, n) = (scene.array::<f32>(), scene.array::<u32>());
        let (weights, flags) = (scene.table::<f32>(7), scene.table::<bool>(3));
        check!(
            scene,
            [r, n, weights, flags],
            (&mut r, &n, table(&weights), table(&flags)),
            kernel!(|r, n, weights, flags, at| {
                let mut sum = weights[6];
                for q in 0..5 {
                    sum += weights[q + 1] * q as f32;
                }
                let k = (n[at] % 7) as usize;
                r[at] = if flags[k % 3] { sum } else { weights[k] };
            })
        );
        let mut r = scene.array::<f32>();
        check!(
            scene,
            [r, n, weights],
            (&mut r, &n, table(&weights)),
            kernel!(|r, n, weights, at| r[at] = weights[n[at] as usize])
        );
    });
}

#[test]
fn faces_read_from_cells() {
    over::<2>(|scene| {
        let (mut r, p) = (scene.array::<f64>(), scene.array::<f64>());
        let (v, w) = (
            scene.centred::<f64>([Centering::Face, Centering::Cell]),
            scene.centred::<f64>([Centering::Cell, Centering::Face]),
        );
        let dt: f64 = scene.scalar();
        check!(
            scene,
            [r, p, v, w],
            (&mut r, &p, &v, &w),
            kernel!(|r, p, v, w, at| {
                r[at] = p[at] - dt * (v[at + [1, 0]] - v[at] + w[at + [0, 1]] - w[at]);
            })
        );
    });
}

#[test]
fn cells_read_from_faces() {
    over::<2>(|scene| {
        let mut v = scene.centred::<f32>([Centering::Cell, Centering::Face]);
        let mut nodes = scene.centred::<i32>([Centering::Face; 2]);
        let (p, b) = (scene.array::<f32>(), scene.array::<bool>());
        check!(
            scene,
            [v, p, b],
            (&mut v, &p, &b),
            kernel!(|v, p, b, at| {
                v[at] += p[at] - p[at - [0, 1]];
                if b[at] {
                    v[at] = -v[at];
                }
            })
        );
        v.fill_ghosts().unwrap();
        check!(
            scene,
            [nodes, v],
            (&mut nodes, &v),
            kernel!(|nodes, v, at| nodes[at] = (v[at] * 100.0 + v[at - [1, 0]]) as i32)
        );
    });
}

#[test]
fn what_is_written_is_read_back() {
    over::<3>(|scene| {
        let (mut r, mut s, a) = (scene.array::<i64>(), scene.array::<[u8; 2]>(), scene.array::<u8>());
        check!(
            scene,
            [r, s, a],
            (&mut r, &mut s, &a),
            kernel!(|r, s, a, at| {
                r[at] = at[2] * 100 + at[1] * 10 + at[0];
                s[at][0] = r[at] as u8;
                s[at][1] += s[at][0];
                r[at] -= s[at][1] as i64;
                if r[[at[0], at[1], at[2]]] > 50 {
                    r[at + [0, 0, 0]] = a[at] as i64;
                }
            })
        );
    });
}

#[test]
fn one_argument_and_a_point_that_moves_back() {
    over::<1>(|scene| {
        let mut u = scene.array::<f64>();
        check!(
            scene,
            [u],
            (&mut u,),
            kernel!(|u, at| {
                let p = at + [1];
                u[p - [1]] = u[at] * 2.0 + at[0] as f64;
            })
        );
    });
}
