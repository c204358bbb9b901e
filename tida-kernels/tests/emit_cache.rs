//! Kernels with tiles in shared memory, against the interpreter and against no tiles, bit for bit.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{CELL, F32, F64, I32, bind, first_in_format, in_format, typed};
use emit_support::{nvrtc, pocl};
use tida_kernels::analysis::analyse;
use tida_kernels::codec::Format;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::{Param, Source};
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel, Type};
use tida_kernels::plan::cache::{Cache, Cached, sharing};
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;
use tida_kernels::scalar::Value;

fn axis(n: u64) -> Expr {
    project(at(), entry(int(n)))
}

fn index(of: Vec<Expr>) -> Expr {
    array(of)
}

fn long(ty: ScalarType) -> Type {
    Type::Scalar(ty)
}

/// `C = A B`: rows of one, columns of the other.
fn gemm() -> Kernel {
    let turn = set_part(
        0,
        vec![],
        Some(BinaryOp::Add),
        mul(load(1, index(vec![axis(0), local(1)])), load(2, index(vec![local(1), axis(1)]))),
    );
    let walk = for_(1, int_of(0, ScalarType::I64), capture(0), block(vec![turn]));
    let body = block(vec![let_(0, float_of("0.0", ScalarType::F32)), walk, store(0, at(), local(0))]);
    let args = [("c", bind(Access::Write, F32, 2)), ("a", bind(Access::All, F32, 2)), ("b", bind(Access::All, F32, 2))];
    typed("gemm.rs", 2, &args, &[("length", long(ScalarType::I64))], &["sum", "k"], body, vec![], None)
}

/// `y = y + A x`: each cell goes along a row.
fn matvec() -> Kernel {
    let turn = mul(load(1, index(vec![axis(0), local(1)])), load(2, index(vec![local(1)])));
    let turn = set_part(0, vec![], Some(BinaryOp::Add), turn);
    let walk = for_(1, int_of(0, ScalarType::I64), capture(0), block(vec![turn]));
    let body = block(vec![let_(0, load(0, at())), walk, store(0, at(), local(0))]);
    let args = [("y", bind(Access::Write, F32, 1)), ("a", bind(Access::All, F32, 2)), ("x", bind(Access::All, F32, 1))];
    typed("matvec.rs", 1, &args, &[("length", long(ScalarType::I64))], &["sum", "k"], body, vec![], None)
}

/// Every cell reads the same bodies at the same time.
fn nbody() -> Kernel {
    let part = |index: Expr, n: &str| load_part(1, index, vec![field(n)]);
    let v = |index: Expr, n: u64| load_part(1, index, vec![field("v"), entry(int(n))]);
    let far = sub(v(index(vec![local(1)]), 0), v(at(), 0));
    let turn = block(vec![
        let_(2, far),
        set_part(
            0,
            vec![],
            Some(BinaryOp::Add),
            div(part(index(vec![local(1)]), "rho"), add(mul(local(2), local(2)), float(0.5))),
        ),
    ]);
    let walk = for_(1, int_of(0, ScalarType::I64), capture(0), turn);
    let body = block(vec![let_(0, float(0.0)), walk, store(0, at(), local(0))]);
    let args = [("pull", bind(Access::Write, F64, 1)), ("bodies", bind(Access::All, CELL, 1))];
    typed("nbody.rs", 1, &args, &[("count", long(ScalarType::I64))], &["sum", "j", "d"], body, vec![], None)
}

/// Rows and columns from cells that a region holds, and a stencil.
fn jacobi() -> Kernel {
    let u = |o: &[i64]| load(1, at_plus(o));
    let sum = add(add(u(&[-1, 0]), u(&[1, 0])), add(u(&[0, -1]), u(&[0, 2])));
    let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
    typed("jacobi.rs", 2, &args, &[], &[], block(vec![store(0, at(), sub(sum, u(&[0, 0])))]), vec![], None)
}

/// The whole array of one region, or of several.
fn whole(element: ElementType, shape: &[i64], cut: bool, rng: &mut Rng) -> Grid {
    let ends: Vec<Vec<i64>> = shape.iter().map(|n| if cut && *n > 2 { vec![*n / 3, *n] } else { vec![*n] }).collect();
    Grid::whole(element, &ends, rng)
}

