//! Animations: frames of one scale.

use std::path::{Path, PathBuf};

use crate::canvas::Canvas;
use crate::{Error, Lines, Picture, Result, encode};

/// A picture or a line plot.
///
/// ```
/// use tida_plot::{Drawing, Lines, Picture};
///
/// let map: Drawing = Picture::values(1, 2, vec![0.0, 1.0])?.into();
/// let plot: Drawing = Lines::new().series("", &[0.0, 1.0]).into();
/// plot.save(std::env::temp_dir().join("plot.png"))?;
/// # Ok::<(), tida_plot::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Picture(Box<Picture>),
    Lines(Lines),
}

impl From<Picture> for Drawing {
    fn from(picture: Picture) -> Drawing {
        Drawing(Kind::Picture(Box::new(picture)))
    }
}

impl From<Lines> for Drawing {
    fn from(lines: Lines) -> Drawing {
        Drawing(Kind::Lines(lines))
    }
}

impl Drawing {
    /// What stands above it.
    ///
    /// ```
    /// # use tida_plot::{Drawing, Lines};
    /// let plot = Drawing::from(Lines::new()).title("step 3");
    /// ```
    pub fn title(self, title: impl Into<String>) -> Drawing {
        match self.0 {
            Kind::Picture(picture) => picture.title(title).into(),
            Kind::Lines(lines) => lines.title(title).into(),
        }
    }

    /// The most pixels of the longer side of a map ([`Picture::side`]); a line plot stays as it is.
    ///
    /// ```
    /// # use tida_plot::{Drawing, Picture};
    /// let map = Drawing::from(Picture::values(1, 2, vec![0.0, 1.0])?).side(100);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn side(self, pixels: usize) -> Drawing {
        match self.0 {
            Kind::Picture(picture) => picture.side(pixels).into(),
            Kind::Lines(lines) => lines.into(),
        }
    }

    /// Writes it as a PNG.
    ///
    /// # Errors
    /// As [`Picture::save`] and [`Lines::save`].
    ///
    /// ```
    /// # use tida_plot::{Drawing, Lines};
    /// assert!(Drawing::from(Lines::new()).save("plot").is_err());
    /// ```
    pub fn save(self, path: impl AsRef<Path>) -> Result<()> {
        match self.0 {
            Kind::Picture(picture) => picture.save(path),
            Kind::Lines(lines) => lines.save(path),
        }
    }

    fn limits(&self) -> Option<[f64; 2]> {
        match &self.0 {
            Kind::Picture(picture) => picture.limits(),
            Kind::Lines(lines) => lines.limits(),
        }
    }

    fn reduced(self) -> Drawing {
        match self.0 {
            Kind::Picture(picture) => picture.reduced().into(),
            Kind::Lines(lines) => lines.reduced().into(),
        }
    }

    fn draw(self, range: Option<[f64; 2]>) -> Result<Canvas> {
        match self.0 {
            Kind::Picture(picture) => picture.draw(range),
            Kind::Lines(lines) => lines.draw(range),
        }
    }
}

/// Frames that are shown one after the other, again and again, in a file that browsers show as they show pictures
/// (APNG).
///
/// Frames that are not told a range have one in common: from the least to the most of all of them. So they are kept, in
/// no more cells than pixels, and drawn at the end.
///
/// ```
/// use tida_plot::{Animation, Picture};
///
/// let mut film = Animation::new(std::env::temp_dir().join("film.png"))?.frames_per_second(5.0);
/// for step in 0..3 {
///     let values = (0..64).map(|n| f64::from(n * step)).collect();
///     film.push(Picture::values(8, 8, values)?.side(64).title(format!("step {step}")));
/// }
/// assert_eq!(film.frames(), 3);
/// film.finish()?;
/// # Ok::<(), tida_plot::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Animation {
    path: PathBuf,
    frames: Vec<Drawing>,
    limits: Option<[f64; 2]>,
    per_second: f64,
}

impl Animation {
    /// An animation without frames, ten of which are to be shown a second. Nothing is written before
    /// [`finish`](Animation::finish).
    ///
    /// # Errors
    /// A name that does not end in `.png` or `.apng`.
    ///
    /// ```
    /// assert!(tida_plot::Animation::new("film.gif").is_err());
    /// ```
    pub fn new(path: impl Into<PathBuf>) -> Result<Animation> {
        let path = path.into();
        encode::check_ending(&path, "an animation")?;
        Ok(Animation { path, frames: Vec::new(), limits: None, per_second: 10.0 })
    }

    /// How many frames are shown in a second.
    ///
    /// ```
    /// let film = tida_plot::Animation::new("film.png")?.frames_per_second(25.0);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn frames_per_second(self, frames: f64) -> Animation {
        Animation { per_second: frames, ..self }
    }

    /// One more frame.
    ///
    /// ```
    /// # use tida_plot::{Animation, Lines};
    /// let mut film = Animation::new("film.png")?;
    /// film.push(Lines::new().series("", &[1.0, 2.0]));
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn push(&mut self, frame: impl Into<Drawing>) {
        let frame = frame.into();
        self.limits = match (self.limits, frame.limits()) {
            (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
            (one, other) => one.or(other),
        };
        self.frames.push(frame.reduced());
    }

    /// How many frames there are.
    ///
    /// ```
    /// assert_eq!(tida_plot::Animation::new("film.png")?.frames(), 0);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Draws the frames and writes the file. Frames of different sizes have white to the right and below.
    ///
    /// # Errors
    /// No frames, frames of different colours (maps of two colours, or maps and line plots), a speed that is none, what
    /// cannot be drawn or written ([`Picture::save`]).
    ///
    /// ```
    /// let error = tida_plot::Animation::new("film.png")?.finish().unwrap_err();
    /// assert_eq!(error.to_string(), "tried to write an animation to film.png; found no frames; push one at least");
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn finish(self) -> Result<()> {
        let Animation { path, frames, limits, per_second } = self;
        let wrong = |found: String, advice: &str| {
            Err(Error::new(format!("write an animation to {}", path.display()), found, advice))
        };
        if !(0.02..=1000.0).contains(&per_second) {
            return wrong(format!("{per_second} frames a second"), "give 0.02 to 1000");
        }
        let frames = frames.into_iter().map(|frame| frame.draw(limits)).collect::<Result<Vec<Canvas>>>()?;
        let Some(first) = frames.first() else {
            return wrong("no frames".into(), "push one at least");
        };
        if let Some(other) = frames.iter().position(|frame| frame.palette != first.palette) {
            let found = format!("other colours in frame {other} than in the first");
            return wrong(found, "give all frames one map of colours");
        }
        let width = frames.iter().map(|frame| frame.width).max().unwrap_or(0);
        let height = frames.iter().map(|frame| frame.height).max().unwrap_or(0);
        let frames: Vec<Canvas> = frames.into_iter().map(|frame| frame.padded(width, height)).collect();
        encode::write(&path, "an animation", &frames, (1000.0 / per_second).round() as u16)
    }
}
