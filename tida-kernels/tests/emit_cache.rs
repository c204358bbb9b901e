//! Kernels with tiles in shared memory, against the interpreter and against no tiles, bit for bit.

mod emit_support;

use emit_support::host::{Grid, Launch, Rng, plan, source};
use emit_support::nvrtc;
use emit_support::samples::{F32, F64, I32, bind, first_in_format, in_format, typed};
use emit_support::tiles::*;
use tida_kernels::analysis::analyse;
use tida_kernels::codec::Format;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::Param;
use tida_kernels::ir::{Access, Kernel};
use tida_kernels::plan::cache::{Cache, sharing};
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;

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
    for (how, threads, width) in [(Cache::Tile, 32, 16), (Cache::Preload, 32, 8), (Cache::Preload, 32, 7)] {
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
        (false, false, Cache::Tile),
        (true, true, Cache::Tile),
        (false, true, Cache::Preload),
        (true, false, Cache::Preload),
        (false, false, Cache::CheckedTile),
        (true, true, Cache::CheckedTile),
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
        let hows = [Cache::Preload, Cache::Tile, Cache::CheckedTile];
        for how in hows.into_iter().take(if n == 0 { 3 } else { 1 }) {
            let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
            let plan = Plan { block: [8, 4, 1], cache: cached(&kernel, &launch, how), width: 16, ..plain };
            let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}, cut {cut}"));
            assert!(source.text.contains("f32 a_tile["), "{}", source.text);
            if how == Cache::Tile {
                let inner = source.text.split("sum = sum + ").nth(1).and_then(|rest| rest.lines().next());
                assert!(inner.is_some_and(|line| !line.contains("decode")), "{}", source.text);
            }
            // Where the next strip is fetched ahead its codes wait in registers, four side by side.
            let wide = source.text.contains("*(__global const u16x4*)(a_at0") && source.text.contains("a_next0.at[3]");
            assert_eq!(wide, how != Cache::Tile && how != Cache::CheckedTile && n != 1, "{}", source.text);
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
    for how in [Cache::Tile, Cache::CheckedTile] {
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
        let plan = Plan { block: [8, 4, 1], cache: cached(&kernel, &launch, Cache::TaggedLines), width: 16, ..plain };
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
    for (many, how) in [(false, Cache::Tile), (true, Cache::CheckedTile), (true, Cache::Preload)] {
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
            for how in [Cache::TaggedLines, Cache::CheckedTile] {
                let plan = Plan { cache: cached(&kernel, &launch, how), ..plain.clone() };
                let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}, checked {checked}"));
                let words = match how {
                    Cache::TaggedLines => ["find_a(a_lines", "find_w(w_lines"],
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
            for (how, word) in
                [(Cache::Tile, "tile"), (Cache::Preload, "preload"), (Cache::CheckedTile, "checked_tile")]
            {
                let plan = plan(&kernel, &launch.grids, dialect, Goal::Sweep, false, false);
                let block = if kernel.rank == 2 { [32, 32, 1] } else { [256, 1, 1] };
                let plan = Plan { block, cache: cached(&kernel, &launch, how), width: 32, ..plan };
                insta::assert_snapshot!(format!("{name}_{word}.{language}"), source(&kernel, &plan).text);
            }
        }
    }
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
        let how = [Cache::Tile, Cache::Preload, Cache::CheckedTile, Cache::TaggedLines][(seed % 4) as usize];
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