fn cached(kernel: &Kernel, launch: &Launch, how: Cache) -> Vec<Cached> {
    let of = |(n, grid): (usize, &Grid)| Cached { arg: n as u8, how, cut: grid.regions.len() > 1 };
    let reads = launch.grids.0.iter().enumerate().filter(|(n, _)| kernel.args[*n].access != Access::Write);
    reads.map(of).collect()
}

/// Runs a launch as the plan says, and compares with the interpreter.
fn check(kernel: &Kernel, launch: &Launch, plan: &Plan, expected: &Grids, label: &str) -> Source {
    let source = source(kernel, plan);
    let mut found = launch.clone();
    let (_, raised) = pocl::run(kernel, plan, &source, &mut found, 0);
    assert!(raised.is_none(), "{label}: {raised:?}\n{}", source.text);
    for arg in 0..launch.grids.0.len() {
        if expected.0[arg].bytes == found.grids.0[arg].bytes {
            continue;
        }
        for (a, b) in contents(expected, arg).into_iter().zip(contents(&found.grids, arg)) {
            let place = a.0;
            assert!(same(a.2, b.2), "{label}: {arg} at {place:?}: {:?}, not {:?}\n{}", b.2, a.2, source.text);
        }
    }
    source
}

fn expected(kernel: &Kernel, launch: &Launch) -> Grids {
    let mut grids = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let (_, fault) = run_box(kernel, &launch.captures, lo, hi, &mut grids, 1_000_000).unwrap();
    assert!(fault.is_none(), "{fault:?}\n{kernel}");
    grids
}

/// A launch over `0..extent`, cut into two boxes along axis 0.
fn launch(kernel: &Kernel, grids: Vec<Grid>, extent: &[i64], captures: Vec<Value>) -> Launch {
    let (lo, hi) = (vec![0; kernel.rank], extent.to_vec());
    let (mut a, mut b) = (hi.clone(), lo.clone());
    (a[0], b[0]) = (extent[0] / 3, extent[0] / 3);
    let boxes = vec![(lo.clone(), a), (b, hi.clone())].into_iter().filter(|(lo, hi)| lo[0] < hi[0]).collect();
    Launch { captures, grids: Grids(grids), whole: (lo, hi), boxes }
}

fn written(element: ElementType, extent: &[i64], rng: &mut Rng) -> Grid {
    Grid::tiled(Access::Write, element, &vec![0; extent.len()], extent, rng)
}

fn product(n: [i64; 3], cut: bool, rng: &mut Rng) -> (Kernel, Launch) {
    product_of(gemm(), n, cut, rng)
}

fn product_of(kernel: Kernel, n: [i64; 3], cut: bool, rng: &mut Rng) -> (Kernel, Launch) {
    let grids = vec![
        written(kernel.args[0].element, &[n[0], n[1]], rng),
        whole(kernel.args[1].element, &[n[0], n[2]], cut, rng),
        whole(kernel.args[2].element, &[n[2], n[1]], cut, rng),
    ];
    let launch = launch(&kernel, grids, &[n[0], n[1]], vec![Value::I64(n[2])]);
    (kernel, launch)
}

fn bodies(n: i64, cut: bool, rng: &mut Rng) -> (Kernel, Launch) {
    let kernel = nbody();
    let grids = vec![written(F64, &[n], rng), whole(CELL, &[n], cut, rng)];
    let launch = launch(&kernel, grids, &[n], vec![Value::I64(n)]);
    (kernel, launch)
}

fn rows(n: [i64; 2], rng: &mut Rng) -> (Kernel, Launch) {
    let kernel = matvec();
    let grids = vec![written(F32, &n[..1], rng), whole(F32, &n, false, rng), whole(F32, &n[1..], false, rng)];
    let launch = launch(&kernel, grids, &n[..1], vec![Value::I64(n[1])]);
    (kernel, launch)
}

