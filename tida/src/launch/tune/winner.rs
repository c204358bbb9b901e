//! What trials found, and the text that is kept of it.

use std::fmt;

use tida_kernels::plan::cache::Cache;

use crate::device::plans::{Winner, Wish};

/// First line of what is stored: what it is, and the version of its form.
pub(super) const HEAD: &str = "tida trials 2";

impl Winner {
    pub(super) fn to_text(self) -> String {
        format!("{HEAD}\ngain {:.4}\n{}", self.gain, Lines(self.wish, "\n"))
    }

    /// Nothing if it is not what [`Winner::to_text`] gives.
    pub(super) fn from_text(text: &str) -> Option<Winner> {
        let mut lines = text.lines();
        lines.next().filter(|head| *head == HEAD)?;
        let gain: f64 = lines.next()?.strip_prefix("gain ")?.parse().ok()?;
        let mut wish = Wish::default();
        for line in lines {
            let mut words = line.split(' ');
            match words.next()? {
                "block" => {
                    let numbers: Option<Vec<u32>> = words.by_ref().map(|word| word.parse().ok()).collect();
                    wish.block = Some(numbers?.try_into().ok()?);
                }
                "cells" => {
                    let numbers: Option<Vec<u32>> = words.by_ref().map(|word| word.parse().ok()).collect();
                    wish.cells = Some(numbers?.try_into().ok()?);
                }
                "march" => wish.march = Some(words.next()?.parse().ok()?),
                "cache" => {
                    let (arg, how) = (words.next()?.parse().ok()?, words.next()?);
                    let all =
                        [Cache::None, Cache::Tile, Cache::CheckedTile, Cache::TaggedLines, Cache::Preload, Cache::Tma];
                    wish.cache.set(arg, all.into_iter().find(|known| format!("{known:?}") == how)?);
                }
                _ => return None,
            }
            if words.next().is_some() {
                return None;
            }
        }
        (gain.is_finite() && gain >= 1.0).then_some(Winner { wish, gain })
    }
}

/// What is asked for, a line each.
pub(super) struct Lines(pub(super) Wish, pub(super) &'static str);

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        lines.extend(self.0.block.map(|[x, y, z]| format!("block {x} {y} {z}")));
        lines.extend(self.0.cells.map(|[x, y]| format!("cells {x} {y}")));
        lines.extend(self.0.march.map(|cells| format!("march {cells}")));
        lines.extend(self.0.cache.all().map(|(arg, how)| format!("cache {arg} {how:?}")));
        f.write_str(&lines.join(self.1))
    }
}

impl fmt::Display for Winner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gain > 1.0 {
            true => write!(f, "{}: {:.2} times as fast as what was chosen", Lines(self.wish, ", "), self.gain),
            false => write!(f, "nothing tried was faster than what was chosen"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::plans::Hints;

    #[test]
    fn what_is_stored_is_read_again() {
        let mut cache = Hints::default();
        cache.set(1, Cache::Preload);
        cache.set(2, Cache::None);
        for wish in [
            Wish::default(),
            Wish { block: Some([32, 8, 1]), march: None, cache, cells: None },
            Wish { block: Some([16, 16, 1]), cells: Some([4, 8]), ..Wish::default() },
            Wish { march: Some(16), ..Wish::default() },
        ] {
            let winner = Winner { wish, gain: 1.25 };
            assert_eq!(Winner::from_text(&winner.to_text()), Some(winner));
        }
        let text =
            Winner { wish: Wish { block: Some([32, 8, 1]), march: Some(4), cache, cells: None }, gain: 1.5 }.to_text();
        assert_eq!(text, "tida trials 2\ngain 1.5000\nblock 32 8 1\nmarch 4\ncache 1 Preload\ncache 2 None");
        for bad in [
            "",
            "tida trials 0\ngain 1.5",
            "tida trials 2",
            "tida trials 2\ngain nan",
            "tida trials 2\ngain 0.5",
            "tida trials 2\ngain 1.5\nblock 32 8",
            "tida trials 2\ngain 1.5\nblock 32 8 x",
            "tida trials 2\ngain 1.5\nmarch 4 5",
            "tida trials 2\ngain 1.5\ncache 1 Rbi",
            "tida trials 2\ngain 1.5\nspeed 9",
        ] {
            assert_eq!(Winner::from_text(bad), None, "{bad}");
        }
    }
}
