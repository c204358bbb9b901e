//! `cargo xtask pictures`: a picture of each program into `docs/images`, some as animations too, and `docs/GALLERY.md`,
//! the page that shows them.

use std::fmt::Write as _;
use std::process::Command;

use clap::Args;

use crate::Result;
use crate::shell::{command, read, root, run, target, write};

/// Flags of `cargo xtask pictures`.
#[derive(Args)]
pub struct Options {
    /// Those of one program alone, such as heat or gemm
    #[arg(long, value_name = "PROGRAM")]
    only: Option<String>,
}

/// A program and its picture.
struct Shown {
    name: &'static str,
    flags: &'static str,
    /// Whether an animation of its steps is on the page too.
    animated: bool,
    /// What the picture shows.
    says: &'static str,
}

const fn shown(name: &'static str, flags: &'static str, says: &'static str) -> Shown {
    Shown { name, flags, animated: false, says }
}

const fn animated(name: &'static str, flags: &'static str, says: &'static str) -> Shown {
    Shown { animated: true, ..shown(name, flags, says) }
}

/// The examples, each a program of its own.
const EXAMPLES: &[Shown] = &[
    shown(
        "heat",
        "--dims 2 --size 512 --steps 3000",
        "The heat equation by explicit steps: three hot discs that spread into a cold world without an edge.",
    ),
    shown(
        "jacobi",
        "--size 64",
        "Poisson's equation by Jacobi's iteration: the potential of two charges of opposite sign, 0 at the edge.",
    ),
    shown(
        "lbm",
        "--size 64 --steps 300",
        "The lattice Boltzmann method in three dimensions: how fast the fluid of a vortex is, in the vortex's plane.",
    ),
    animated("life", "--size 128 --steps 200", "Conway's game of life, from a third of the cells alive."),
    shown(
        "sincos",
        "--size 32 --steps 2",
        "Much arithmetic and no neighbours: values that rise along each axis, and by one four times in each step.",
    ),
    animated(
        "wave",
        "--size 128 --steps 160",
        "The wave equation on a staggered grid: the pressure of a pulse that runs to the walls and back.",
    ),
];

