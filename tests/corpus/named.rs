//! What random kernels name: a constant and a table of each type, and constants for bounds and offsets.

/// The farthest that a kernel reads.
pub const REACH: i64 = 2;
pub const TURNS: usize = 3;
pub const OFFSETS: [i64; 5] = [2, -1, 0, -2, 1];

pub const F64: f64 = 0.1;
pub const F64_TABLE: [f64; 4] = [-0.375, 1e3, 0.0, 3.3];
pub static F32: f32 = 0.1;
pub const F32_TABLE: [f32; 4] = [-0.375, 1e3, 0.0, 3.3];
pub const I32: i32 = -7;
pub const I32_TABLE: [i32; 4] = [i32::MIN, 5, -1, 305_419_896];
pub const U64: u64 = 11;
pub const U64_TABLE: [u64; 4] = [u64::MAX, 0, 1 << 40, 9];
pub const I64: i64 = -3;
pub const I64_TABLE: [i64; 4] = [1 << 40, -2, i64::MIN, 6];
pub const I8: i8 = -100;
pub const I8_TABLE: [i8; 4] = [i8::MIN, 3, 127, -1];
pub const I16: i16 = 12345;
pub const I16_TABLE: [i16; 4] = [i16::MIN, 3, -300, 32767];
pub const U16: u16 = 54321;
pub const U16_TABLE: [u16; 4] = [u16::MAX, 0, 257, 2];
pub const BOOL: bool = true;
pub const BOOL_TABLE: [bool; 4] = [false, true, true, false];