/// Places that move on by turns, with rows that end within a block and strips that end within a row.
#[test]
fn rows_are_fetched_by_neighbours() {
    let mut rng = Rng(11);
    let (kernel, launch) = rows([77, 75], &mut rng);
    let found = sharing(&kernel, &analyse(&kernel));
    assert_eq!(found.exchanged(&kernel, |_| true).into_iter().collect::<Vec<_>>(), [1]);
    let (product, _) = product([8, 8, 8], false, &mut rng);
    assert!(sharing(&product, &analyse(&product)).exchanged(&product, |_| true).is_empty());
    let expected = expected(&kernel, &launch);
    for (how, threads, width) in [(Cache::Rbi, 32, 16), (Cache::Preload, 32, 8), (Cache::Preload, 32, 7)] {
        let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
        let plan = Plan { block: [threads, 1, 1], cache: cached(&kernel, &launch, how), width, ..plain };
        let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}, {threads} x {width}"));
        assert_eq!(
            source.text.contains("async_work_group_copy"),
            how == Cache::Preload && width == 8,
            "{}",
            source.text
        );
        let text = emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text;
        // Rows have an odd number of 16 bytes, so that threads find theirs in banks of their own.
        let steps = [format!("a_tile[{} * a_n0 + a_n1 + turn * ", (width.div_ceil(4) | 1) * 4), "a_at0 += ".into()];
        assert_eq!(steps.iter().all(|step| text.contains(step)), width != 7, "{text}");
        assert_eq!(text.contains("if (a_wide)"), width == 8, "{text}");
        nvrtc::compile(&text);
    }
}

/// Of a matrix whose values are read once and a vector that all threads read, the vector stays.
#[test]
fn what_saves_most_for_its_bytes_has_room() {
    let (kernel, launch) = rows([77, 75], &mut Rng(11));
    let found = sharing(&kernel, &analyse(&kernel));
    let plain = plan(&kernel, &launch.grids, Dialect::Cuda, Goal::Sweep, false, false);
    let plan = Plan { block: [64, 1, 1], cache: cached(&kernel, &launch, Cache::Preload), width: 64, ..plain };
    let fit = |room: u64, kept: &[usize]| {
        let fit = found.fit(&kernel, plan.clone(), room, |arg| kept.contains(&arg));
        fit.map(|plan| (plan.cache.iter().map(|cached| cached.arg).collect::<Vec<_>>(), plan.width))
    };
    // Two halves of 64 rows of 68 values and one of 64; strips of 32 have rows of 36, of 16 rows of 20.
    assert_eq!(fit(34816 + 512, &[]), Ok((vec![1, 2], 64)));
    assert_eq!(fit(34816 + 511, &[]), Ok((vec![1, 2], 32)));
    assert_eq!(fit(18432 + 255, &[]), Ok((vec![1, 2], 16)));
    assert_eq!(fit(10240 + 127, &[]), Ok((vec![2], 64)));
    assert_eq!(fit(10240 + 127, &[1]), Ok((vec![1], 16)));
    assert_eq!(fit(10240 + 127, &[1, 2]), Ok((vec![1, 2], 8)));
    assert_eq!(fit(2047, &[1]), Err(2048));
}

/// On CUDA one thread orders the boxes of a strip; what cannot be such a box is copied by all, as with `Preload`.
#[test]
fn strips_are_boxes_of_tensor_maps() {
    let mut rng = Rng(13);
    let text = |(kernel, launch): &(Kernel, Launch), how: Cache, block: [u32; 3], width: u32| {
        let plain = plan(kernel, &launch.grids, Dialect::Cuda, Goal::Sweep, false, false);
        let plan = Plan { block, cache: cached(kernel, launch, how), width, ..plain };
        let source = source(kernel, &plan);
        nvrtc::compile(&source.text);
        let maps = source.params.iter().filter(|param| matches!(param, Param::Map(_))).count();
        assert_eq!(maps, sharing(kernel, &analyse(kernel)).maps(kernel, &plan).len());
        (source.text, maps)
    };
    let square = product([70, 90, 77], false, &mut rng);
    let (both, maps) = text(&square, Cache::Tma, [32, 16, 1], 32);
    assert!(maps == 2 && !both.contains("cp.async.c"), "{both}");
    for words in [
        "__shared__ __align__(128) f32 a_tile[1024];",
        "tida_map_bytes(&k_filled[(1 - k_half)], 6144u);",
        "tida_map_box_2(&b_tile[(1 - k_half) * 1024], &b_map, (i32)(box.lo1 + first1 - b_origin1), \
         (i32)(k_next - b_origin0), &k_filled[(1 - k_half)]);",
        "tida_map_wait(&k_filled[k_half], (k_phase >> k_half) & 1u);",
    ] {
        assert!(both.contains(words), "{words}\n{both}");
    }
    // Rows of 12 bytes have no whole 16: of the other argument alone.
    let (one, maps) = text(&square, Cache::Tma, [32, 16, 1], 3);
    assert!(maps == 1 && one.contains("tida_map_box_2(&b_tile") && one.contains("cp.async.c"), "{one}");
    // Rows that threads go down have a place for 16 bytes more; the vector does not.
    let (one, maps) = text(&rows([77, 75], &mut rng), Cache::Tma, [64, 1, 1], 64);
    assert!(maps == 1 && one.contains("tida_map_box_1(&x_tile"), "{one}");
    // Several regions, components of several types, and another language.
    for (kernel, launch) in [product([70, 90, 77], true, &mut rng), bodies(77, false, &mut rng)] {
        let block = if kernel.rank == 2 { [32, 16, 1] } else { [32, 1, 1] };
        let launch = (kernel, launch);
        assert_eq!(text(&launch, Cache::Tma, block, 32).0, text(&launch, Cache::Preload, block, 32).0);
    }
    let plain = plan(&square.0, &square.1.grids, Dialect::OpenCl, Goal::Sweep, false, false);
    let with = |how| Plan { block: [8, 4, 1], cache: cached(&square.0, &square.1, how), width: 16, ..plain.clone() };
    assert_eq!(source(&square.0, &with(Cache::Tma)).text, source(&square.0, &with(Cache::Preload)).text);
}

