//! The fault that an error tells is that of the first cell in row-major order, of the sweep that was recorded first:
//! for any cut, tile, number of threads, memory limit and device.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::SimDevice;
use tida::prelude::*;
use tida_tests::unhurried;

const ROWS: usize = 240;
const COLUMNS: usize = 300;

/// An index that no cell of the table has, of a cell.
fn far(cell: usize) -> i64 {
    1_000_000 + (cell / COLUMNS) as i64 * 1000 + (cell % COLUMNS) as i64
}

/// What is asked of an accelerator.
#[derive(Clone, Debug)]
struct How {
    device: &'static str,
    threads: usize,
    regions: [usize; 2],
    tile: [usize; 2],
    limit: Option<u64>,
    look_ahead: usize,
}

fn accelerator(how: &How) -> TileAcc {
    // A sweep that is cut in two, since its thread was kept from its core, tells the first cell of its first part.
    let builder = unhurried().threads(how.threads).look_ahead(how.look_ahead);
    let builder = match how.device {
        "cpu" => builder.device(Device::Cpu),
        "opencl" => builder.device(Device::OpenCl),
        _ => builder.simulate(SimDevice::new()),
    };
    how.limit.map_or(builder.clone(), |limit| builder.memory_limit(limit)).build().unwrap()
}

fn array(acc: &TileAcc, how: &How) -> TileArray<i32, 2> {
    TileArray::builder([ROWS, COLUMNS]).regions(how.regions).ghost(1).boundary(Boundary::Fixed(0)).build(acc).unwrap()
}

/// The errors of a sweep, of a second one that fails too, of a reduction and of a kernel over groups, all of which go
/// wrong at the cells of the mask.
fn errors(how: &How, bad: &[bool]) -> [String; 4] {
    let acc = accelerator(how);
    let mut mask = array(&acc, how);
    let values: Vec<i32> = bad.iter().map(|bad| i32::from(*bad)).collect();
    mask.write_box(mask.domain(), &values).unwrap();
    let (mut out, mut again, mut grouped) = (mask.like().unwrap(), mask.like().unwrap(), mask.like().unwrap());
    let table = [5i32; COLUMNS];
    mask.fill_ghosts().unwrap();
    for tile in TileIter::new(&mask).tile_size(how.tile) {
        compute(
            &tile,
            (&mut out, &mask, table_of(&table)),
            kernel!(|out, mask, w, at| {
                let i = if mask[at] > 0 { 1000000 + at[0] * 1000 + at[1] } else { at[1] };
                out[at] = w[i as usize] + mask[at + [0, 1]];
            }),
        )
        .unwrap();
    }
    // It fails by itself in the cells before those of the mask, and by what it reads.
    for tile in TileIter::new(&mask).tile_size(how.tile) {
        compute(&tile, (&mut again, &out), kernel!(|again, out, at| again[at] = 1 / (out[at] - out[at]))).unwrap();
    }
    for tile in TileIter::new(&mask) {
        compute_groups(
            &tile,
            [4, 8],
            (&mut grouped, &mask),
            group_kernel!(|grouped, mask, group| {
                let s = group.shared::<i32>([4, 8]);
                group.each(|t| s[t] = 7 / (1 - mask[t.at()]));
                group.each(|t| grouped[t.at()] = s[t] + [1, 2, 3][(mask[t.at()] * 9) as usize]);
            }),
        )
        .unwrap();
    }
    let sum = reduce(
        (&mask, table_of(&table)),
        Sum,
        kernel!(|mask, w, at| {
            let i = if mask[at] > 0 { 1000000 + at[0] * 1000 + at[1] } else { at[1] };
            w[i as usize]
        }),
    );
    let found = |error: tida::Error| error.found().to_owned();
    [
        found(out.to_ndarray().unwrap_err()),
        found(again.to_ndarray().unwrap_err()),
        found(sum.unwrap_err()),
        found(grouped.to_ndarray().unwrap_err()),
    ]
}

fn table_of(values: &[i32]) -> tida::Table<i32> {
    table(values)
}

