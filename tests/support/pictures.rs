//! What `--png` and `--animate` show of an example.

use std::time::{Duration, Instant};

use tida::{TileAcc, TileArray};
use tida_plot::{Animation, ColourMap, Drawing, Lines, Number, Picture};

use crate::Result;
use crate::flags::{Example, Settings};

/// Frames of an animation, at most; the first step comes on top.
const FRAMES: u64 = 40;
/// Pixels of the longer side of a frame, without axes and scale.
const SIDE: usize = 256;

/// How pictures of an example's cells look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    value: &'static str,
    colours: ColourMap,
    range: Option<[f64; 2]>,
    centre: Option<f64>,
    animated: bool,
}

impl Look {
    const fn new(value: &'static str, colours: ColourMap) -> Look {
        Look { value, colours, range: None, centre: None, animated: true }
    }

    /// From blue to yellow; `value` says what a cell holds.
    pub const fn viridis(value: &'static str) -> Look {
        Look::new(value, ColourMap::Viridis)
    }

    /// From black to pale yellow.
    pub const fn magma(value: &'static str) -> Look {
        Look::new(value, ColourMap::Magma)
    }

    /// From black to white.
    pub const fn greys(value: &'static str) -> Look {
        Look::new(value, ColourMap::Greys)
    }

    /// Blue below `centre`, red above it.
    pub const fn around(centre: f64, value: &'static str) -> Look {
        Look { centre: Some(centre), ..Look::new(value, ColourMap::Diverging) }
    }

    /// Colours for this range, whatever is found.
    pub const fn range(self, min: f64, max: f64) -> Look {
        Look { range: Some([min, max]), ..self }
    }

    /// Of a program without steps to show: its steps all do the same, or there is one.
    pub const fn still(self) -> Look {
        Look { animated: false, ..self }
    }

    /// Whether steps differ.
    pub fn is_animated(&self) -> bool {
        self.animated
    }
}

impl Example {
    /// A map in the example's colours.
    fn map(&self, picture: Picture) -> Picture {
        let Look { value, colours, range, centre, .. } = self.look;
        let picture = picture.colours(colours).value(value).axes("y", "x");
        let picture = centre.into_iter().fold(picture, Picture::centre);
        range.into_iter().fold(picture, |picture, [min, max]| picture.range(min, max))
    }

    /// The cells of an array of scalars: a line if it has one axis, else a map, of the middle of more axes than two.
    fn drawing<T: Number, const D: usize>(&self, u: &TileArray<T, D>) -> Result<Drawing> {
        Ok(if D == 1 { Lines::of(u)?.axes("x", self.look.value).into() } else { self.map(Picture::middle(u)?).into() })
    }

    /// A drawing with a title, which says how many steps were done if that matters.
    fn titled(&self, drawing: Drawing, steps: u64) -> Drawing {
        let name = self.name;
        drawing.title(if self.look.animated { format!("{name}, step {steps}") } else { name.into() })
    }
}

impl Settings {
    /// A map in the example's colours.
    pub fn map(&self, picture: Picture) -> Picture {
        self.example.map(picture)
    }

    /// The cells of an array of scalars: a line if it has one axis, else a map, of the middle of more axes than two.
    pub fn drawing<T: Number, const D: usize>(&self, u: &TileArray<T, D>) -> Result<Drawing> {
        self.example.drawing(u)
    }

    /// Writes what `--png` asks for after so many steps.
    pub fn draw<W: Into<Drawing>>(&self, steps: u64, drawing: impl FnOnce() -> Result<W>) -> Result<()> {
        if let Some(path) = &self.flags.png {
            // All ranks take part in reading what is drawn; one writes it.
            let drawing = self.example.titled(drawing()?.into(), steps);
            if self.is_first() {
                drawing.save(path)?;
            }
        }
        Ok(())
    }

