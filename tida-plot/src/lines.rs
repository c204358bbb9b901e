//! Line plots: numbers over steps or cells.

use std::path::Path;

use tida::TileArray;

use crate::canvas::{Align, BLACK, Canvas, GREYS, LARGEST, LETTER, MARGIN, MARK, TEXT, width};
use crate::field::{Field, Number, limits};
use crate::ticks::{self, Tick};
use crate::{Error, Result, encode};

/// Colours that eyes tell apart, also those that do not tell red from green (Okabe and Ito 2008, darkened to stand on
/// white).
const COLOURS: [[u8; 3]; 7] =
    [[0, 114, 178], [213, 94, 0], [0, 130, 95], [190, 90, 150], [200, 135, 0], [60, 150, 205], [90, 90, 90]];
/// Shades of each, between white and the colour itself.
const SHADES: u8 = 15;

/// A plot of one or several lines, with axes and, for several, their names.
///
/// What is no number breaks a line; so does what is not above 0 where the axis is logarithmic.
///
/// ```
/// use tida_plot::Lines;
///
/// let residuals: Vec<f64> = (0..20).map(|n| 0.5f64.powi(n)).collect();
/// Lines::new()
///     .series("found", &residuals)
///     .points("expected", [(0.0, 1.0), (19.0, 1e-6)])
///     .logarithmic()
///     .title("conjugate gradients")
///     .axes("step", "residual")
///     .save(std::env::temp_dir().join("residuals.png"))?;
/// # Ok::<(), tida_plot::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    series: Vec<Series>,
    title: String,
    axes: [String; 2],
    range: Option<[f64; 2]>,
    logarithmic: bool,
    size: [usize; 2],
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::new()
    }
}

impl Lines {
    /// A plot without lines.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new();
    /// ```
    pub fn new() -> Lines {
        Lines {
            series: Vec::new(),
            title: String::new(),
            axes: [String::new(), String::new()],
            range: None,
            logarithmic: false,
            size: [560, 320],
        }
    }