#[test]
fn products_and_bodies_come_from_tiles() {
    let mut rng = Rng(3);
    for (cut, many, how) in [
        (false, false, Cache::Rbi),
        (true, true, Cache::Rbi),
        (false, true, Cache::Preload),
        (true, false, Cache::Preload),
        (false, false, Cache::Rbc),
        (true, true, Cache::Rbc),
    ] {
        for (kernel, launch) in [product([21, 19, 37], cut, &mut rng), bodies(77, cut, &mut rng)] {
            let expected = expected(&kernel, &launch);
            let mut plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
            plan.block = if kernel.rank == 2 { [8, 4, 1] } else { [32, 1, 1] };
            let plan = Plan { cache: cached(&kernel, &launch, how), width: if cut { 5 } else { 16 }, ..plan };
            let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}, cut {cut}"));
            assert!(source.text.matches("__local").count() > 1 && source.text.contains("_tile"), "{}", source.text);
            let rows = source.text.contains("async_work_group_copy");
            assert_eq!(rows, how == Cache::Preload && !cut, "{}", source.text);
            let plan = Plan { dialect: Dialect::Cuda, ..plan };
            nvrtc::compile(&emit_support::host::source(&kernel, &plan).text);
        }
    }
}

/// Tiles hold the values of arrays that hold codes: nothing but what fetches them decodes.
#[test]
fn codes_are_decoded_as_tiles_are_fetched() {
    let mut rng = Rng(17);
    let range = |bits| Format::Range { bits, min: -1.0, max: 1.0 };
    let kernels = [
        in_format(&gemm(), &range(16)),
        in_format(&gemm(), &range(8)),
        in_format(&gemm(), &Format::Half),
        first_in_format(&gemm(), &Format::Bfloat, 2),
    ];
    for (n, kernel) in kernels.into_iter().enumerate() {
        let cut = n == 1;
        let (kernel, launch) = product_of(kernel, [21, 20, 40], cut, &mut rng);
        let expected = expected(&kernel, &launch);
        let hows = [Cache::Preload, Cache::Rbi, Cache::Rbc];
        for how in hows.into_iter().take(if n == 0 { 3 } else { 1 }) {
            let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
            let plan = Plan { block: [8, 4, 1], cache: cached(&kernel, &launch, how), width: 16, ..plain };
            let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}, cut {cut}"));
            assert!(source.text.contains("f32 a_tile["), "{}", source.text);
            if how == Cache::Rbi {
                let inner = source.text.split("sum = sum + ").nth(1).and_then(|rest| rest.lines().next());
                assert!(inner.is_some_and(|line| !line.contains("decode")), "{}", source.text);
            }
            // Where the next strip is fetched ahead its codes wait in registers, four side by side.
            let wide = source.text.contains("*(__global const u16x4*)(a_at0") && source.text.contains("a_next0.at[3]");
            assert_eq!(wide, how != Cache::Rbi && how != Cache::Rbc && n != 1, "{}", source.text);
            let cuda = Plan { dialect: Dialect::Cuda, ..plan };
            let text = emit_support::host::source(&kernel, &cuda).text;
            nvrtc::compile(&text);
            // Boxes of tensor maps bring bytes as they are: of the raw argument of the last kernel alone.
            let by_map = Plan { cache: cached(&kernel, &launch, Cache::Tma), ..cuda };
            let same = emit_support::host::source(&kernel, &by_map).text == text;
            assert_eq!(same, how == Cache::Preload && n < 3, "{how:?}");
        }
    }
    // Values around the cell, and a row for each thread: twice the bytes of what memory holds.
    let kernel = in_format(&jacobi(), &range(32));
    let extent = [19, 23];
    let grids = vec![
        written(kernel.args[0].element, &extent, &mut rng),
        Grid::tiled(Access::Read, kernel.args[1].element, &[-1, -1], &[extent[0] + 1, extent[1] + 2], &mut rng),
    ];
    let launch = launch(&kernel, grids, &extent, vec![]);
    let expected = expected(&kernel, &launch);
    let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
    for how in [Cache::Rbi, Cache::Rbc] {
        let plan = Plan { block: [8, 4, 1], cache: cached(&kernel, &launch, how), ..plain.clone() };
        let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}"));
        assert!(source.text.contains("f64 u_tile["), "{}", source.text);
        let scopes = sharing(&kernel, &analyse(&kernel)).planned(&kernel, &plan);
        assert_eq!(scopes[0].bytes(&kernel, &plan), 6 * 11 * 8);
        nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
    }
}