/// The programs of the gallery.
const GALLERY: &[Shown] = &[
    shown("adi", "--size 128 --steps 20", "Heat in a cold square: implicit along the rows, then along the columns."),
    shown(
        "adi3d",
        "--size 64 --steps 10",
        "Heat in a cold cube, implicit along one axis after the other: the plane in the middle.",
    ),
    shown(
        "backprop",
        "--size 63 --steps 20",
        "A network of three layers learns one pattern: the weights from each input to each hidden unit.",
    ),
    shown("bfs", "--size 3000", "Breadth-first search in a random graph: how many nodes lie at each depth."),
    shown(
        "cavity",
        "--size 64 --steps 12800",
        "The flow in a cavity under a lid that moves at the top, at Reynolds number 100: how fast it is. It is within \
         0.007 of the lid's speed of the table of Ghia, Ghia and Shin (1982). With --reynolds 1000 --size 128 --steps \
         64000 it is within 0.013.",
    ),
    shown("cg", "--size 20 --steps 60", "Conjugate gradients for Poisson's equation: the residual of each step."),
    shown(
        "cylinder",
        "--size 320 --steps 12000",
        "Vortices behind a cylinder at Reynolds number 100: how fast the fluid is. Their Strouhal number is 0.161, where \
         Williamson (1989) has 0.164.",
    ),
    shown(
        "dam_break",
        "--size 1000 --steps 1000",
        "A dam between deep and shallow water broke: the height of the water, and Stoker's solution.",
    ),
    shown("dyadic", "--size 512 --steps 1", "The fast Walsh-Hadamard transform of each 256 of these random values."),
    animated(
        "euler",
        "--size 160 --steps 200",
        "A gas in four quadrants of different states, which run into one another: its density. The world is periodic, so \
         they meet at the edges of the picture too.",
    ),
    shown(
        "fdtd2d",
        "--size 256 --steps 240",
        "Maxwell's equations on a staggered grid: the magnetic field, with a wave that is sent in at the top.",
    ),
    shown("gemm", "--size 64", "The product of two matrices of random numbers, each cell a row times a column."),
    shown("gemm_groups", "--size 64", "The same product by groups of 16 x 16 cells."),
    shown("hotspot", "--size 128 --steps 400", "The temperatures of a chip, two of whose blocks draw power."),
    shown("jacobi9", "--size 96 --steps 60", "Jacobi's iteration over nine cells, from a warm rectangle."),
    shown(
        "lbm2d",
        "--size 192 --steps 12000",
        "Flow through a channel past a round obstacle by the lattice Boltzmann method: how fast the fluid is.",
    ),
    shown("matrix_add", "--size 64", "The sum of two matrices of random numbers."),
    shown(
        "multigrid",
        "--size 33 --steps 10",
        "Multigrid for Poisson's equation in a cube: the residual after each V-cycle.",
    ),
    shown(
        "multigrid_injection",
        "--size 33 --steps 10",
        "The same, smoothed by red-black Gauss-Seidel, with every second node taken on the way down: the residual after \
         each V-cycle.",
    ),
    shown(
        "multigrid_red_black",
        "--size 33 --steps 10",
        "The same, smoothed by red-black Gauss-Seidel in place: the residual after each V-cycle.",
    ),
    shown(
        "nbody",
        "--size 4096 --steps 60",
        "Bodies that attract one another, seen along one axis: a cube of them begins to fall together.",
    ),
    shown("nbody_groups", "--size 4096 --steps 60", "The same by groups of 64 bodies."),
    shown(
        "nearest_neighbour",
        "--size 20000",
        "The places nearest to a target: how far places all over a map are from it, in degrees.",
    ),
    shown(
        "needleman_wunsch",
        "--size 192",
        "The alignment of two random sequences: the best score of each pair of their beginnings.",
    ),
    shown(
        "particles",
        "--size 128 --steps 20",
        "Particles that move, and give their charge to the four cells around each: the charge, which fades.",
    ),
    shown(
        "pathfinder",
        "--size 400 --steps 100",
        "The cheapest way down a wall of 100 rows of numbers, to each cell of the last one.",
    ),
    shown("poisson", "--size 34 --steps 40", "Himeno's point Jacobi: how much each step still changes the pressure."),
    shown(
        "poiseuille",
        "--size 16 --steps 4000",
        "Flow between two walls that a force drives: the velocity across the channel, and the parabola that it should be.",
    ),
    shown(
        "ring",
        "--size 256 --steps 8000 --tile 16x32",
        "Heat in a ring, one half of which was hot: blocks that the ring's mask leaves out cost nothing.",
    ),
    shown(
        "seismic",
        "--size 96 --steps 80",
        "Elastic waves from a source in the ground: how fast the ground moves along x, in the plane of the source.",
    ),
    animated(
        "shallow_water",
        "--size 128 --steps 400",
        "A drop that falls into a basin of shallow water between walls: the height of the water.",
    ),
    shown("sobel", "--size 128", "The edges of a picture of two discs, by Sobel's filter."),
    shown(
        "sod",
        "--size 400 --steps 400",
        "Sod's shock tube, where a membrane burst: the density of the gas, and the exact solution.",
    ),
    shown(
        "sor",
        "--size 128 --steps 200",
        "The potential between two charged plates in a box, by red-black over-relaxation in place.",
    ),
    shown(
        "srad",
        "--size 128 --steps 20",
        "A speckled picture of a disc, smoothed by anisotropic diffusion, which stops at edges.",
    ),
    shown("stencil1d", "--size 512 --steps 20", "A mean of three cells, again and again, from a step up and one down."),
    shown(
        "summed_area",
        "--size 128 --steps 1",
        "The summed-area table of a picture of two discs: sums along the rows, then along the columns.",
    ),
    shown("tree_reduction", "--size 4096 --steps 1", "Sums of 256 values each, at the first cell of each group."),
    shown("vector_product", "--size 256", "The product of two vectors of random numbers, cell by cell."),
];

