//! Packing without loss: neighbours differ by little, so the leading bits of their differences are zeros that need not
//! be moved.
//!
//! A **frame** is [`VALUES`] values that follow one another, in [`ROWS`] rows of 32. Values are mapped to integers of
//! the same order, and each is predicted from the one before it, or from the two before it along a line, whichever
//! leaves less; what is left is kept row by row as planes of bits, as many as the row's largest needs. A packed frame
//! is
//!
//! | bytes | |
//! |---|---|
//! | 32 | bits of each row |
//! | 16 | the first value, and the difference of the second |
//! | 4 | how many values the prediction takes (1 or 2), and the frame's bytes times 256 |
//! | 12 | 0 |
//! | 128 and less for each row | its planes of bits, lowest first: 32 bits each, one of each value |
//!
//! Frames have **slots** of a fixed size, so that who moves them knows where they are without having looked. What has
//! no room in its slot stays as it is: the first four bytes of the slot say so, the four that were there are kept
//! apart, and what the slot is too short for follows elsewhere. So packed frames take never more than four bytes more
//! than they did. `emit::link` has the same as text.

/// Values of a frame.
pub const VALUES: usize = 1024;
/// Rows of 32 values.
pub const ROWS: usize = 32;
/// Bytes before the planes of bits.
pub const HEAD: usize = 64;
/// What the first four bytes of a slot say of a frame that is as it was.
pub const AS_IT_WAS: u32 = u32::MAX;
/// Where a frame says its order and its size.
const ORDER: usize = 48;

/// The bits of a value of 4 or 8 bytes.
pub trait Word: Copy + Default {
    /// Bytes of a word.
    const BYTES: usize;
    /// An integer whose order is that of the floats with such bits.
    fn ordered(self) -> i64;
    /// Undoes [`Word::ordered`].
    fn of_ordered(x: i64) -> Self;
    /// Of a difference, positive ones and negative ones in turn: small for small differences. Wraps around.
    fn folded(x: i64) -> u64;
    /// Undoes [`Word::folded`].
    fn unfolded(x: u64) -> i64;
    /// The word that lies there. `bytes` has at least [`Word::BYTES`].
    fn read(bytes: &[u8]) -> Self;
    /// Puts the word there.
    fn write(self, bytes: &mut [u8]);
}

macro_rules! words {
    ($($t:ty, $signed:ty;)*) => {$(
        impl Word for $t {
            const BYTES: usize = size_of::<$t>();
            fn ordered(self) -> i64 {
                let mask = ((self as $signed) >> (<$t>::BITS - 1)) as $t >> 1;
                ((self ^ mask) as $signed).into()
            }
            fn of_ordered(x: i64) -> $t {
                let x = x as $t;
                x ^ ((x as $signed) >> (<$t>::BITS - 1)) as $t >> 1
            }
            fn folded(x: i64) -> u64 {
                let x = x as $signed;
                (((x << 1) ^ (x >> (<$t>::BITS - 1))) as $t).into()
            }
            fn unfolded(x: u64) -> i64 {
                let x = x as $t;
                (((x >> 1) ^ (x & 1).wrapping_neg()) as $signed).into()
            }
            fn read(bytes: &[u8]) -> $t {
                bytes.first_chunk().map_or(0, |chunk| <$t>::from_ne_bytes(*chunk))
            }
            fn write(self, bytes: &mut [u8]) {
                if let Some(to) = bytes.first_chunk_mut() {
                    *to = self.to_ne_bytes();
                }
            }
        }
    )*};
}

words! {
    u32, i32;
    u64, i64;
}

/// What is left of a frame's values, predicted from so many before each, and the bits of each row.
struct Left {
    values: Box<[u64; VALUES]>,
    bits: [u8; ROWS],
    order: u8,
}

impl Left {
    fn new<W: Word>(values: &[W], order: u8) -> Left {
        let at = |n: usize| values.get(n).copied().unwrap_or_default().ordered();
        let wrap = |x: i64| W::unfolded(W::folded(x));
        let slope = wrap(at(1).wrapping_sub(at(0)));
        let mut left = Left { values: Box::new([0; VALUES]), bits: [0; ROWS], order };
        let (mut last, mut fall) = (at(0).wrapping_sub(slope), slope);
        for (row, (to, bits)) in left.values.chunks_exact_mut(32).zip(&mut left.bits).enumerate() {
            let mut all = 0;
            for (n, to) in to.iter_mut().enumerate() {
                let x = at(row * 32 + n);
                let step = wrap(x.wrapping_sub(last));
                *to = W::folded(if order == 2 { step.wrapping_sub(fall) } else { step });
                all |= *to;
                (last, fall) = (x, step);
            }
            *bits = (64 - all.leading_zeros()) as u8;
        }
        left
    }