/// Lines hold the values that fit them; of others, codes.
#[test]
fn codes_are_decoded_as_lines_are_filled() {
    let mut rng = Rng(18);
    let product = product_of(in_format(&gemm(), &Format::Half), [21, 20, 40], false, &mut rng);
    let (stencil, extent) = (in_format(&jacobi(), &Format::Range { bits: 32, min: -1.0, max: 1.0 }), [19, 23]);
    let grids = vec![
        written(stencil.args[0].element, &extent, &mut rng),
        Grid::tiled(Access::Read, stencil.args[1].element, &[-1, -1], &[extent[0] + 1, extent[1] + 2], &mut rng),
    ];
    let stencil = (stencil.clone(), launch(&stencil, grids, &extent, vec![]));
    for ((kernel, launch), found, values) in [(product, "find_a(a_lines", true), (stencil, "find_u(u_lines", false)] {
        let expected = expected(&kernel, &launch);
        let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
        let plan = Plan { block: [8, 4, 1], cache: cached(&kernel, &launch, Cache::Ehc), width: 16, ..plain };
        let source = check(&kernel, &launch, &plan, &expected, "lines");
        let lines = |word: &str| -> Vec<bool> {
            let with = source.text.lines().filter(|line| line.contains(word));
            with.map(|line| line.contains("tida_decode_")).collect()
        };
        for (word, decodes) in [(found, !values), ("value = ", values)] {
            let found = lines(word);
            assert!(!found.is_empty() && found.iter().all(|found| *found == decodes), "{word}: {}", source.text);
        }
        nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
    }
}

#[test]
fn stencils_come_from_the_block_and_its_halo() {
    let mut rng = Rng(5);
    let kernel = jacobi();
    let extent = [19, 23];
    let grids = vec![
        written(F64, &extent, &mut rng),
        Grid::tiled(Access::Read, F64, &[-1, -1], &[extent[0] + 1, extent[1] + 2], &mut rng),
    ];
    let launch = launch(&kernel, grids, &extent, vec![]);
    let expected = expected(&kernel, &launch);
    for (many, how) in [(false, Cache::Rbi), (true, Cache::Rbc), (true, Cache::Preload)] {
        let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
        let plan = Plan { cache: cached(&kernel, &launch, how), ..plain };
        let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}"));
        assert!(source.text.contains("u_tile["), "{}", source.text);
        nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
    }
}