    /// The values of an array of scalars of one axis over its cells; of more axes a line through the middle.
    ///
    /// # Errors
    /// As [`read_box`](TileArray::read_box).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let mut u = TileArray::<f32, 1>::builder([100]).build(&TileAcc::auto()?)?;
    /// u.fill(|[i]| (0.1 * i as f32).sin())?;
    /// let plot = tida_plot::Lines::of(&u)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of<T: Number, const D: usize>(array: &TileArray<T, D>) -> Result<Lines> {
        let shape = array.shape();
        let mut line = if D > 1 { Field::slice_of(array, 0, shape[0] / 2, T::to_f64)? } else { Field::of(array)? };
        line = line.middle();
        if let &[height, _] = line.shape() {
            line = line.slice(0, height / 2)?;
        }
        Ok(Lines::new().series("", line.values()).axes(format!("axis {}", D.saturating_sub(1)), ""))
    }

    /// One more line, of values at 0, 1, 2 and so on.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().series("heat", &[1.0, 0.5, 0.25]);
    /// ```
    pub fn series(self, name: impl Into<String>, values: &[f64]) -> Lines {
        self.points(name, values.iter().enumerate().map(|(n, v)| (n as f64, *v)))
    }

    /// One more line, of points.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().points("heat", [(0.0, 1.0), (10.0, 0.5)]);
    /// ```
    pub fn points(mut self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Lines {
        self.series.push(Series { name: name.into(), points: points.into_iter().collect() });
        self
    }

    /// What stands above it.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().title("heat over time");
    /// ```
    pub fn title(self, title: impl Into<String>) -> Lines {
        Lines { title: title.into(), ..self }
    }

    /// What the axes are: that to the right, and that upwards.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().axes("step", "heat");
    /// ```
    pub fn axes(self, across: impl Into<String>, up: impl Into<String>) -> Lines {
        Lines { axes: [across.into(), up.into()], ..self }
    }

    /// The ends of the axis upwards; the smallest and the largest value if not told.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().range(0.0, 1.0);
    /// ```
    pub fn range(self, min: f64, max: f64) -> Lines {
        Lines { range: Some([min, max]), ..self }
    }

    /// Makes equal ratios equally high.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().logarithmic();
    /// ```
    pub fn logarithmic(self) -> Lines {
        Lines { logarithmic: true, ..self }
    }

    /// Pixels of the plot without what stands around it: 560 by 320 if not told.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().size(800, 200);
    /// ```
    pub fn size(self, width: usize, height: usize) -> Lines {
        Lines { size: [width, height], ..self }
    }

    /// Writes it as a PNG.
    ///
    /// # Errors
    /// A range that is none, a plot of no or too many pixels, a name that does not end in `.png`, a file that cannot be
    /// written.
    ///
    /// ```
    /// let plot = tida_plot::Lines::new().series("", &[1.0, 4.0, 9.0]);
    /// plot.save(std::env::temp_dir().join("squares.png"))?;
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn save(self, path: impl AsRef<Path>) -> Result<()> {
        encode::write(path.as_ref(), "a line plot", &[self.draw(None)?], 0)
    }

    /// The range that it would be drawn with.
    pub(crate) fn limits(&self) -> Option<[f64; 2]> {
        let values = self.series.iter().flat_map(|series| series.points.iter().map(|(_, y)| *y));
        self.range.or_else(|| limits(values.filter(|y| !self.logarithmic || *y > 0.0)))
    }

    /// The same with two points a pixel at most: the lowest and the highest there.
    pub(crate) fn reduced(mut self) -> Lines {
        for series in &mut self.series {
            let most = 4 * self.size[0].max(1);
            if series.points.len() > most {
                let blocks = series.points.chunks(series.points.len().div_ceil(most / 2));
                series.points = blocks.flat_map(ends).collect();
            }
        }
        self
    }

    fn check(&self) -> Result<()> {
        let wrong = |found: String, advice: &str| Err(Error::new("draw a line plot", found, advice));
        if let Some([lo, hi]) = self.range {
            if !(lo.is_finite() && hi.is_finite() && lo <= hi) {
                return wrong(format!("a range of {lo} to {hi}"), "give two numbers, the lesser first");
            }
            if self.logarithmic && lo <= 0.0 {
                return wrong(format!("a logarithmic range from {lo}"), "give one above 0");
            }
        }
        match self.size {
            [width, height] if (1..=LARGEST).contains(&width) && (1..=LARGEST).contains(&height) => Ok(()),
            [width, height] => wrong(format!("{width} by {height} pixels"), &format!("give 1 to {LARGEST} for each")),
        }
    }

    /// Draws it, over this range if it is not told another one.
    pub(crate) fn draw(self, common: Option<[f64; 2]>) -> Result<Canvas> {
        self.check()?;
        let found = self.range.or(common).or_else(|| self.limits()).unwrap_or([1.0, 10.0]);
        let plot = self.reduced();
        let height = if plot.logarithmic { decades(found) } else { roomy(found) };
        let points = plot.series.iter().flat_map(|series| series.points.iter());
        let along = ticks::with_extent(limits(points.map(|(x, _)| *x)).unwrap_or([0.0, 1.0]));
        let across = ticks::linear(along, (plot.size[0] / 70).clamp(1, 8), false);
        let most = (plot.size[1] / 30).clamp(1, 8);
        let up = if plot.logarithmic { ticks::logarithmic(height, most) } else { ticks::linear(height, most, false) };

        let numbers = up.iter().map(|(_, text)| width(text)).max().unwrap_or(0);
        let named = |name: &str| if name.is_empty() { 0 } else { TEXT };
        let legend = plot.legend();
        let left = MARGIN + named(&plot.axes[1]) + numbers + 2 * MARK;
        let top = MARGIN + TEXT / 2 + named(&plot.title) + if legend.is_empty() { 0 } else { TEXT + MARK };
        let widest = [plot.size[0], width(&plot.title), legend.last().map_or(0, |(end, ..)| *end)];
        let canvas = [
            left + widest.into_iter().max().unwrap_or(0) + 2 * MARGIN,
            top + plot.size[1] + 2 * MARK + TEXT + named(&plot.axes[0]) + MARGIN,
        ];
        let shades = COLOURS.iter().flat_map(|colour| (1..=SHADES).map(|shade| pale(*colour, shade)));
        let mut canvas = Canvas::new(canvas[0], canvas[1], shades);

        let area = Area { corner: [left as i64, top as i64], size: plot.size, along, height };
        area.grid(&mut canvas, &across, &up);
        canvas.frame(area.corner, area.size, BLACK);
        for (n, series) in plot.series.iter().enumerate() {
            area.line(&mut canvas, series, plot.logarithmic, colour(n));
        }
        plot.words(&mut canvas, &area, &legend);
        Ok(canvas)
    }

    /// The names of several lines: where each ends from the left, where it starts, and which it is. They stand in one
    /// row.
    fn legend(&self) -> Vec<(usize, usize, usize)> {
        let named =
            self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty() && self.series.len() > 1);
        let mut from = 0;
        let place = |(n, series): (usize, &Series)| {
            let start = from;
            from += 4 * LETTER + width(&series.name) + LETTER;
            (from, start, n)
        };
        named.map(place).collect()
    }

    fn words(&self, canvas: &mut Canvas, area: &Area, legend: &[(usize, usize, usize)]) {
        let [left, top] = area.corner;
        let [middle, height] = [area.size[0] as i64 / 2, area.size[1] as i64];
        canvas.text([left, MARGIN as i64 / 2], Align::Start, &self.title);
        canvas.text([left + middle, top + height + (2 * MARK + TEXT) as i64], Align::Middle, &self.axes[0]);
        canvas.text_up([MARGIN as i64 / 2, top + height / 2], Align::Middle, &self.axes[1]);
        let row = top - (TEXT + MARK) as i64;
        let everywhere = [[0, 0], [canvas.width as i64, canvas.height as i64]];
        for (_, start, n) in legend {
            let (x, y) = (left + *start as i64, (row + TEXT as i64 / 2) as f64);
            canvas.line([x as f64 + 1.0, y], [(x + 3 * LETTER as i64) as f64 - 5.0, y], colour(*n), everywhere);
            canvas.text([x + 3 * LETTER as i64, row], Align::Start, &self.series[*n].name);
        }
    }
}