    /// The shorter of both.
    fn least<W: Word>(values: &[W]) -> Left {
        let (one, two) = (Left::new(values, 1), Left::new(values, 2));
        if two.bytes() < one.bytes() { two } else { one }
    }

    fn bytes(&self) -> usize {
        HEAD + 4 * self.bits.iter().map(|bits| usize::from(*bits)).sum::<usize>()
    }
}

/// Bytes that a frame of these values would take: [`VALUES`] of them.
pub fn bytes_of<W: Word>(values: &[W]) -> usize {
    Left::least(values).bytes()
}

/// Bytes that the frame in a slot takes; none of one that is as it was.
pub fn bytes_in(slot: &[u8]) -> Option<usize> {
    let order = slot.get(ORDER..).map(u32::read)?;
    (u32::read(slot) != AS_IT_WAS).then_some((order >> 8) as usize)
}

/// Packs [`VALUES`] values into a slot. What has no room stays as it was: in `rest` is what the slot is too short for,
/// the first four bytes come into `apart`. Says whether it had room.
pub fn pack<W: Word>(values: &[W], slot: &mut [u8], rest: &mut [u8], apart: &mut [u8]) -> bool {
    let left = Left::least(values);
    let bytes = left.bytes();
    if bytes > slot.len() {
        let short = slot.len();
        for (n, value) in values.iter().enumerate().take(VALUES) {
            let mut all = [0; 8];
            value.write(&mut all);
            for (half, unit) in all.chunks_exact(4).take(W::BYTES / 4).enumerate() {
                let at = n * W::BYTES + half * 4;
                let to = match at {
                    0 => &mut *apart,
                    _ if at < short => &mut slot[at..],
                    _ => &mut rest[at - short..],
                };
                u32::read(unit).write(to);
            }
        }
        AS_IT_WAS.write(slot);
        return false;
    }
    let first = values.first().copied().unwrap_or_default().ordered();
    let second = values.get(1).copied().unwrap_or_default().ordered();
    let slope = W::unfolded(W::folded(second.wrapping_sub(first)));
    slot[..ROWS].copy_from_slice(&left.bits);
    (first as u64).write(&mut slot[32..]);
    (slope as u64).write(&mut slot[40..]);
    (u32::from(left.order) | (bytes as u32) << 8).write(&mut slot[ORDER..]);
    slot[ORDER + 4..HEAD].fill(0);
    let mut at = HEAD;
    for (row, bits) in left.values.chunks_exact(32).zip(left.bits) {
        for half in 0..usize::from(bits).div_ceil(32) {
            let mut square: [u32; 32] = std::array::from_fn(|n| (row[n] >> (32 * half)) as u32);
            transpose(&mut square);
            for plane in square.iter().take(usize::from(bits) - 32 * half) {
                plane.write(&mut slot[at..]);
                at += 4;
            }
        }
    }
    true
}

/// Gives back what [`pack`] was given. Whatever the slot holds, it reads no more than these.
pub fn unpack<W: Word>(slot: &[u8], rest: &[u8], apart: &[u8], values: &mut [W]) {
    let word = |from: &[u8], at: usize| from.get(at..).map_or(0, u32::read);
    if word(slot, 0) == AS_IT_WAS {
        for (n, value) in values.iter_mut().enumerate().take(VALUES) {
            let mut all = [0; 8];
            for (half, unit) in all.chunks_exact_mut(4).take(W::BYTES / 4).enumerate() {
                let at = n * W::BYTES + half * 4;
                let from = match at {
                    0 => word(apart, 0),
                    _ if at < slot.len() => word(slot, at),
                    _ => word(rest, at - slot.len()),
                };
                from.write(unit);
            }
            *value = W::read(&all);
        }
        return;
    }
    let order = word(slot, ORDER) & 255;
    let long = |at: usize| slot.get(at..).map_or(0, u64::read) as i64;
    let slope = long(40);
    let (mut last, mut fall) = (long(32).wrapping_sub(slope), slope);
    let mut at = HEAD;
    for (row, values) in values.chunks_mut(32).enumerate().take(ROWS) {
        let bits = usize::from(slot.get(row).copied().unwrap_or(0)).min(8 * W::BYTES);
        let mut left = [0u64; 32];
        for half in 0..bits.div_ceil(32) {
            let mut square = [0; 32];
            for plane in square.iter_mut().take(bits - 32 * half) {
                *plane = word(slot, at);
                at += 4;
            }
            transpose(&mut square);
            left.iter_mut().zip(square).for_each(|(left, part)| *left |= u64::from(part) << (32 * half));
        }
        for (value, left) in values.iter_mut().zip(left) {
            let mut step = W::unfolded(left);
            if order == 2 {
                step = step.wrapping_add(fall);
            }
            last = last.wrapping_add(step);
            fall = step;
            *value = W::of_ordered(last);
        }
    }
}