/// Reads where other arrays say: of a whole array, of the cells around, of a table.
#[test]
fn reads_at_any_index_go_through_tags() {
    let by = |n: u64| cast(load_part(1, at(), vec![entry(int(n))]), ScalarType::I64);
    let mixed = |n: u64| binary(BinaryOp::BitAnd, add(by(n), mul(axis(0), int(3))), int(7));
    let near = index(vec![add(axis(0), binary(BinaryOp::BitAnd, by(0), int(1))), axis(1)]);
    let far = load(2, index(vec![mixed(0), mixed(1)]));
    let weight = load(4, cast(mixed(2), ScalarType::U64));
    let body = block(vec![store(0, at(), add(mul(far, load(3, near)), mul(weight, load(3, at()))))]);
    const BY: ElementType = ElementType::Array { element: &I32, len: 3 };
    let args = [
        ("out", bind(Access::Write, F32, 2)),
        ("by", bind(Access::Read, BY, 2)),
        ("a", bind(Access::All, F32, 2)),
        ("u", bind(Access::Read, F32, 2)),
        ("w", bind(Access::Table, F32, 1)),
    ];
    let kernel = typed("irregular.rs", 2, &args, &[], &[], body, vec![], None);
    let (mut rng, extent) = (Rng(9), [19, 23]);
    for cut in [false, true] {
        let grids = vec![
            written(F32, &extent, &mut rng),
            Grid::tiled(Access::Read, BY, &[0, 0], &extent, &mut rng),
            whole(F32, &[8, 8], cut, &mut rng),
            Grid::tiled(Access::Read, F32, &[-1, -1], &[extent[0] + 1, extent[1] + 1], &mut rng),
            Grid::table(&(0..8).map(|_| rng.value(ScalarType::F32)).collect::<Vec<_>>()),
        ];
        let launch = launch(&kernel, grids, &extent, vec![]);
        let expected = expected(&kernel, &launch);
        for checked in [false, true] {
            let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, checked, cut);
            for how in [Cache::Ehc, Cache::Rbc] {
                let plan = Plan { cache: cached(&kernel, &launch, how), ..plain.clone() };
                let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}, checked {checked}"));
                let words = match how {
                    Cache::Ehc => ["find_a(a_lines", "find_w(w_lines"],
                    _ => ["look_up_u", "u_tile["],
                };
                assert!(words.iter().all(|word| source.text.contains(word)), "{}", source.text);
                nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
            }
        }
    }
}

/// The texts of a product, in both languages, and of one fetched ahead.
#[test]
fn texts_stay_as_they_are() {
    let mut rng = Rng(5);
    for (name, (kernel, launch)) in
        [("gemm", product([8, 8, 8], false, &mut rng)), ("nbody", bodies(8, false, &mut rng))]
    {
        for (dialect, language) in [(Dialect::Cuda, "cuda"), (Dialect::OpenCl, "opencl")] {
            for (how, word) in [(Cache::Rbi, "rbi"), (Cache::Preload, "preload"), (Cache::Rbc, "rbc")] {
                let plan = plan(&kernel, &launch.grids, dialect, Goal::Sweep, false, false);
                let block = if kernel.rank == 2 { [32, 32, 1] } else { [256, 1, 1] };
                let plan = Plan { block, cache: cached(&kernel, &launch, how), width: 32, ..plan };
                insta::assert_snapshot!(format!("{name}_{word}.{language}"), source(&kernel, &plan).text);
            }
        }
    }
}

/// The interval of a form over a box and the counters of loops.
struct Range {
    lo: i64,
    hi: i64,
}

impl Range {
    fn plus(self, by: i64, lo: i64, hi: i64) -> Range {
        Range { lo: self.lo + (by * lo).min(by * hi), hi: self.hi + (by * lo).max(by * hi) }
    }
}

