//! What proptest draws: the shape of a scene, and the seed of its data.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tida_kernels::element::ScalarType;
use tida_kernels::scalar::Value;

/// One drawn scene.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Cells on each axis; the last `D` are used.
    pub cells: [usize; 4],
    /// Regions on each axis, as a share of what is possible.
    pub regions: [usize; 4],
    /// Ghost cells beyond the least that the corpus needs, on each axis and side.
    pub more_ghosts: [[bool; 2]; 4],
    /// Boundary of each face.
    pub boundary: [[u8; 2]; 4],
    /// Cells of a tile on each axis; 0 for whole regions.
    pub tile: [usize; 4],
    /// Cells left out at both ends of each axis.
    pub within: [[i64; 2]; 4],
    /// Threads.
    pub threads: usize,
    /// Values: 0 tame, 1 wild, 2 mixed.
    pub wildness: u8,
    /// Seed of the values.
    pub seed: u64,
}

fn draw() -> impl Strategy<Value = Draw> {
    let slow = || prop_oneof![2usize..7, Just(2usize), Just(3usize)];
    let last = prop_oneof![2usize..20, 60usize..70, 120usize..200];
    let cells = (slow(), slow(), slow(), last).prop_map(|(a, b, c, d)| [a, b, c, d]);
    let tile = proptest::array::uniform4(prop_oneof![Just(0usize), 1usize..9]);
    let within = proptest::array::uniform4(proptest::array::uniform2(prop_oneof![3 => Just(0i64), 1 => 0i64..3]));
    (
        cells,
        any::<[u8; 4]>(),
        any::<[[bool; 2]; 4]>(),
        any::<[[u8; 2]; 4]>(),
        tile,
        within,
        1usize..4,
        0u8..3,
        any::<u64>(),
    )
        .prop_map(|(cells, regions, more_ghosts, boundary, tile, within, threads, wildness, seed)| Draw {
            cells,
            regions: regions.map(usize::from),
            more_ghosts,
            boundary,
            tile,
            within,
            threads,
            wildness,
            seed,
        })
}

/// Runs a test over so many draws.
pub fn each_draw(cases: u32, test: impl Fn(&Draw)) {
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() };
    let run = TestRunner::new(config).run(&draw(), |draw| {
        test(&draw);
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
}

/// A number from numbers, spread over all bits (splitmix64).
pub fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const WILD_F64: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    f64::MIN_POSITIVE,
    5e-324,
    -3e-310,
    f64::MAX,
    f64::MIN,
    1.0,
    -1.0,
    0.5,
    -2.5,
    1e300,
    4294967296.5,
    -9.3e18,
    1.9e19,
];

/// A value of a type; every bit pattern of a float is possible if it is wild.
pub fn value(ty: ScalarType, wildness: u8, bits: u64) -> Value {
    let wild = match wildness {
        0 => false,
        1 => true,
        _ => bits.is_multiple_of(4),
    };
    let (pick, rest) = ((bits >> 8) as usize % 8, mix(bits, 1));
    let small = (rest % 17) as i64 - 8;
    match ty {
        ScalarType::F64 if !wild => Value::F64(rest as i64 as f64 / (1u64 << 62) as f64),
        ScalarType::F64 if pick < 6 => Value::F64(WILD_F64[rest as usize % WILD_F64.len()]),
        ScalarType::F64 => Value::F64(f64::from_bits(rest)),
        ScalarType::F32 if !wild => Value::F32((rest as i32) as f32 / (1u32 << 30) as f32),
        ScalarType::F32 if pick < 4 => Value::F32(WILD_F64[rest as usize % WILD_F64.len()] as f32),
        ScalarType::F32 if pick < 5 => Value::F32(f32::from_bits(rest as u32 & 0x807f_ffff)),
        ScalarType::F32 => Value::F32(f32::from_bits(rest as u32)),
        ScalarType::Bool => Value::Bool(rest & 1 == 1),
        _ if !wild && ty.is_signed_int() => Value::from_bits(ty, small as u64),
        _ if !wild => Value::from_bits(ty, 1 + rest % 9),
        _ if pick < 2 => Value::from_bits(ty, small as u64),
        _ if pick == 2 && ty.is_signed_int() => Value::from_bits(ty, 1 << (8 * ty.size() - 1)),
        _ if pick == 3 => Value::from_bits(ty, 0),
        _ if pick == 4 => Value::from_bits(ty, u64::MAX),
        _ => Value::from_bits(ty, rest),
    }
}
