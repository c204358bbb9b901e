//! Maps of values: a colour a cell, with axes and a scale.

use std::path::Path;

use tida::{Element, TileArray};

use crate::canvas::{Align, BLACK, Canvas, GREYS, LARGEST, MARGIN, MARK, TEXT, WHITE, width};
use crate::ticks::{self, Tick};
use crate::{ColourMap, Error, Field, Number, Projection, Result, encode};

/// Entries of a palette that stand for values; they follow the greys and that of NaN.
const LEVELS: usize = 239;
const NAN: u8 = GREYS;
/// The scale.
const BAR: usize = 14;

/// A map of a plane of values: a colour for each cell, axes, and a scale of the colours.
///
/// The first axis goes down, the second to the right, as arrays are printed. Cells are squares of pixels, or longer one
/// way where the plane is more than four times longer than wide; where there are more cells than pixels, a pixel is the
/// mean of several. NaN has [a colour of its own](ColourMap::nan); values beyond the range have that of its end.
///
/// ```
/// use tida::prelude::*;
/// use tida_plot::{ColourMap, Picture};
///
/// let mut u = TileArray::<f32, 2>::builder([32, 48]).build(&TileAcc::auto()?)?;
/// u.fill(|[y, x]| (0.2 * (y + x) as f32).sin())?;
/// Picture::middle(&u)?
///     .colours(ColourMap::Diverging)
///     .range(-1.0, 1.0)
///     .title("a wave")
///     .axes("y", "x")
///     .value("height")
///     .save(std::env::temp_dir().join("wave.png"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Of two axes.
    field: Field,
    colours: ColourMap,
    range: Option<[f64; 2]>,
    centre: Option<f64>,
    title: String,
    value: String,
    axes: [String; 2],
    extent: Option<[[f64; 2]; 2]>,
    upwards: bool,
    side: usize,
}

impl Picture {
    /// A picture of a field of two axes; of one, which goes to the right, or of a single cell.
    ///
    /// # Errors
    /// More than two axes.
    ///
    /// ```
    /// use tida_plot::{Field, Picture};
    ///
    /// let picture = Picture::of(Field::new(&[2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?)?;
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn of(field: Field) -> Result<Picture> {
        let name = |axis: usize| format!("axis {axis}");
        let (axes, shape) = match (field.axes(), field.shape()) {
            (&[down, across], &[height, width]) => ([name(down), name(across)], [height, width]),
            (&[across], &[width]) => ([String::new(), name(across)], [1, width]),
            ([], []) => ([String::new(), String::new()], [1, 1]),
            (_, shape) => {
                let found = format!("{} axes: the shape is {shape:?}", shape.len());
                return Err(Error::new("draw a picture of a field", found, "cut or project it until two are left"));
            }
        };
        let field = Field::new(&shape, field.values().to_vec())?;
        Ok(Picture {
            field,
            colours: ColourMap::default(),
            range: None,
            centre: None,
            title: String::new(),
            value: String::new(),
            axes,
            extent: None,
            upwards: false,
            side: 512,
        })
    }

    /// A picture of rows of values, the first at the top.
    ///
    /// # Errors
    /// Values of another number than cells.
    ///
    /// ```
    /// let picture = tida_plot::Picture::values(2, 2, vec![0.0, 1.0, 2.0, f64::NAN])?;
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn values(height: usize, width: usize, values: Vec<f64>) -> Result<Picture> {
        Picture::of(Field::new(&[height, width], values)?)
    }

