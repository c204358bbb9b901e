//! Pixels, and what is drawn with them: boxes, letters, lines.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

/// Colours of a palette between white and black, with both.
pub const GREYS: u8 = 16;
/// White and black of every palette.
pub const WHITE: u8 = 0;
pub const BLACK: u8 = GREYS - 1;

/// White around everything, and between a mark and its number.
pub const MARGIN: usize = 8;
/// Pixels of a mark on an axis.
pub const MARK: usize = 4;
/// The most pixels of a drawing along each axis.
pub const LARGEST: usize = 8192;

/// Pixels of a letter.
pub const LETTER: usize = get_raster_width(FontWeight::Regular, RasterHeight::Size16);
/// Pixels of a line of text.
pub const TEXT: usize = RasterHeight::Size16.val();

/// Pixels that a text takes along its line.
pub fn width(text: &str) -> usize {
    text.chars().count() * LETTER
}

/// What of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Align {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A picture as entries of a palette.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    pub width: usize,
    pub height: usize,
    pub palette: Vec<[u8; 3]>,
    /// Row-major, from the top.
    pub pixels: Vec<u8>,
}

impl Canvas {
    /// A white picture. These colours follow the greys.
    pub fn new(width: usize, height: usize, colours: impl IntoIterator<Item = [u8; 3]>) -> Canvas {
        let greys = (0..GREYS).map(|n| [255 - n * (255 / (GREYS - 1)); 3]);
        Canvas { width, height, palette: greys.chain(colours).take(256).collect(), pixels: vec![WHITE; width * height] }
    }

    /// The pixel at a place, if it is inside.
    pub fn at(&mut self, x: i64, y: i64) -> Option<&mut u8> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        if x < self.width { self.pixels.get_mut(y * self.width + x) } else { None }
    }

    /// Sets a pixel, if it is inside.
    pub fn put(&mut self, x: i64, y: i64, entry: u8) {
        if let Some(pixel) = self.at(x, y) {
            *pixel = entry;
        }
    }

    /// Fills a box of pixels.
    pub fn fill(&mut self, [x, y]: [i64; 2], [width, height]: [usize; 2], entry: u8) {
        for j in y..y + height as i64 {
            for i in x..x + width as i64 {
                self.put(i, j, entry);
            }
        }
    }

    /// A frame of one pixel around a box.
    pub fn frame(&mut self, [x, y]: [i64; 2], [width, height]: [usize; 2], entry: u8) {
        self.fill([x - 1, y - 1], [width + 2, 1], entry);
        self.fill([x - 1, y + height as i64], [width + 2, 1], entry);
        self.fill([x - 1, y], [1, height], entry);
        self.fill([x + width as i64, y], [1, height], entry);
    }

    /// A text beside a place; its line lies below it.
    pub fn text(&mut self, [x, y]: [i64; 2], align: Align, text: &str) {
        let first = x - before(align, text);
        for (n, letter) in text.chars().enumerate() {
            each_pixel(letter, |i, j, grey| self.darken(first + n as i64 * LETTER as i64 + i, y + j, grey));
        }
    }

    /// A text that runs upwards; its line lies to the right of the place.
    pub fn text_up(&mut self, [x, y]: [i64; 2], align: Align, text: &str) {
        let first = y + before(align, text);
        for (n, letter) in text.chars().enumerate() {
            each_pixel(letter, |i, j, grey| self.darken(x + j, first - n as i64 * LETTER as i64 - i, grey));
        }
    }

    /// Makes a pixel at least as dark as this grey.
    fn darken(&mut self, x: i64, y: i64, grey: u8) {
        if let Some(pixel) = self.at(x, y).filter(|pixel| **pixel < grey) {
            *pixel = grey;
        }
    }

    /// A line, two pixels wide, of a colour with as many shades as this, of which the first entry is the palest; only
    /// in a box from one corner to the other.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], [first, shades]: [u8; 2], inside: [[i64; 2]; 2]) {
        let around = |axis: usize| {
            let (a, b) = (from[axis].min(to[axis]) - 2.0, from[axis].max(to[axis]) + 2.0);
            (a as i64).max(inside[0][axis])..(b as i64 + 1).min(inside[1][axis])
        };
        for y in around(1) {
            for x in around(0) {
                let covered = 1.5 - distance([x as f64 + 0.5, y as f64 + 0.5], from, to);
                let shade = (covered.clamp(0.0, 1.0) * f64::from(shades)).round() as u8;
                if let Some(pixel) = self.at(x, y).filter(|_| shade > 0) {
                    let before = if *pixel >= GREYS { (*pixel - GREYS) % shades + 1 } else { 0 };
                    if shade >= before {
                        *pixel = first + shade - 1;
                    }
                }
            }
        }
    }

    /// The same with white to the right and below, so that it has this size at least.
    pub fn padded(self, width: usize, height: usize) -> Canvas {
        let (width, height) = (width.max(self.width), height.max(self.height));
        let mut pixels = vec![WHITE; width * height];
        for (row, line) in self.pixels.chunks(self.width.max(1)).zip(pixels.chunks_mut(width.max(1))) {
            line[..row.len()].copy_from_slice(row);
        }
        Canvas { width, height, palette: self.palette, pixels }
    }
}

