//! Where numbers stand on an axis, and how they are written.

/// A mark on an axis: where it stands, and what is written there.
pub type Tick = (f64, String);

/// Where a value lies in a range: 0 at its low end, 1 at its high one. By halves, so that no difference is too large.
pub fn part(value: f64, [lo, hi]: [f64; 2]) -> f64 {
    (value / 2.0 - lo / 2.0) / (hi / 2.0 - lo / 2.0)
}

/// A range that has an extent: around a single value half of it lies below and above, around 0 a half.
pub fn with_extent([lo, hi]: [f64; 2]) -> [f64; 2] {
    if hi > lo {
        return [lo, hi];
    }
    let half = if lo == 0.0 { 0.5 } else { 0.5 * lo.abs().max(f64::MIN_POSITIVE) };
    [(lo - half).max(-f64::MAX), (hi + half).min(f64::MAX)]
}

/// At most so many marks between two values, at round numbers: 1, 2 or 5 times a power of ten, whole numbers if asked
/// for.
pub fn linear([lo, hi]: [f64; 2], most: usize, whole: bool) -> Vec<Tick> {
    let span = hi - lo;
    if !(span > 0.0 && span.is_finite()) {
        return vec![(lo, written(lo, None))];
    }
    let least = span / most.max(1) as f64;
    let power = 10f64.powi(least.log10().floor() as i32);
    let mut step = [1.0, 2.0, 5.0, 10.0]
        .map(|n| n * power)
        .into_iter()
        .find(|s| *s >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power);
    if whole {
        step = step.max(1.0);
    }
    let first = (lo / step - 1e-9).ceil();
    let count = ((hi / step + 1e-9).floor() - first).max(0.0) as usize;
    (0..=count.min(100)).map(|n| (first + n as f64) * step).map(|at| (at, written(at, Some(step)))).collect()
}

/// Marks at powers of ten, on an axis of logarithms to ten.
pub fn logarithmic([lo, hi]: [f64; 2], most: usize) -> Vec<Tick> {
    let (first, last) = ((lo - 1e-9).ceil() as i32, (hi + 1e-9).floor() as i32);
    let step = ((last - first).max(0) as usize).div_ceil(most.max(1)).max(1);
    (first..=last).step_by(step).map(|power| (power.into(), power_of_ten(power))).collect()
}

fn power_of_ten(power: i32) -> String {
    match power {
        0 => "1".into(),
        1..=3 => format!("1{}", "0".repeat(power as usize)),
        _ => format!("1e{power}"),
    }
}

/// A number with as many digits as marks this far apart need; or with a few.
fn written(value: f64, step: Option<f64>) -> String {
    let step = step.unwrap_or(value.abs() * 1e-3);
    // What should be zero may be a rounding error.
    if value.abs() < 1e-6 * step || value == 0.0 {
        return "0".into();
    }
    let power = |x: f64| (x.abs().log10() + 1e-9).floor() as i32;
    let (size, digit) = (power(value), power(step));
    if !(-4..=5).contains(&size) {
        let digits = (size - digit).clamp(0, 15) as usize;
        return short(format!("{value:.digits$e}"));
    }
    short(format!("{value:.digits$}", digits = (-digit).clamp(0, 15) as usize))
}

/// Without zeros at the end of a fraction.
fn short(text: String) -> String {
    let (number, power) = text.split_once('e').map_or((&text[..], None), |(number, power)| (number, Some(power)));
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    power.map_or_else(|| number.to_owned(), |power| format!("{number}e{power}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(ticks: Vec<Tick>) -> String {
        ticks.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn marks_stand_at_round_numbers() {
        assert_eq!(words(linear([0.0, 1.0], 6, false)), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(words(linear([-0.2, 0.2], 5, false)), "-0.2 -0.1 0 0.1 0.2");
        assert_eq!(words(linear([318.2, 334.9], 4, false)), "320 325 330");
        assert_eq!(words(linear([-0.5, 3.5], 9, true)), "0 1 2 3");
        assert_eq!(words(linear([-0.5, 0.5], 9, true)), "0");
        assert_eq!(words(linear([0.0, 3e-7], 3, false)), "0 1e-7 2e-7 3e-7");
        assert_eq!(words(linear([0.0, 4e9], 3, false)), "0 2e9 4e9");
        assert_eq!(words(linear([1e6, 1.02e6], 2, false)), "1e6 1.01e6 1.02e6");
        assert_eq!(words(linear([2.0, 2.0], 5, false)), "2");
        assert_eq!(words(linear([-1e308, 1e308], 5, false)), "-1e308");
        assert_eq!(linear([0.0, 1e-300], 5, false).len(), 6);
    }

    #[test]
    fn marks_of_logarithms_are_powers_of_ten() {
        assert_eq!(words(logarithmic([-2.0, 2.0], 9)), "1e-2 1e-1 1 10 100");
        assert_eq!(words(logarithmic([-12.0, 0.0], 4)), "1e-12 1e-9 1e-6 1e-3 1");
        assert_eq!(words(logarithmic([4.0, 5.0], 4)), "1e4 1e5");
    }
}