/// The programs of the page, each with the example that holds it.
fn programs() -> impl Iterator<Item = (&'static str, &'static Shown)> {
    EXAMPLES.iter().map(|shown| (shown.name, shown)).chain(GALLERY.iter().map(|shown| ("gallery", shown)))
}

impl Shown {
    /// The words after the name of the example.
    fn words(&self, example: &str) -> String {
        let Shown { name, flags, animated, .. } = self;
        let program = if example == *name { String::new() } else { format!("{name} ") };
        let film = if *animated { format!(" --animate docs/images/{name}-steps.png") } else { String::new() };
        format!("{program}{flags} --png docs/images/{name}.png{film}")
    }
}

/// Makes the pictures and writes the page.
pub fn make(options: &Options) -> Result<()> {
    let asked = |shown: &Shown| options.only.as_ref().is_none_or(|only| only == shown.name);
    if !programs().any(|(_, shown)| asked(shown)) {
        let names: Vec<&str> = programs().map(|(_, shown)| shown.name).collect();
        return Err(format!("tried to draw one program; found no such name; the names are: {}", names.join(", ")));
    }
    let mut build = command("cargo build --release");
    for example in EXAMPLES.iter().map(|shown| shown.name).chain(["gallery"]) {
        build.args(["--example", example]);
    }
    run(&mut build)?;
    for (example, shown) in programs().filter(|(_, shown)| asked(shown)) {
        let mut program = Command::new(target().join("release/examples").join(example));
        // Every device gives the same bits, but for functions such as sines.
        program.args(shown.words(example).split_whitespace()).args(["--device", "cpu"]).current_dir(root());
        let said = read(&mut program)?;
        println!("{}", said.lines().next().unwrap_or_default());
    }
    write(&root().join("docs/GALLERY.md"), text())
}

/// The page.
fn text() -> String {
    let intro = "A picture of each program, made by `cargo xtask pictures`, which writes this page too. Programs are in \
                 [examples](../examples), those of the second part in [examples/gallery](../examples/gallery). All take \
                 `--png FILE`, and those with steps to show `--animate FILE`. The library that draws is \
                 [tida-plot](../tida-plot/README.md).";
    let mut page = format!("# Gallery\n\n{}\n", wrapped(intro));
    let mut add = |heading: &str, example: Option<&str>, all: &[Shown]| {
        let _ = write!(page, "\n## {heading}\n");
        for shown in all {
            let Shown { name, says, animated, .. } = shown;
            let example = example.unwrap_or(name);
            let words = shown.words(example);
            let _ = write!(
                page,
                "\n### `{name}`\n\n{}\n\n```sh\ncargo run --release --example {example} -- {words}\n```\n",
                wrapped(says)
            );
            let _ = write!(page, "\n![{name}](images/{name}.png)\n");
            if *animated {
                let _ = write!(page, "\n![{name}, step by step](images/{name}-steps.png)\n");
            }
        }
    };
    add("Examples", None, EXAMPLES);
    add("Programs of the gallery", Some("gallery"), GALLERY);
    page
}

/// A text in lines of 120 columns at most.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= 120 => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_command_writes() {
        let page = std::fs::read_to_string(root().join("docs/GALLERY.md")).unwrap_or_default();
        assert!(page == text(), "docs/GALLERY.md is not what `cargo xtask pictures` writes: run it");
    }

    #[test]
    fn lines_are_no_longer_than_the_page() {
        let text = "word ".repeat(60);
        assert!(wrapped(text.trim()).lines().all(|line| line.len() <= 120));
        assert_eq!(wrapped("a b"), "a b");
    }
}