/// How far from the first letter of a text its place lies.
fn before(align: Align, text: &str) -> i64 {
    let width = width(text) as i64;
    match align {
        Align::Start => 0,
        Align::Middle => width / 2,
        Align::End => width,
    }
}

/// The pixels of a letter that are not white: across, down, and how dark. What the font does not have is a question
/// mark.
fn each_pixel(letter: char, mut put: impl FnMut(i64, i64, u8)) {
    let raster = |letter| get_raster(letter, FontWeight::Regular, RasterHeight::Size16);
    let Some(raster) = raster(letter).or_else(|| raster('?')) else { return };
    for (j, row) in raster.rows().enumerate() {
        for (i, dark) in row.iter().enumerate() {
            let grey = (u16::from(*dark) * u16::from(BLACK) / 255) as u8;
            if grey > 0 {
                put(i as i64, j as i64, grey);
            }
        }
    }
}

/// From a point to the nearest of a line between two others.
fn distance(point: [f64; 2], from: [f64; 2], to: [f64; 2]) -> f64 {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let (px, py) = (point[0] - from[0], point[1] - from[1]);
    let square = dx * dx + dy * dy;
    let along = if square > 0.0 { ((px * dx + py * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    (px - along * dx).hypot(py - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_left_out() {
        let mut canvas = Canvas::new(4, 3, [[1, 2, 3]]);
        canvas.fill([-2, 1], [100, 1], 16);
        canvas.put(4, 0, 16);
        canvas.put(0, 3, 16);
        canvas.put(-1, 0, 16);
        assert_eq!(canvas.pixels, [0, 0, 0, 0, 16, 16, 16, 16, 0, 0, 0, 0]);
        assert_eq!((canvas.palette[0], canvas.palette[15], canvas.palette[16]), ([255; 3], [0; 3], [1, 2, 3]));
        let padded = Canvas::new(1, 1, []).padded(2, 2);
        assert_eq!((padded.width, padded.height, padded.pixels.len()), (2, 2, 4));
    }

    #[test]
    fn letters_stand_where_they_should() {
        let mut canvas = Canvas::new(100, 100, []);
        canvas.text([50, 10], Align::Middle, "HHHH");
        let dark: Vec<usize> = (0..10_000).filter(|p| canvas.pixels[*p] > 7).collect();
        let columns = || dark.iter().map(|p| p % 100);
        assert!(columns().min().unwrap() >= 50 - 2 * LETTER && columns().max().unwrap() < 50 + 2 * LETTER);
        assert!(dark.iter().all(|p| (10..10 + TEXT).contains(&(p / 100))));

        // The same turned to the left.
        let mut turned = Canvas::new(100, 100, []);
        turned.text_up([10, 50], Align::Middle, "HHHH");
        let count = |canvas: &Canvas| canvas.pixels.iter().filter(|p| **p > 7).count();
        assert_eq!(count(&turned), count(&canvas));
        let mut unknown = Canvas::new(20, 20, []);
        unknown.text([0, 0], Align::Start, "\u{4e00}");
        assert!(count(&unknown) > 0);
    }

    #[test]
    fn lines_are_two_pixels_wide_and_stay_inside() {
        let mut canvas = Canvas::new(20, 20, []);
        canvas.line([0.0, 10.0], [20.0, 10.0], [16, 15], [[5, 0], [15, 20]]);
        assert_eq!((canvas.pixels[9 * 20 + 10], canvas.pixels[10 * 20 + 10]), (30, 30));
        assert_eq!((canvas.pixels[7 * 20 + 10], canvas.pixels[10 * 20 + 4], canvas.pixels[10 * 20 + 15]), (0, 0, 0));
        canvas.line([3.0, 3.0], [3.0, 3.0], [16, 15], [[0, 0], [20, 20]]);
        assert_eq!(canvas.pixels[3 * 20 + 3], 27);
    }
}
