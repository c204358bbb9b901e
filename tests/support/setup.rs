//! From settings to arrays, and from arrays to a report.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tida::array::TileArrayBuilder;
use tida::{Boundary, Centering, Device, Element, Number, TileAcc, TileArray};
use tida_plot::Drawing;

use crate::flags::{DeviceFlag, Dtype, Edge, Settings, TimelineFile};
use crate::oracle::{Outside, max_abs_error};
use crate::pictures::Film;
use crate::report::{Report, Size};
use crate::{Result, progress};

/// What the examples' arrays hold.
pub trait Cell: Number + tida_plot::Number + Into<f64> {}

impl<T: Number + tida_plot::Number + Into<f64>> Cell for T {}

/// Counts the steps and the seconds of the stepping loop, and animates it if asked to.
#[derive(Debug)]
pub struct Clock {
    bar: ProgressBar,
    start: Instant,
    film: Option<Film>,
}

impl Clock {
    /// One more step was recorded.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// One more step was recorded, after which `--animate` may show this array.
    pub fn step_of<T: Cell, const D: usize>(&mut self, u: &TileArray<T, D>) -> Result<()> {
        self.step();
        self.film.as_mut().map_or(Ok(()), |film| film.step_of(u))
    }

    /// One more step was recorded, after which `--animate` may show this.
    pub fn step_drawn<W: Into<Drawing>>(&mut self, acc: &TileAcc, drawing: impl FnOnce() -> Result<W>) -> Result<()> {
        self.step();
        self.film.as_mut().map_or(Ok(()), |film| film.step(acc, drawing))
    }

    /// Seconds since the start, without those of drawing. Writes the animation, if there is one.
    pub fn stop(self) -> Result<f64> {
        let paused = self.film.as_ref().map_or(Duration::ZERO, Film::paused);
        let seconds = self.start.elapsed().saturating_sub(paused).as_secs_f64();
        self.bar.finish_and_clear();
        self.film.map_or(Ok(()), Film::finish)?;
        Ok(seconds)
    }
}

impl Edge {
    /// As a boundary of an array; fixed values are 0.
    pub fn boundary<T: Cell>(self) -> Boundary<T> {
        match self {
            Edge::Periodic => Boundary::Periodic,
            Edge::Fixed => Boundary::Fixed(T::ZERO),
            Edge::Reflect => Boundary::ReflectEven,
        }
    }

    /// The same for the plain loops.
    pub fn outside<T: Cell>(self) -> Outside<T> {
        match self {
            Edge::Periodic => Outside::Periodic,
            Edge::Fixed => Outside::Fixed(T::ZERO),
            Edge::Reflect => Outside::ReflectEven,
        }
    }
}

/// Says on standard error what a program runs on: a line of its own, whatever else it prints.
pub fn say_where(program: &str, acc: &TileAcc) {
    if acc.rank() == 0 {
        eprintln!("{program} runs on {acc}");
    }
}

impl Settings {
    /// The accelerator that the flags ask for. A step records `sweeps` sweeps. A line on standard error says what it
    /// runs on, and with `--device auto` why not on more.
    pub fn accelerator(&self, sweeps: usize) -> Result<TileAcc> {
        let flags = &self.flags;
        let mut builder = TileAcc::builder();
        builder = match flags.device {
            DeviceFlag::Auto => builder,
            DeviceFlag::Cpu => builder.device(Device::Cpu),
            DeviceFlag::Cuda => builder.device(Device::Cuda),
            DeviceFlag::Opencl => builder.device(Device::OpenCl),
            DeviceFlag::Sim => builder.device(Device::Sim),
            DeviceFlag::Hybrid => builder.device(Device::Hybrid),
        };
        if let Some(threads) = flags.threads {
            builder = builder.threads(usize::try_from(threads)?);
        }
        if let Some(steps) = flags.look_ahead {
            builder = builder.look_ahead(usize::try_from(steps)?.saturating_mul(sweeps));
        }
        if let Some(bytes) = flags.memory_limit {
            builder = builder.memory_limit(bytes);
        }
        if let Some(folder) = &flags.backed {
            builder = builder.backed_by(folder);
        }
        let acc = builder.timeline(flags.timeline.is_some()).build()?;
        say_where(self.example.name, &acc);
        // A second accelerator has the same rank.
        self.rank.get_or_init(|| acc.rank());
        Ok(acc)
    }

    /// Whether this process writes files and tells of the run: of several ranks one does.
    pub fn is_first(&self) -> bool {
        self.rank.get().is_none_or(|rank| *rank == 0)
    }

    /// Whether what was found is told in words.
    pub fn tells(&self) -> bool {
        self.is_first() && !self.flags.json
    }

    /// Builds arrays of the size, cuts and ghosts of the settings.
    pub fn builder<T: Element, const D: usize>(&self, boundary: Boundary<T>) -> Result<TileArrayBuilder<T, D>> {
        let builder = TileArray::builder(axes(&self.shape)?).regions(axes(&self.regions)?);
        Ok(builder.ghost(self.ghost).boundary(boundary))
    }

    /// An array of the size, cuts and ghosts of the settings.
    pub fn array<T: Element, const D: usize>(&self, acc: &TileAcc, boundary: Boundary<T>) -> Result<TileArray<T, D>> {
        Ok(self.builder(boundary)?.build(acc)?)
    }