    /// What lies at `index` of an axis of an array of scalars; only that is read. Of what is left over two axes the
    /// middle is taken ([`Field::middle`]).
    ///
    /// # Errors
    /// An axis or an index that is not there; as [`read_box`](TileArray::read_box).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let u = TileArray::<f64, 3>::builder([4, 8, 8]).build(&TileAcc::auto()?)?;
    /// let picture = tida_plot::Picture::slice(&u, 0, 2)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice<T: Number, const D: usize>(array: &TileArray<T, D>, axis: usize, index: usize) -> Result<Picture> {
        Picture::slice_by(array, axis, index, T::to_f64)
    }

    /// The same for an array of any elements, of which `value` says what to show.
    ///
    /// # Errors
    /// As [`slice`](Picture::slice).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let u = TileArray::<[f64; 2], 3>::builder([4, 8, 8]).build(&TileAcc::auto()?)?;
    /// let picture = tida_plot::Picture::slice_by(&u, 0, 2, |[a, b]| a.hypot(b))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice_by<T: Element, const D: usize>(
        array: &TileArray<T, D>,
        axis: usize,
        index: usize,
        value: impl Fn(T) -> f64,
    ) -> Result<Picture> {
        Picture::of(Field::slice_of(array, axis, index, value)?.middle())
    }

    /// What a projection makes of the values along an axis of an array of scalars. Of what is left over two axes the
    /// middle is taken ([`Field::middle`]).
    ///
    /// # Errors
    /// An axis that is not there; as [`read_box`](TileArray::read_box).
    ///
    /// ```
    /// use tida::prelude::*;
    /// use tida_plot::Projection;
    ///
    /// let u = TileArray::<i32, 3>::builder([4, 8, 8]).build(&TileAcc::auto()?)?;
    /// let picture = tida_plot::Picture::projection(&u, 0, Projection::Max)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn projection<T: Number, const D: usize>(
        array: &TileArray<T, D>,
        axis: usize,
        projection: Projection,
    ) -> Result<Picture> {
        Picture::projection_by(array, axis, projection, T::to_f64)
    }

    /// The same for an array of any elements, of which `value` says what to show.
    ///
    /// # Errors
    /// As [`projection`](Picture::projection).
    ///
    /// ```
    /// use tida::prelude::*;
    /// use tida_plot::Projection;
    ///
    /// let u = TileArray::<[f32; 3], 3>::builder([4, 8, 8]).build(&TileAcc::auto()?)?;
    /// let picture = tida_plot::Picture::projection_by(&u, 2, Projection::Mean, |v| v[0].into())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn projection_by<T: Element, const D: usize>(
        array: &TileArray<T, D>,
        axis: usize,
        projection: Projection,
        value: impl Fn(T) -> f64,
    ) -> Result<Picture> {
        Picture::of(Field::of_by(array, value)?.project(axis, projection)?.middle())
    }

    /// An array of scalars of one or two axes; of more the middle of its slowest axes ([`Field::middle`]).
    ///
    /// # Errors
    /// As [`read_box`](TileArray::read_box).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let u = TileArray::<u8, 1>::builder([64]).build(&TileAcc::auto()?)?;
    /// let picture = tida_plot::Picture::middle(&u)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn middle<T: Number, const D: usize>(array: &TileArray<T, D>) -> Result<Picture> {
        Picture::middle_by(array, T::to_f64)
    }

    /// The same for an array of any elements, of which `value` says what to show.
    ///
    /// # Errors
    /// As [`middle`](Picture::middle).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let u = TileArray::<[f32; 3], 4>::builder([2, 4, 8, 8]).build(&TileAcc::auto()?)?;
    /// let picture = tida_plot::Picture::middle_by(&u, |v| v[0].into())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn middle_by<T: Element, const D: usize>(array: &TileArray<T, D>, value: impl Fn(T) -> f64) -> Result<Picture> {
        let shape = array.shape();
        let field = if D > 2 { Field::slice_of(array, 0, shape[0] / 2, value)? } else { Field::of_by(array, value)? };
        Picture::of(field.middle())
    }

    /// The colours; viridis if not told.
    ///
    /// ```
    /// # use tida_plot::{ColourMap, Picture};
    /// let picture = Picture::values(1, 2, vec![0.0, 1.0])?.colours(ColourMap::Magma);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn colours(self, colours: ColourMap) -> Picture {
        Picture { colours, ..self }
    }

    /// Which values have the first and the last colour; the smallest and the largest finite ones if not told.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let picture = Picture::values(1, 2, vec![0.0, 1.0])?.range(-1.0, 1.0);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn range(self, min: f64, max: f64) -> Picture {
        Picture { range: Some([min, max]), ..self }
    }

    /// The value that has the colour in the middle: the range that is found goes as far to both sides.
    ///
    /// ```
    /// # use tida_plot::{ColourMap, Picture};
    /// let picture = Picture::values(1, 2, vec![-0.5, 1.0])?.colours(ColourMap::Diverging).centre(0.0);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn centre(self, value: f64) -> Picture {
        Picture { centre: Some(value), ..self }
    }

    /// What stands above it.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let picture = Picture::values(1, 2, vec![0.0, 1.0])?.title("step 100");
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn title(self, title: impl Into<String>) -> Picture {
        Picture { title: title.into(), ..self }
    }

    /// What the values are; it stands beside the scale.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let picture = Picture::values(1, 2, vec![0.0, 1.0])?.value("temperature");
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn value(self, value: impl Into<String>) -> Picture {
        Picture { value: value.into(), ..self }
    }

    /// What the axes are: that which goes down, and that which goes to the right.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let picture = Picture::values(1, 2, vec![0.0, 1.0])?.axes("y", "x");
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn axes(self, down: impl Into<String>, across: impl Into<String>) -> Picture {
        Picture { axes: [down.into(), across.into()], ..self }
    }

    /// Where the first cell of each axis begins and the last one ends; cells are numbered if not told.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let map = Picture::values(90, 180, vec![0.0; 90 * 180])?.extent([-90.0, 90.0], [-180.0, 180.0]).upwards();
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn extent(self, down: [f64; 2], across: [f64; 2]) -> Picture {
        Picture { extent: Some([down, across]), ..self }
    }

    /// Puts the first row at the bottom.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let picture = Picture::values(2, 1, vec![0.0, 1.0])?.upwards();
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn upwards(self) -> Picture {
        Picture { upwards: true, ..self }
    }

    /// The most pixels of its longer side, without axes and scale; 512 if not told. At least one cell a pixel or one
    /// pixel a cell is drawn, so it may be less.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let picture = Picture::values(1, 2, vec![0.0, 1.0])?.side(200);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn side(self, pixels: usize) -> Picture {
        Picture { side: pixels, ..self }
    }

    /// Writes it as a PNG.
    ///
    /// # Errors
    /// A range or an extent that is none, a side of no or too many pixels, a name that does not end in `.png`, a file
    /// that cannot be written.
    ///
    /// ```
    /// # use tida_plot::Picture;
    /// let picture = Picture::values(2, 2, vec![0.0, 1.0, 2.0, 3.0])?;
    /// picture.clone().save(std::env::temp_dir().join("four.png"))?;
    /// assert!(picture.save("four.jpg").unwrap_err().to_string().contains("end it in .png"));
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn save(self, path: impl AsRef<Path>) -> Result<()> {
        encode::write(path.as_ref(), "a picture", &[self.draw(None)?], 0)
    }

    /// The range that it would be drawn with.
    pub(crate) fn limits(&self) -> Option<[f64; 2]> {
        self.range.or_else(|| {
            let [lo, hi] = self.field.limits()?;
            let away = |centre: f64| (hi - centre).max(centre - lo);
            Some(self.centre.map_or([lo, hi], |centre| [centre - away(centre), centre + away(centre)]))
        })
    }

    /// The same, with no more cells than pixels: the mean of blocks of cells. Its axes stay those of the cells.
    pub(crate) fn reduced(mut self) -> Picture {
        let blocks = self.scales().map(|scale| scale.cells);
        if blocks != [1, 1] {
            self.extent = Some(self.ends());
            self.field = self.field.coarse(blocks);
        }
        self
    }

    fn ends(&self) -> [[f64; 2]; 2] {
        let cells = |n: usize| [-0.5, n.max(1) as f64 - 0.5];
        self.extent.unwrap_or_else(|| [cells(self.field.shape()[0]), cells(self.field.shape()[1])])
    }

    /// How cells become pixels along each axis.
    fn scales(&self) -> [Scale; 2] {
        let [height, width] = [self.field.shape()[0].max(1), self.field.shape()[1].max(1)];
        let longest = height.max(width);
        let common = Scale::of(longest, self.side);
        // Of a plane that is long and narrow, cells are long too.
        [height, width].map(|n| if n * 4 < longest { Scale::of(n, self.side.div_ceil(4)) } else { common })
    }

    fn check(&self) -> Result<()> {
        let wrong = |found: String, advice: &str| Err(Error::new("draw a picture", found, advice));
        let is_range = |[lo, hi]: [f64; 2]| lo.is_finite() && hi.is_finite();
        if let Some([lo, hi]) = self.range.filter(|range| !is_range(*range) || range[0] > range[1]) {
            return wrong(format!("a range of {lo} to {hi}"), "give two numbers, the lesser first");
        }
        if let Some(centre) = self.centre.filter(|c| !c.is_finite()) {
            return wrong(format!("a middle of {centre}"), "give a number");
        }
        if let Some([lo, hi]) =
            self.extent.into_iter().flatten().find(|range| !is_range(*range) || range[0] >= range[1])
        {
            return wrong(format!("an extent of {lo} to {hi}"), "give two numbers, the lesser first");
        }
        if self.side == 0 || self.side > LARGEST {
            return wrong(format!("a side of {} pixels", self.side), &format!("give 1 to {LARGEST}"));
        }
        Ok(())
    }

    /// Draws it, over this range if it is not told another one.
    pub(crate) fn draw(self, common: Option<[f64; 2]>) -> Result<Canvas> {
        self.check()?;
        let range = ticks::with_extent(self.range.or(common).or_else(|| self.limits()).unwrap_or([0.0, 1.0]));
        let numbered = self.extent.is_none();
        let picture = self.reduced();
        let [rows, columns] = [picture.field.shape()[0].max(1), picture.field.shape()[1].max(1)];
        let [down, across] = picture.scales().map(|scale| scale.pixels);
        let size = [columns * across, rows * down];
        let [height_of, width_of] = picture.ends();
        let marks = [
            ticks::linear(height_of, (size[1] / 40).clamp(1, 8), numbered),
            ticks::linear(width_of, (size[0] / 60).clamp(1, 8), numbered),
            ticks::linear(range, (size[1] / 30).clamp(1, 8), false),
        ];
        let layout = Layout::new(size, &marks, &picture.title, &picture.axes, &picture.value);
        let map = picture.colours;
        let levels = (0..LEVELS).map(|n| map.colour(n as f64 / (LEVELS - 1) as f64));
        let mut canvas = Canvas::new(layout.canvas[0], layout.canvas[1], std::iter::once(map.nan()).chain(levels));

        let [left, top] = layout.corner;
        for (cell, value) in picture.field.values().iter().enumerate() {
            let (row, column) = (cell / columns, cell % columns);
            let row = if picture.upwards { rows - 1 - row } else { row };
            let at = [left + (column * across) as i64, top + (row * down) as i64];
            canvas.fill(at, [across, down], entry(*value, range));
        }
        if picture.field.values().is_empty() {
            canvas.fill([left, top], size, WHITE);
            canvas.text([left + MARK as i64, top], Align::Start, "no cells");
        }
        canvas.frame([left, top], size, BLACK);
        layout.axes(&mut canvas, &marks, [height_of, width_of], picture.upwards);
        layout.words(&mut canvas, &picture.title, &picture.axes);
        layout.scale(&mut canvas, &marks[2], range, &picture.value);
        Ok(canvas)
    }
}