/// The first shade of a line's colour, and how many it has.
fn colour(line: usize) -> [u8; 2] {
    [GREYS + (line % COLOURS.len()) as u8 * SHADES, SHADES]
}

/// A colour over white.
fn pale(colour: [u8; 3], shade: u8) -> [u8; 3] {
    let part = |c: u8| 255 - (u16::from(255 - c) * u16::from(shade) / u16::from(SHADES)) as u8;
    colour.map(part)
}

/// The lowest and the highest of some points, in their order.
fn ends(points: &[(f64, f64)]) -> [(f64, f64); 2] {
    let pick = |better: fn(f64, f64) -> bool| {
        let numbers = points.iter().enumerate().filter(|(_, (_, y))| !y.is_nan());
        numbers
            .fold(0, |best, (n, (_, y))| if points[best].1.is_nan() || better(*y, points[best].1) { n } else { best })
    };
    let (low, high) = (pick(|a, b| a < b), pick(|a, b| a > b));
    [points[low.min(high)], points[low.max(high)]]
}

/// A range with some room below and above.
fn roomy(range: [f64; 2]) -> [f64; 2] {
    let [lo, hi] = ticks::with_extent(range);
    let room = 0.04 * (hi / 2.0 - lo / 2.0);
    let roomy = [lo - room, hi + room];
    if roomy.iter().all(|end| end.is_finite()) { roomy } else { [lo, hi] }
}

/// The logarithms to ten of whole decades around a range above 0.
fn decades([lo, hi]: [f64; 2]) -> [f64; 2] {
    let (low, high) = ((lo.log10() + 1e-9).floor(), (hi.log10() - 1e-9).ceil());
    [low, high.max(low + 1.0)]
}

/// Where the lines are drawn.
struct Area {
    corner: [i64; 2],
    size: [usize; 2],
    /// What lies at its ends to the right, and upwards: logarithms where that axis has them.
    along: [f64; 2],
    height: [f64; 2],
}

impl Area {
    /// The pixel of a point.
    fn place(&self, (x, y): (f64, f64)) -> [f64; 2] {
        let across = ticks::part(x, self.along) * (self.size[0] as f64 - 1.0);
        let down = (1.0 - ticks::part(y, self.height)) * (self.size[1] as f64 - 1.0);
        [self.corner[0] as f64 + 0.5 + across, self.corner[1] as f64 + 0.5 + down]
    }

    fn grid(&self, canvas: &mut Canvas, across: &[Tick], up: &[Tick]) {
        let ([left, top], [width, height]) = (self.corner, self.size);
        let below = top + height as i64;
        for (at, text) in across {
            let x = self.place((*at, self.height[0]))[0] as i64;
            canvas.fill([x, top], [1, height], 2);
            canvas.fill([x, below + 1], [1, MARK], BLACK);
            canvas.text([x, below + 1 + MARK as i64], Align::Middle, text);
        }
        for (at, text) in up {
            let y = self.place((self.along[0], *at))[1] as i64;
            canvas.fill([left, y], [width, 1], 2);
            canvas.fill([left - 1 - MARK as i64, y], [MARK, 1], BLACK);
            canvas.text([left - 2 * MARK as i64, y - TEXT as i64 / 2], Align::End, text);
        }
    }