fn how() -> impl Strategy<Value = How> {
    let device = match std::env::var("TIDA_DEVICE").as_deref() {
        Ok("opencl") => "opencl",
        Ok("sim") => "sim",
        _ => "cpu",
    };
    let cuts = prop::sample::select(vec![[1, 1], [5, 1], [2, 3], [1, 4]]);
    let tile = prop::sample::select(vec![[240, 300], [48, 300], [24, 32], [16, 64]]);
    let limit = prop::sample::select(vec![None, None, Some(1_200_000), Some(700_000)]);
    (1..4usize, cuts, tile, limit, prop::sample::select(vec![1usize, 3, 1000])).prop_map(
        move |(threads, regions, tile, limit, look_ahead)| {
            // Groups start at multiples of their extent.
            let regions = if regions[0] == 2 { [2, 1] } else { regions };
            let regions = if regions[1] > 1 { [5, 1] } else { regions };
            let limit = limit.filter(|_| device != "cpu");
            How { device, threads, regions, tile, limit, look_ahead }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_first_cell_is_told(how in how(), cells in prop::collection::vec(0..ROWS * COLUMNS, 1..60)) {
        let mut bad = vec![false; ROWS * COLUMNS];
        cells.iter().for_each(|cell| bad[*cell] = true);
        let first = *cells.iter().min().unwrap();
        let read = format!("a read of `w` at [{}], outside what it holds there", far(first));
        let division = "an integer division by zero, or of the lowest value by -1";
        let [out, again, sum, grouped] = errors(&how, &bad);
        prop_assert_eq!(&out, &read, "the sweep, {:?}", how);
        prop_assert_eq!(&again, &read, "the sweep after it, {:?}", how);
        prop_assert_eq!(&sum, &read, "the reduction, {:?}", how);
        prop_assert_eq!(&grouped, &division, "the groups, {:?}", how);
    }
}

#[test]
fn an_index_below_zero_is_shown_as_such() {
    let acc = TileAcc::auto().unwrap();
    let mut u = TileArray::<i64, 1>::builder([8]).build(&acc).unwrap();
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = [1, 2, 3][(at[0] - 5) as usize])).unwrap();
    }
    let error = u.to_ndarray().unwrap_err();
    assert_eq!(error.found(), "entry -5 of a fixed-size array of 3", "{error}");
}

/// The entry of a captured table is found by a captured number, in a loop that all cells of a block take together.
fn table_by(device: &'static str, threads: usize, first: i64) -> Result<Vec<f64>, String> {
    let how = How { device, threads, regions: [1, 1], tile: [4, 8], limit: None, look_ahead: 4 };
    let acc = accelerator(&how);
    let mut out = TileArray::<f64, 2>::builder([4, 8]).build(&acc).unwrap();
    let table: [f64; 250] = std::array::from_fn(|n| n as f64 * 0.1);
    let turns = 2i64;
    for tile in TileIter::new(&out) {
        compute(
            &tile,
            &mut out,
            kernel!(|out, at| {
                let mut sum = 0.0;
                for r in 0i64..turns {
                    sum += table[(first - 7 * (8 * at[0] + at[1]) + 10 * r) as usize];
                }
                out[at] = sum;
            }),
        )
        .unwrap();
    }
    out.to_ndarray().map(|all| all.iter().copied().collect()).map_err(|error| error.to_string())
}

#[test]
fn a_captured_number_that_lets_an_index_leave_its_table_faults_at_the_first_cell() {
    let plain: Vec<f64> = (0..32).map(|n| (220 - 7 * n) as f64 * 0.1 + (230 - 7 * n) as f64 * 0.1).collect();
    for (device, threads) in [("cpu", 1), ("cpu", 3), ("sim", 1), ("opencl", 1)] {
        if device == "opencl" && std::env::var("TIDA_DEVICE").as_deref() != Ok("opencl") {
            continue;
        }
        assert_eq!(table_by(device, threads, 220).unwrap(), plain, "{device}");
        let error = table_by(device, threads, 100).unwrap_err();
        assert!(error.contains("entry -5 of a fixed-size array of 250"), "{device}: {error}");
    }
}