/// How many pixels a cell has along an axis, or how many cells a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    pixels: usize,
    cells: usize,
}

impl Scale {
    fn of(cells: usize, side: usize) -> Scale {
        let side = side.max(1);
        Scale { pixels: (side / cells).max(1), cells: cells.div_ceil(side) }
    }
}

/// The entry of the palette for a value.
fn entry(value: f64, range: [f64; 2]) -> u8 {
    if value.is_nan() {
        return NAN;
    }
    let level = (ticks::part(value, range).clamp(0.0, 1.0) * (LEVELS - 1) as f64).round() as usize;
    (usize::from(NAN) + 1 + level.min(LEVELS - 1)) as u8
}

/// Where everything lies.
struct Layout {
    /// The first pixel of the map: across, down.
    corner: [i64; 2],
    /// Pixels of the map.
    size: [usize; 2],
    /// Pixels of the whole.
    canvas: [usize; 2],
}

/// Pixels of the widest of these numbers.
fn widest(ticks: &[Tick]) -> usize {
    ticks.iter().map(|(_, text)| width(text)).max().unwrap_or(0)
}

impl Layout {
    fn new(size: [usize; 2], marks: &[Vec<Tick>; 3], title: &str, axes: &[String; 2], value: &str) -> Layout {
        let named = |name: &str| if name.is_empty() { 0 } else { TEXT };
        let left = MARGIN + named(&axes[0]) + widest(&marks[0]) + 2 * MARK;
        let top = MARGIN + TEXT / 2 + named(title);
        let scale = 2 * MARGIN + BAR + 2 * MARK + widest(&marks[2]) + named(value) + MARGIN;
        let right = left + size[0] + scale;
        let bottom = top + size[1] + 2 * MARK + TEXT + named(&axes[1]) + MARGIN;
        // Names may be longer than what they stand beside.
        let canvas = [right.max(left + width(title).max(width(&axes[1])) + MARGIN), bottom];
        Layout { corner: [left as i64, top as i64], size, canvas }
    }