/// Bit `b` of word `n` becomes bit `n` of word `b`.
fn transpose(square: &mut [u32; 32]) {
    let (mut by, mut mask) = (16, 0x0000_ffffu32);
    while by > 0 {
        for n in (0..32).filter(|n| n & by == 0) {
            let swap = (square[n] >> by ^ square[n + by]) & mask;
            square[n] ^= swap << by;
            square[n + by] ^= swap;
        }
        by >>= 1;
        mask ^= mask << by;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn there_and_back<W: Word + PartialEq + std::fmt::Debug>(values: &[W], slot: usize) -> bool {
        let frame = VALUES * W::BYTES;
        let (mut packed, mut rest, mut apart) = (vec![0x5a; slot], vec![0x5a; frame - slot], [0x5a; 4]);
        let fits = pack(values, &mut packed, &mut rest, &mut apart);
        assert_eq!(fits, bytes_of(values) <= slot);
        assert_eq!(bytes_in(&packed), fits.then(|| bytes_of(values)));
        let mut back = vec![W::default(); VALUES];
        unpack(&packed, &rest, &apart, &mut back);
        assert_eq!(back, values);
        fits
    }

    fn smooth(n: usize) -> f64 {
        1.0 + 0.5 * (n as f64 / 200.0).sin()
    }

    #[test]
    fn smooth_values_take_fewer_bits() {
        let long: Vec<u64> = (0..VALUES).map(|n| smooth(n).to_bits()).collect();
        let short: Vec<u32> = (0..VALUES).map(|n| (smooth(n) as f32).to_bits()).collect();
        assert!(there_and_back(&long, 5632), "{}", bytes_of(&long));
        assert!(there_and_back(&short, 1920), "{}", bytes_of(&short));
    }

    #[test]
    fn the_same_value_takes_next_to_nothing() {
        for x in [0.0, -0.0, 1.5, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(bytes_of(&[x.to_bits(); VALUES]), HEAD);
            assert!(there_and_back(&[x.to_bits(); VALUES], 128));
        }
    }

    #[test]
    fn what_is_no_frame_harms_no_one() {
        let mut values = [0u64; VALUES];
        for byte in [0, 1, 77, 254, 255] {
            unpack(&vec![byte; 512], &[], &[], &mut values);
        }
        unpack(&[], &[], &[], &mut values);
    }

    #[test]
    fn order_is_kept() {
        let list = [f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 1.0, f64::INFINITY];
        for pair in list.windows(2) {
            assert!(pair[0].to_bits().ordered() < pair[1].to_bits().ordered());
            assert!((pair[0] as f32).to_bits().ordered() <= (pair[1] as f32).to_bits().ordered());
        }
        assert_eq!(u32::of_ordered((-1.5f32).to_bits().ordered()), (-1.5f32).to_bits());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Any bits come back, in any slot: smooth ones with wild ones among them.
        #[test]
        fn any_values_come_back(
            wild in prop::collection::vec((0..VALUES, any::<u64>()), 0..40),
            start in any::<u64>(),
            steps in prop::collection::vec(-(1i64 << 40)..1 << 40, 1..8),
            slots in 1usize..31,
        ) {
            let mut long: Vec<u64> = (0..VALUES as u64)
                .map(|n| start.wrapping_add((steps[n as usize % steps.len()] as u64).wrapping_mul(n / 7)))
                .collect();
            wild.iter().for_each(|(n, bits)| long[*n] = *bits);
            let short: Vec<u32> = long.iter().map(|x| (x >> 20) as u32).collect();
            there_and_back(&long, slots * 256);
            there_and_back(&short, slots * 128);
        }

        #[test]
        fn noise_stays_as_it_is(seed in any::<u64>()) {
            let noise = |n: u64| {
                let x = (seed ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ x >> 32
            };
            let long: Vec<u64> = (0..VALUES as u64).map(noise).collect();
            prop_assert!(!there_and_back(&long, 4096));
        }
    }
}