/// A kernel with walks and reads around the cell, and a launch of it: what is read is held, and no more.
fn random(rng: &mut Rng) -> (Kernel, Launch) {
    let rank = 1 + rng.below(3) as usize;
    let extent: Vec<i64> = [vec![5, 6, 19], vec![7, 21], vec![83]][3 - rank].clone();
    let pick = |rng: &mut Rng, of: &[i64]| of[rng.below(of.len() as u64) as usize];
    // Counters of two loops, one in the other, and one that comes after them.
    let captured: Vec<i64> = (0..3).map(|_| 1 + rng.below(21) as i64).collect();
    let starts: Vec<i64> = (0..3).map(|_| rng.below(4) as i64).collect();
    let inclusive: Vec<bool> = (0..3).map(|_| rng.below(3) == 0).collect();
    let last = |n: usize| if inclusive[n] { captured[n] } else { captured[n] - 1 };
    let mut shapes: Vec<(Access, ElementType, usize, Vec<Range>)> = Vec::new();
    for _ in 0..2 + rng.below(2) {
        let element = [F64, F32, I32, CELL][rng.below(4) as usize];
        let (access, of) = match rng.below(4) {
            0 => (Access::Read, rank),
            1 => (Access::Table, 1),
            _ => (Access::All, 1 + rng.below(2) as usize),
        };
        let element = if access == Access::Table { F64 } else { element };
        shapes.push((access, element, of, Vec::new()));
    }
    // An index: along each axis multiples of the cell's coordinates and of the counters, made to start at 0 or above.
    let mut read = |rng: &mut Rng, loops: &[(u32, usize)]| {
        let n = rng.below(shapes.len() as u64) as usize;
        let (access, element, of, ranges) = &mut shapes[n];
        let mut index = Vec::new();
        for axis_of in 0..*of {
            let (mut form, mut range) = (signed(0), Range { lo: 0, hi: 0 });
            let mut term = |by: i64, of: Expr, lo: i64, hi: i64, range: Range| {
                let part = if by == 1 { of } else { mul(signed(by), of) };
                form = add(form.clone(), part);
                range.plus(by, lo, hi)
            };
            let along = if *access == Access::Read { axis_of } else { rng.below(rank as u64) as usize };
            if *access == Access::Read || rng.below(2) == 0 {
                let by = if *access == Access::Read { 1 } else { pick(rng, &[1, 1, 1, 2, -1]) };
                range = term(by, axis(along as u64), 0, extent[along] - 1, range);
            }
            for (local_, number) in loops {
                if *access != Access::Read && rng.below(2) == 0 {
                    let by = pick(rng, &[1, 1, 1, 3, -2]);
                    let counter = cast(local(*local_), ScalarType::I64);
                    range = term(by, counter, starts[*number], last(*number).max(starts[*number]), range);
                }
            }
            let by = rng.below(4) as i64 - if *access == Access::Read { 2 } else { 0 };
            let by = if *access == Access::Read { by } else { by - range.lo };
            let (lo, hi) = (range.lo + by, range.hi + by);
            let place = add(form, signed(by));
            index.push(if *access == Access::Table { cast(place, ScalarType::U64) } else { place });
            match ranges.get_mut(axis_of) {
                Some(known) => *known = Range { lo: known.lo.min(lo), hi: known.hi.max(hi) },
                None => ranges.push(Range { lo, hi }),
            }
        }
        let path = if *element == CELL {
            vec![vec![field("rho")], vec![field("kind")]][rng.below(2) as usize].clone()
        } else {
            vec![]
        };
        let place = if *access == Access::Table { index.remove(0) } else { array(index) };
        cast(load_part(n as u32 + 1, place, path), ScalarType::F64)
    };
    let sum = |rng: &mut Rng, count: u64, read: &mut dyn FnMut(&mut Rng) -> Expr| {
        let mut all = read(rng);
        for n in 0..count {
            let value = read(rng);
            all = if n % 2 == 0 { add(all, value) } else { sub(all, mul(capture(3), value)) };
        }
        all
    };
    let types = [ScalarType::I64, ScalarType::I32, ScalarType::U64];
    let counter: Vec<ScalarType> = (0..3).map(|_| types[rng.below(3) as usize]).collect();
    let for_of = |n: usize, local_: u32, body: Vec<Stmt>| {
        let (lo, hi) = (int_of(starts[n] as u64, counter[n]), cast(capture(n as u32), counter[n]));
        stmt(StmtKind::For { local: local_, lo, hi, inclusive: inclusive[n], body: block(body) })
    };
    let add_to = |value: Expr| set_part(0, vec![], Some(BinaryOp::Add), value);
    let mut body = vec![let_(0, sum(rng, 1, &mut |rng| read(rng, &[])))];
    let inner = add_to(sum(rng, 1, &mut |rng| read(rng, &[(1, 0), (2, 1)])));
    let mut turns = vec![inner];
    if rng.below(2) == 0 {
        // Some iterations end early.
        let odd = compare(CompareOp::Eq, cast(local(2), ScalarType::I64), axis(0));
        turns.push(eval(if_then(odd, block(vec![stmt(StmtKind::Continue)]))));
        turns.push(add_to(sum(rng, 0, &mut |rng| read(rng, &[(1, 0), (2, 1)]))));
    }
    let mut around = vec![for_of(1, 2, turns)];
    if rng.below(3) == 0 {
        around.push(add_to(sum(rng, 0, &mut |rng| read(rng, &[(1, 0)]))));
    }
    body.push(for_of(0, 1, around));
    let mut after = vec![add_to(sum(rng, 1, &mut |rng| read(rng, &[(3, 2)])))];
    if rng.below(2) == 0 {
        let more = compare(CompareOp::Gt, local(0), float(0.0));
        after.push(eval(if_then(more, block(vec![add_to(sum(rng, 0, &mut |rng| read(rng, &[(3, 2)])))]))));
    }
    if rng.below(4) == 0 {
        after.push(eval(if_then(compare(CompareOp::Gt, local(0), float(1e30)), block(vec![stmt(StmtKind::Break)]))));
    }
    body.push(for_of(2, 3, after));
    if rng.below(3) == 0 {
        body.push(eval(if_then(compare(CompareOp::Lt, local(0), float(0.0)), block(vec![return_(None)]))));
    }
    body.push(store(0, at(), add(local(0), load(0, at()))));
    let names = ["a", "b", "c"];
    let mut args = vec![("out", bind(Access::Write, F64, rank))];
    args.extend(shapes.iter().zip(names).map(|((access, element, of, _), name)| (name, bind(*access, *element, *of))));
    let int = Type::Scalar(ScalarType::I64);
    let captures = [("n0", int.clone()), ("n1", int.clone()), ("n2", int), ("w", Type::Scalar(ScalarType::F64))];
    let kernel = typed("random.rs", rank, &args, &captures, &["sum", "i", "k", "i"], block(body), vec![], None);
    let cut = rng.below(3) == 0;
    let mut grids = vec![written(F64, &extent, rng)];
    for (access, element, of, ranges) in &shapes {
        let end = |axis: usize| ranges.get(axis).map_or(0, |range| range.hi.max(0)) + 1;
        grids.push(match access {
            Access::Read => {
                let lo: Vec<i64> = (0..rank).map(|d| ranges.get(d).map_or(0, |range| range.lo.min(0))).collect();
                let hi: Vec<i64> = (0..rank).map(|d| end(d).max(extent[d])).collect();
                Grid::tiled(Access::Read, *element, &lo, &hi, rng)
            }
            Access::Table => Grid::table(&(0..end(0)).map(|_| rng.value(ScalarType::F64)).collect::<Vec<_>>()),
            _ => whole(*element, &(0..*of).map(end).collect::<Vec<_>>(), cut, rng),
        });
    }
    let captures = captured.iter().map(|n| Value::I64(*n)).chain([Value::F64(0.75)]).collect();
    let launch = launch(&kernel, grids, &extent, captures);
    (kernel, launch)
}