    /// Marks and numbers below the map and to the left of it.
    fn axes(&self, canvas: &mut Canvas, marks: &[Vec<Tick>; 3], [down, across]: [[f64; 2]; 2], upwards: bool) {
        let [left, top] = self.corner;
        let below = top + self.size[1] as i64;
        for (at, text) in &marks[0] {
            let part = (at - down[0]) / (down[1] - down[0]);
            let part = if upwards { 1.0 - part } else { part };
            let y = top + (part * self.size[1] as f64) as i64;
            canvas.fill([left - 1 - MARK as i64, y], [MARK, 1], BLACK);
            canvas.text([left - 2 * MARK as i64, y - TEXT as i64 / 2], Align::End, text);
        }
        for (at, text) in &marks[1] {
            let x = left + ((at - across[0]) / (across[1] - across[0]) * self.size[0] as f64) as i64;
            canvas.fill([x, below + 1], [1, MARK], BLACK);
            canvas.text([x, below + 1 + MARK as i64], Align::Middle, text);
        }
    }

    /// The title and the names of the axes.
    fn words(&self, canvas: &mut Canvas, title: &str, axes: &[String; 2]) {
        let [left, top] = self.corner;
        let (middle, below) = ([self.size[0], self.size[1]].map(|n| n as i64 / 2), top + self.size[1] as i64);
        canvas.text([left, MARGIN as i64 / 2], Align::Start, title);
        canvas.text_up([MARGIN as i64 / 2, top + middle[1]], Align::Middle, &axes[0]);
        let half = width(&axes[1]) as i64 / 2;
        canvas.text([left + middle[0].max(half), below + 2 * MARK as i64 + TEXT as i64], Align::Middle, &axes[1]);
    }

