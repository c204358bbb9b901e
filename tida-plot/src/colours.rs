//! Colour maps.

/// Which colours stand for which values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColourMap {
    /// Dark blue through green to yellow, of steadily growing lightness (after matplotlib's viridis).
    #[default]
    Viridis,
    /// Black through purple to pale yellow, of steadily growing lightness (after matplotlib's magma).
    Magma,
    /// Blue through white to red, for values on both sides of a middle (after ColorBrewer's RdBu).
    Diverging,
    /// Black to white.
    Greys,
}

const VIRIDIS: [[u8; 3]; 11] = [
    [68, 1, 84],
    [72, 36, 117],
    [65, 68, 135],
    [53, 95, 141],
    [42, 120, 142],
    [33, 145, 140],
    [34, 168, 132],
    [68, 191, 112],
    [122, 209, 81],
    [189, 223, 38],
    [253, 231, 37],
];

const MAGMA: [[u8; 3]; 11] = [
    [0, 0, 4],
    [20, 14, 54],
    [59, 15, 112],
    [100, 26, 128],
    [140, 41, 129],
    [183, 55, 121],
    [222, 73, 104],
    [247, 112, 92],
    [254, 159, 109],
    [254, 207, 146],
    [252, 253, 191],
];

const DIVERGING: [[u8; 3]; 11] = [
    [5, 48, 97],
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
    [103, 0, 31],
];

impl ColourMap {
    /// The colour (red, green, blue) of `x` between 0 and 1. What lies beyond has the colour of the end.
    ///
    /// ```
    /// use tida_plot::ColourMap;
    ///
    /// assert_eq!(ColourMap::Greys.colour(0.5), [128, 128, 128]);
    /// assert_eq!(ColourMap::Magma.colour(-1.0), [0, 0, 4]);
    /// assert_eq!(ColourMap::Viridis.colour(f64::NAN), ColourMap::Viridis.nan());
    /// ```
    pub fn colour(self, x: f64) -> [u8; 3] {
        if x.is_nan() {
            return self.nan();
        }
        let stops: &[[u8; 3]] = match self {
            ColourMap::Viridis => &VIRIDIS,
            ColourMap::Magma => &MAGMA,
            ColourMap::Diverging => &DIVERGING,
            ColourMap::Greys => &[[0; 3], [255; 3]],
        };
        let last = stops.len() - 1;
        let place = x.clamp(0.0, 1.0) * last as f64;
        let low = (place as usize).min(last - 1);
        let t = place - low as f64;
        std::array::from_fn(|c| {
            let (a, b) = (f64::from(stops[low][c]), f64::from(stops[low + 1][c]));
            (a + t * (b - a)).round() as u8
        })
    }

    /// The colour of NaN, which no number has.
    ///
    /// ```
    /// assert_eq!(tida_plot::ColourMap::Magma.nan(), [128, 128, 128]);
    /// ```
    pub fn nan(self) -> [u8; 3] {
        match self {
            ColourMap::Greys => [214, 39, 40],
            _ => [128; 3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ColourMap; 4] = [ColourMap::Viridis, ColourMap::Magma, ColourMap::Diverging, ColourMap::Greys];

    /// How bright eyes find a colour.
    fn lightness([r, g, b]: [u8; 3]) -> f64 {
        0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
    }

    #[test]
    fn brighter_means_more() {
        for map in [ColourMap::Viridis, ColourMap::Magma, ColourMap::Greys] {
            let steps: Vec<f64> = (0..=100).map(|i| lightness(map.colour(f64::from(i) / 100.0))).collect();
            assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]), "{map:?} {steps:?}");
        }
        let away = |x: f64| lightness(ColourMap::Diverging.colour(x));
        assert!(away(0.5) > away(0.3) && away(0.3) > away(0.1) && away(0.5) > away(0.7) && away(0.7) > away(0.9));
    }

    #[test]
    fn no_number_has_the_colour_of_nan() {
        for map in ALL {
            assert!((0..=10_000).all(|i| map.colour(f64::from(i) / 1e4) != map.nan()), "{map:?}");
            assert_eq!(map.colour(f64::INFINITY), map.colour(1.0));
            assert_eq!(map.colour(f64::NEG_INFINITY), map.colour(0.0));
        }
    }
}