    /// What `--animate` asks for.
    pub(crate) fn film(&self) -> Result<Option<Film>> {
        let film = |path| -> Result<Film> {
            let animation = Animation::new(path)?;
            let every = self.steps.div_ceil(FRAMES).max(1);
            let written = self.is_first();
            Ok(Film { example: self.example, animation, written, steps: 0, every, paused: Duration::ZERO })
        };
        self.flags.animate.as_ref().map(film).transpose()
    }
}

/// An animation of the steps of an example.
#[derive(Debug)]
pub(crate) struct Film {
    example: Example,
    animation: Animation,
    /// Whether this process writes the file.
    written: bool,
    /// Steps that were done.
    steps: u64,
    /// Steps from frame to frame.
    every: u64,
    /// Time that drawing took.
    paused: Duration,
}

impl Film {
    /// One more step, and a frame of it if one is due. The work so far is waited for, so that it counts as work.
    pub fn step<W: Into<Drawing>>(&mut self, acc: &TileAcc, drawing: impl FnOnce() -> Result<W>) -> Result<()> {
        self.steps += 1;
        if self.steps == 1 || self.steps.is_multiple_of(self.every) {
            acc.sync()?;
            let begun = Instant::now();
            self.animation.push(self.example.titled(drawing()?.into(), self.steps).side(SIDE));
            self.paused += begun.elapsed();
        }
        Ok(())
    }

    /// The same of an array of scalars.
    pub fn step_of<T: Number, const D: usize>(&mut self, u: &TileArray<T, D>) -> Result<()> {
        let example = self.example;
        self.step(u.acc(), || example.drawing(u))
    }

    /// Time that drawing took.
    pub fn paused(&self) -> Duration {
        self.paused
    }

    /// Writes the file.
    pub fn finish(self) -> Result<()> {
        if self.written { Ok(self.animation.finish()?) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Flags;
    use clap::Parser;

    const FALLING: Example = Example {
        name: "falling",
        about: "",
        dims: &[2, 1],
        size: [8; 3],
        steps: 100,
        ghost: 0,
        dtypes: &[],
        boundaries: &[crate::flags::Edge::Fixed],
        library: false,
        look: Look::around(0.0, "height"),
    };

    /// Frames of the file, which goes away.
    fn frames(path: &std::path::Path) -> Result<u32> {
        let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path)?));
        let frames = decoder.read_info()?.info().animation_control().map_or(1, |control| control.num_frames);
        std::fs::remove_file(path)?;
        Ok(frames)
    }

    fn file(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("tida-suite-{}-{name}.png", std::process::id()))
    }

    #[test]
    fn an_animation_shows_the_first_step_and_some_of_the_others() -> Result<()> {
        let path = file("animation");
        let flags = Flags::try_parse_from(["falling", "--animate", path.to_str().ok_or("no path")?])?;
        let settings = FALLING.check(flags)?;
        let acc = TileAcc::builder().device(tida::Device::Cpu).build()?;
        let mut u = settings.array::<i32, 2>(&acc, tida::Boundary::Open)?;
        let mut clock = settings.clock()?;
        for step in 0..settings.steps {
            u.fill_value(step as i32)?;
            clock.step_of(&u)?;
        }
        clock.stop()?;
        assert_eq!(frames(&path)?, 1 + 100 / 3);
        Ok(())
    }

    #[test]
    fn a_picture_is_written_if_asked_for() -> Result<()> {
        let path = file("picture");
        let flags = Flags::try_parse_from(["falling", "--dims", "1", "--png", path.to_str().ok_or("no path")?])?;
        let settings = FALLING.check(flags)?;
        let acc = TileAcc::builder().device(tida::Device::Cpu).build()?;
        let u = settings.array::<f32, 1>(&acc, tida::Boundary::Open)?;
        settings.draw(3, || settings.drawing(&u))?;
        assert_eq!(frames(&path)?, 1);
        let settings = FALLING.check(Flags::try_parse_from(["falling"])?)?;
        settings.draw(3, || -> Result<Drawing> { Err("drawn though nobody asked".into()) })
    }
}