    fn line(&self, canvas: &mut Canvas, series: &Series, logarithmic: bool, colour: [u8; 2]) {
        let [left, top] = self.corner;
        let inside = [[left, top], [left + self.size[0] as i64, top + self.size[1] as i64]];
        let mut last = None;
        for (x, y) in &series.points {
            let y = if logarithmic { y.log10() } else { *y };
            // A logarithm of what is not above 0 is not finite.
            let place = (x.is_finite() && y.is_finite()).then(|| self.place((*x, y)));
            if let Some(to) = place {
                canvas.line(last.unwrap_or(to), to, colour, inside);
            }
            last = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pixels of a line, from its palest shade to the colour itself.
    fn pixels(canvas: &Canvas, line: usize) -> Vec<[usize; 2]> {
        let [first, shades] = colour(line);
        let of = |p: &usize| (first..first + shades).contains(&canvas.pixels[*p]);
        (0..canvas.pixels.len()).filter(of).map(|p| [p % canvas.width, p / canvas.width]).collect()
    }

    #[test]
    fn a_line_goes_from_end_to_end() {
        let canvas = Lines::new().series("", &[0.0, 1.0]).size(200, 100).draw(None).unwrap();
        let pixels = pixels(&canvas, 0);
        let columns = || pixels.iter().map(|p| p[0]);
        assert_eq!(columns().max().unwrap() - columns().min().unwrap(), 199);
        let row_at = |x: usize| pixels.iter().find(|p| p[0] == x).unwrap()[1];
        // What is more lies higher.
        assert!(row_at(columns().min().unwrap()) > row_at(columns().max().unwrap()) + 80);
    }

    #[test]
    fn several_lines_have_colours_and_names() {
        let plot = Lines::new().series("first", &[0.0, 1.0]).series("second", &[1.0, 0.0]).size(100, 50);
        let canvas = plot.clone().draw(None).unwrap();
        assert!(pixels(&canvas, 0).len() > 100 && pixels(&canvas, 1).len() > 100);
        let alone = Lines::new().series("first", &[0.0, 1.0]).size(100, 50).draw(None).unwrap();
        assert_eq!(canvas.height, alone.height + TEXT + MARK);
        assert!(plot.legend().last().unwrap().0 > 11 * LETTER);
        assert_eq!(canvas.palette[usize::from(colour(0)[0]) + 14], COLOURS[0]);
        assert!(canvas.palette.len() <= 256);
    }

    #[test]
    fn what_is_no_number_breaks_a_line() {
        let draw = |values: &[f64]| Lines::new().series("", values).size(200, 100).draw(None).unwrap();
        let gap = pixels(&draw(&[1.0, 1.0, f64::NAN, f64::INFINITY, 1.0, 1.0]), 0);
        let whole = pixels(&draw(&[1.0; 6]), 0);
        assert!(gap.len() < whole.len() / 2 && !gap.is_empty());
        let plot = Lines::new().series("", &[1.0, 0.0, -1.0, 100.0]).logarithmic().size(200, 100);
        assert_eq!(plot.limits(), Some([1.0, 100.0]));
        assert_eq!(pixels(&plot.draw(None).unwrap(), 0).iter().filter(|p| p[0] > 100 && p[0] < 200).count(), 0);
    }

    #[test]
    fn anything_can_be_drawn() {
        for values in [&[][..], &[f64::NAN], &[3.0], &[0.0; 5], &[f64::MIN, f64::MAX], &[1e-300, 1e-299], &[-1.0]] {
            let plot = Lines::new().series("a", values).series("b", values).size(120, 60);
            assert!(plot.clone().draw(None).is_ok() && plot.logarithmic().draw(None).is_ok(), "{values:?}");
        }
        assert!(Lines::new().draw(None).is_ok());
        let tiny = Lines::new().series("", &[1.0, 2.0]).size(1, 1).draw(None).unwrap();
        assert_eq!(pixels(&tiny, 0).len(), 1);
    }

    #[test]
    fn long_lines_keep_their_extremes() {
        let mut values = vec![0.0; 100_000];
        (values[50_000], values[70_001]) = (5.0, -3.0);
        let plot = Lines::new().series("", &values).size(100, 50).reduced();
        assert!(plot.series[0].points.len() <= 400);
        assert_eq!(plot.limits(), Some([-3.0, 5.0]));
        assert_eq!(ends(&[(0.0, f64::NAN), (1.0, 2.0), (2.0, -1.0)]), [(1.0, 2.0), (2.0, -1.0)]);
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let says = |plot: Lines, text: &str| {
            let error = plot.draw(None).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        says(Lines::new().range(2.0, 1.0), "tried to draw a line plot; found a range of 2 to 1");
        says(Lines::new().range(0.0, 1.0).logarithmic(), "a logarithmic range from 0; give one above 0");
        says(Lines::new().size(0, 5), "found 0 by 5 pixels");
    }
}
