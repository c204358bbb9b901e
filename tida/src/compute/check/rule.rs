//! What a launch is besides cells that know nothing of one another.

use crate::program::colour::CellColour;
use crate::program::order::Order;

/// What a launch is besides cells that know nothing of one another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// They are that.
    Cells,
    /// Ghosts beyond a face of this axis are set.
    Face(usize),
    /// Cells run in order along an axis, and may read those before them.
    Line(Line),
    /// Cells of one colour run, and may read those of the others.
    Colour(OneColour),
}

/// Which cells run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneColour {
    pub colour: CellColour,
    /// Bit `n` says that the ghosts of argument `n` were as new as its cells before the first cell ran.
    pub fresh: u16,
}

/// How cells run in order along an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub axis: usize,
    pub backward: bool,
    /// Bit `n` says that the ghosts of argument `n` were as new as its cells before the first cell ran.
    pub fresh: u16,
}

impl Line {
    /// The same for boxes of four axes.
    pub fn order<const D: usize>(&self) -> Order {
        Order { axis: 4 - D + self.axis, backward: self.backward }
    }
}

impl Rule {
    pub fn face(&self) -> Option<usize> {
        if let Rule::Face(axis) = self { Some(*axis) } else { None }
    }

    pub fn line(&self) -> Option<&Line> {
        if let Rule::Line(line) = self { Some(line) } else { None }
    }

    pub fn colour(&self) -> Option<CellColour> {
        if let Rule::Colour(one) = self { Some(one.colour) } else { None }
    }
}