    /// The scale to the right of the map.
    fn scale(&self, canvas: &mut Canvas, marks: &[Tick], range: [f64; 2], value: &str) {
        let [left, top] = self.corner;
        let (x, height) = (left + (self.size[0] + 2 * MARGIN) as i64, self.size[1]);
        for y in 0..height {
            let part = if height > 1 { 1.0 - y as f64 / (height - 1) as f64 } else { 0.5 };
            canvas.fill([x, top + y as i64], [BAR, 1], entry(part, [0.0, 1.0]));
        }
        canvas.frame([x, top], [BAR, height], BLACK);
        let right = x + BAR as i64;
        for (at, text) in marks {
            let part = ticks::part(*at, range);
            let y = top + ((1.0 - part.clamp(0.0, 1.0)) * (height as f64 - 1.0)).round() as i64;
            canvas.fill([right + 1, y], [MARK, 1], BLACK);
            canvas.text([right + 2 * MARK as i64, y - TEXT as i64 / 2], Align::Start, text);
        }
        let beside = right + (2 * MARK + widest(marks) + MARGIN / 2) as i64;
        canvas.text_up([beside, top + height as i64 / 2], Align::Middle, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colour of the middle of a cell of a picture that fills its pixels evenly.
    fn cell(canvas: &Canvas, corner: [usize; 2], size: usize, [row, column]: [usize; 2]) -> [u8; 3] {
        let (x, y) = (corner[0] + column * size + size / 2, corner[1] + row * size + size / 2);
        canvas.palette[usize::from(canvas.pixels[y * canvas.width + x])]
    }

    /// The first pixel inside the frame around the map.
    fn corner(canvas: &Canvas) -> [usize; 2] {
        let black = |x: usize, y: usize| canvas.pixels[y * canvas.width + x] == BLACK;
        let line = |x: usize, y: usize| (0..20).all(|n| black(x + n, y)) && (0..20).all(|n| black(x, y + n));
        let places = (0..canvas.height - 20).flat_map(|y| (0..canvas.width - 20).map(move |x| (x, y)));
        places.into_iter().find(|&(x, y)| line(x, y)).map(|(x, y)| [x + 1, y + 1]).unwrap()
    }

    #[test]
    fn cells_have_the_colours_of_their_values() {
        let map = ColourMap::Viridis;
        let values = vec![0.0, 1.0, 2.0, 3.0, f64::NAN, f64::INFINITY];
        let picture = Picture::values(2, 3, values).unwrap().range(0.0, 4.0).side(90);
        let canvas = picture.clone().draw(None).unwrap();
        let at = |canvas: &Canvas, row, column| cell(canvas, corner(canvas), 30, [row, column]);
        assert_eq!(at(&canvas, 0, 0), map.colour(0.0));
        assert_eq!(at(&canvas, 0, 2), map.colour(119.0 / 238.0));
        assert_eq!(at(&canvas, 1, 1), map.nan());
        assert_eq!(at(&canvas, 1, 2), map.colour(1.0));

        let upwards = picture.clone().upwards().draw(None).unwrap();
        assert_eq!(at(&upwards, 1, 0), map.colour(0.0));
        assert_eq!(at(&upwards, 0, 1), map.nan());

        let magma = picture.colours(ColourMap::Magma).draw(Some([0.0, 100.0])).unwrap();
        assert_eq!(at(&magma, 1, 0), ColourMap::Magma.colour(179.0 / 238.0));
    }

    #[test]
    fn ranges_are_found() {
        let picture = |values: Vec<f64>| Picture::values(1, values.len(), values).unwrap();
        assert_eq!(picture(vec![1.0, f64::NAN, -2.0, f64::INFINITY]).limits(), Some([-2.0, 1.0]));
        assert_eq!(picture(vec![1.0, -2.0]).centre(0.0).limits(), Some([-2.0, 2.0]));
        assert_eq!(picture(vec![1.0, -2.0]).centre(0.0).range(0.0, 9.0).limits(), Some([0.0, 9.0]));
        assert_eq!(picture(vec![f64::NAN]).limits(), None);
        for value in [0.0, 1.0, -1e300, 1e-308, f64::MAX / 4.0] {
            let [lo, hi] = ticks::with_extent([value, value]);
            assert!(lo < hi && entry(value, [lo, hi]) > NAN, "{value}");
        }
        assert_eq!(usize::from(entry(f64::MAX, [f64::MIN, f64::MAX])), usize::from(NAN) + LEVELS);
        assert_eq!(usize::from(entry(0.0, [f64::MIN, f64::MAX])), usize::from(NAN) + 1 + LEVELS / 2);
    }

    #[test]
    fn any_shape_can_be_drawn() {
        for (height, width) in [(1, 1), (0, 0), (0, 5), (1, 1000), (1000, 1), (3, 700), (1500, 1200)] {
            for value in [f64::NAN, 0.0, 1.5] {
                let picture = Picture::values(height, width, vec![value; height * width]).unwrap();
                let canvas = picture
                    .title("a title that is far longer than anything that it stands above is wide, is it not")
                    .value("value")
                    .side(100)
                    .draw(None)
                    .unwrap();
                assert!(canvas.width < 800 && canvas.height < 260, "{height} {width} {}", canvas.height);
                assert_eq!(canvas.pixels.len(), canvas.width * canvas.height);
            }
        }
        let dot = Picture::of(Field::new(&[], vec![4.0]).unwrap()).unwrap().side(1).draw(None);
        assert!(dot.is_ok());
    }

    #[test]
    fn a_plane_of_more_cells_than_pixels_is_a_mean() {
        let values = (0..100 * 100).map(|n| f64::from(n % 2)).collect();
        let canvas = Picture::values(100, 100, values).unwrap().side(50).draw(None).unwrap();
        let [x, y] = corner(&canvas);
        let inside = |p: &usize| (x..x + 50).contains(&(p % canvas.width)) && (y..y + 50).contains(&(p / canvas.width));
        let pixels: Vec<u8> = (0..canvas.pixels.len()).filter(inside).map(|p| canvas.pixels[p]).collect();
        assert!(pixels.len() == 2500 && pixels.iter().all(|p| *p == entry(0.5, [0.0, 1.0])));
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let picture = || Picture::values(1, 2, vec![0.0, 1.0]).unwrap();
        let says = |done: Result<Canvas>, text: &str| {
            let error = done.unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        says(picture().range(1.0, 0.0).draw(None), "found a range of 1 to 0; give two numbers, the lesser first");
        says(picture().range(f64::NAN, 0.0).draw(None), "a range of NaN to 0");
        says(picture().centre(f64::INFINITY).draw(None), "a middle of inf");
        says(picture().extent([0.0, 1.0], [1.0, 1.0]).draw(None), "an extent of 1 to 1");
        says(picture().side(0).draw(None), "a side of 0 pixels");
        says(picture().side(1 << 20).draw(None), "give 1 to 8192");
        let error = Picture::of(Field::new(&[1, 1, 1], vec![0.0]).unwrap()).unwrap_err().to_string();
        assert!(error.contains("found 3 axes: the shape is [1, 1, 1]; cut or project it"), "{error}");
    }
}