    /// An array that goes with those of [`Settings::array`] but sits elsewhere; its outer ghosts are left alone.
    pub fn centred<T: Element, const D: usize>(
        &self,
        acc: &TileAcc,
        centering: [Centering; D],
    ) -> Result<TileArray<T, D>> {
        Ok(TileArray::builder(axes(&self.shape)?)
            .regions(axes(&self.regions)?)
            .ghost(self.ghost)
            .centering(centering)
            .boundary(Boundary::Open)
            .build(acc)?)
    }

    /// Cells of a tile.
    pub fn tile<const D: usize>(&self) -> Result<[usize; D]> {
        axes(&self.tile)
    }

    /// Fills an array from `--input`, or else with `initial`, a function of the position (0 to 1 on each axis).
    pub fn fill<T: Cell, const D: usize>(
        &self,
        u: &mut TileArray<T, D>,
        initial: impl Fn([f64; D]) -> T + Send + Sync,
    ) -> Result<()> {
        let shape: [usize; D] = axes(&self.shape)?;
        match &self.flags.input {
            Some(path) => u.load_npy(path)?,
            None => {
                u.fill(|at: [usize; D]| initial(std::array::from_fn(|d| (at[d] as f64 + 0.5) / shape[d] as f64)))?
            }
        }
        Ok(())
    }

    /// The cells of an array, row-major, to start the plain loops from; none if nothing is to be verified.
    pub fn start<T: Cell, const D: usize>(&self, u: &TileArray<T, D>) -> Result<Vec<T>> {
        Ok(if self.verify { u.read_box(u.domain())? } else { Vec::new() })
    }

    /// Starts the clock, the progress bar if there is one, and the animation that is asked for.
    pub fn clock(&self) -> Result<Clock> {
        let film = self.film()?;
        Ok(Clock { bar: progress::steps(self.steps, !self.tells()), start: Instant::now(), film })
    }

    /// The largest difference from plain loops that is right: none, every device gives the same bits. Only functions
    /// that are the device's own library, as its sines are, differ in the last bits.
    fn tolerance(&self, device: Device) -> f64 {
        match self.dtype {
            _ if device == Device::Cpu || !self.example.library => 0.0,
            Dtype::F64 => 1e-12,
            Dtype::F32 => 1e-3,
        }
    }

    /// Ends a run: compares the cells of `u` with those of the plain loops, writes and draws what was asked for, prints
    /// the report.
    ///
    /// `steps` were done in `seconds`. A result that differs by more than the tolerance is an error, after the
    /// report.
    pub fn finish<T: Cell, const D: usize>(
        &self,
        u: &TileArray<T, D>,
        steps: u64,
        seconds: f64,
        plain: impl FnOnce() -> Vec<T>,
    ) -> Result<()> {
        self.draw(steps, || self.drawing(u))?;
        self.finish_with(u, steps, seconds, || Ok(u.read_box(u.domain())?), plain)
    }

    /// As [`Settings::finish`] for results of several arrays or of structs: `found` gives every value that is compared.
    /// Files get `u` alone; nothing is drawn ([`Settings::draw`]).
    pub fn finish_with<E: Element, T: Cell, const D: usize>(
        &self,
        u: &TileArray<E, D>,
        steps: u64,
        seconds: f64,
        found: impl FnOnce() -> Result<Vec<T>>,
        plain: impl FnOnce() -> Vec<T>,
    ) -> Result<()> {
        let cells: usize = self.shape.iter().product();
        let error = self.verify.then(found).transpose()?.map(|found| max_abs_error(&found, &plain()));
        if let Some(path) = &self.flags.output {
            u.save_npy(path)?;
        }
        match self.flags.timeline.as_ref().filter(|_| self.is_first()) {
            Some(TimelineFile::Svg(path)) => u.acc().timeline()?.write_svg(path)?,
            Some(TimelineFile::Chrome(path)) => u.acc().timeline()?.write_chrome(path)?,
            None => {}
        }
        // Those of the whole run: filling and reading the arrays too.
        let stats = u.acc().stats();

        let dtype = if self.example.dtypes.is_empty() { std::any::type_name::<T>() } else { self.dtype.word() };
        let report = Report {
            example: self.example.name.into(),
            device: u.acc().device().name().into(),
            dtype: dtype.into(),
            size: Size::of(&self.shape),
            dims: self.shape.len(),
            steps,
            regions: u.regions(),
            cells_per_second: cells as f64 * steps as f64 / seconds,
            seconds,
            max_abs_error: error,
            h2d_bytes: stats.h2d_bytes,
            d2h_bytes: stats.d2h_bytes,
        };
        match self.flags.json {
            // One of the ranks tells.
            _ if !self.is_first() => {}
            true => println!("{}", serde_json::to_string(&report)?),
            false => {
                println!("{report}");
                if u.acc().device() != Device::Cpu || stats.busy.is_some() {
                    println!("  {}", stats.to_string().replace('\n', "\n  "));
                }
            }
        }
        let tolerance = self.tolerance(u.acc().device());
        match error {
            Some(error) if error > tolerance => Err(format!(
                "tried to verify {}; found a difference of {error:e} from plain loops; it should be {tolerance:e} at most",
                self.example.name
            )
            .into()),
            _ => Ok(()),
        }
    }
}

/// One number an axis, as an array.
fn axes<const D: usize>(numbers: &[usize]) -> Result<[usize; D]> {
    <[usize; D]>::try_from(numbers).map_err(|_| format!("{} numbers for {D} axes", numbers.len()).into())
}