#[test]
fn random_kernels_give_the_same_bits_from_tiles() {
    let wanted = std::env::var("TIDA_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    let (mut walked, mut around, mut ahead, mut tagged) = (0, 0, 0, 0);
    for seed in 0..wanted {
        let mut rng = Rng(seed * 77 + 5);
        let (kernel, launch) = random(&mut rng);
        let label = format!("seed {seed}\n{kernel}");
        let expected = expected(&kernel, &launch);
        let how = [Cache::Rbi, Cache::Preload, Cache::Rbc, Cache::Ehc][(seed % 4) as usize];
        let mut plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, seed % 2 == 0);
        plan.narrow = seed % 5 != 0;
        plan.block = [[16, 1, 1], [8, 4, 1], [4, 2, 2]][kernel.rank - 1];
        plan = Plan { cache: cached(&kernel, &launch, how), width: [4, 8, 5][(seed % 3) as usize], ..plan };
        let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?} {label}"));
        let scopes = sharing(&kernel, &analyse(&kernel)).planned(&kernel, &plan);
        walked += u64::from(scopes.iter().any(|scope| scope.walk.is_some()));
        around += u64::from(scopes.iter().any(|scope| scope.walk.is_none()));
        ahead += u64::from(source.text.contains("_half"));
        assert_eq!(source.text.contains("_held0"), !scopes.is_empty());
        tagged += u64::from(source.text.contains("_lines["));
        if seed % 5 == 0 {
            nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
        }
    }
    let seen = [walked, around, ahead, tagged];
    assert!(walked > wanted / 3 && [around, ahead, tagged].iter().all(|n| *n * 8 >= wanted), "{seen:?} of {wanted}");
}
