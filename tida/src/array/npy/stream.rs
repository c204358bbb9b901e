//! Values between arrays and files, line by line.

use std::io::{self, Read, Write};

use tida_kernels::element::{ElementType, ScalarType};

use crate::grid::GridBox;
use crate::memory::coding::Coding;
use crate::memory::layout::Layout;
use crate::memory::storage::Storage;

/// Longest piece of a line held at once, in elements.
const PIECE: usize = 1 << 15;

/// A scalar component of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    pub(crate) scalar: ScalarType,
    /// Bytes of the components before.
    before: usize,
    /// Which it is.
    number: usize,
}

/// The components of an element.
pub(crate) fn components(element: &ElementType) -> Vec<Component> {
    let mut before = 0;
    let types = element.component_types().into_iter().enumerate();
    types
        .map(|(number, scalar)| {
            before += scalar.size();
            Component { scalar, before: before - scalar.size(), number }
        })
        .collect()
}

/// Some components, all of one scalar type, of all valid values of an array.
pub(crate) struct Values<'a, const D: usize> {
    pub(crate) layout: &'a Layout<D>,
    pub(crate) storage: &'a Storage,
    pub(crate) components: &'a [Component],
}

impl<const D: usize> Values<'_, D> {
    /// Sets the values of a box from a file's data. `fortran`: first axis contiguous, components outermost. `swapped`:
    /// of the other byte order. Gives how many values saturated.
    ///
    /// # Safety
    /// The array has these components, and no one else accesses it.
    pub(crate) unsafe fn read(
        &self,
        file: &mut dyn Read,
        cells: &GridBox<D>,
        (fortran, swapped): (bool, bool),
    ) -> io::Result<u64> {
        let (mut buffer, mut saturated) = (Vec::new(), 0);
        self.pieces(cells, fortran, |start, axis, count, components| {
            let Some(size) = components.first().map(|c| c.scalar.size()) else { return Ok(()) };
            buffer.resize(count * components.len() * size, 0);
            file.read_exact(&mut buffer)?;
            if swapped {
                buffer.chunks_exact_mut(size).for_each(<[u8]>::reverse);
            }
            if components[0].scalar == ScalarType::Bool {
                buffer.iter_mut().for_each(|b| *b = (*b != 0) as u8);
            }
            // SAFETY: the caller's promise; the buffer holds the piece.
            saturated += unsafe { self.set(start, axis, (count, components), &buffer) };
            Ok(())
        })?;
        Ok(saturated)
    }

    /// Writes the values of a box as a file's data: last axis contiguous, the components of a value beside each other.
    ///
    /// # Safety
    /// The array has these components, and no one writes it meanwhile.
    pub(crate) unsafe fn write(&self, file: &mut dyn Write, cells: &GridBox<D>) -> io::Result<()> {
        let mut buffer = Vec::new();
        self.pieces(cells, false, |start, axis, count, components| {
            let Some(size) = components.first().map(|c| c.scalar.size()) else { return Ok(()) };
            buffer.resize(count * components.len() * size, 0u8);
            // SAFETY: the caller's promise; the buffer has room for the piece.
            unsafe { self.get(start, axis, (count, components), &mut buffer) };
            file.write_all(&buffer)
        })
    }

    /// Bytes of the values of a cell.
    fn cell_bytes(&self) -> usize {
        self.components.iter().map(|component| component.scalar.size()).sum()
    }

    /// Copies the values of a box, row-major, the components of a value beside each other. Gives no more rows than
    /// there is room for.
    ///
    /// # Safety
    /// As [`Values::write`], of the regions that own the box, which lies inside the domain.
    pub(crate) unsafe fn get_box(&self, cells: &GridBox<D>, to: &mut [u8]) {
        let count = cells.extent()[D - 1];
        let bytes = count * self.cell_bytes();
        if bytes > 0 {
            for (start, to) in cells.rows().zip(to.chunks_exact_mut(bytes)) {
                // SAFETY: the caller's promise; the chunk has room for a row.
                unsafe { self.get(start, D - 1, (count, self.components), to) };
            }
        }
    }

    /// Sets the values of a box from such a copy; gives how many saturated. Bytes of `bool` are 0 or 1.
    ///
    /// # Safety
    /// As [`Values::read`], of the regions that own the box, which lies inside the domain.
    pub(crate) unsafe fn set_box(&self, cells: &GridBox<D>, from: &[u8]) -> u64 {
        let count = cells.extent()[D - 1];
        let bytes = count * self.cell_bytes();
        if bytes == 0 {
            return 0;
        }
        let rows = cells.rows().zip(from.chunks_exact(bytes));
        // SAFETY: the caller's promise; the chunk holds a row.
        rows.map(|(start, from)| unsafe { self.set(start, D - 1, (count, self.components), from) }).sum()
    }

    /// Sets a piece of a line from a buffer that holds it; gives how many values saturated.
    ///
    /// # Safety
    /// The array has these components, and no one else accesses the piece.
    unsafe fn set(&self, start: [i64; D], axis: usize, of: (usize, &[Component]), buffer: &[u8]) -> u64 {
        let (count, components) = of;
        let Some(size) = components.first().map(|c| c.scalar.size()) else { return 0 };
        let mut saturated = 0;
        self.spans(start, axis, count, components, |span| {
            if let Some(coded) = &span.coded {
                // SAFETY: as below.
                saturated += unsafe { span.encode(coded, buffer[span.offset * size..].as_ptr()) };
                return;
            }
            let rounds = span.rounds.as_ref();
            let from = buffer[span.offset * size..].as_ptr();
            // SAFETY: the buffer holds the piece, the span lies in its region; the rest is the caller's promise.
            unsafe {
                match size {
                    1 => span.copy::<u8>(from.cast_mut(), false),
                    2 => span.copy::<u16>(from.cast_mut(), false),
                    4 => span.copy::<u32>(from.cast_mut(), false),
                    _ => span.copy::<u64>(from.cast_mut(), false),
                }
                saturated += rounds.map_or(0, |coded| span.round(coded));
            }
        });
        saturated
    }

    /// Copies a piece of a line to a buffer that has room for it.
    ///
    /// # Safety
    /// The array has these components, and no one writes the piece meanwhile.
    unsafe fn get(&self, start: [i64; D], axis: usize, of: (usize, &[Component]), buffer: &mut [u8]) {
        let (count, components) = of;
        let Some(size) = components.first().map(|c| c.scalar.size()) else { return };
        self.spans(start, axis, count, components, |span| {
            if let Some(coded) = &span.coded {
                // SAFETY: as below.
                return unsafe { span.decode(coded, buffer[span.offset * size..].as_mut_ptr()) };
            }
            let to = buffer[span.offset * size..].as_mut_ptr();
            // SAFETY: the buffer holds the piece, the span lies in its region; the rest is the caller's promise.
            unsafe {
                match size {
                    1 => span.copy::<u8>(to, true),
                    2 => span.copy::<u16>(to, true),
                    4 => span.copy::<u32>(to, true),
                    _ => span.copy::<u64>(to, true),
                }
            }
        });
    }

    /// Calls `f` with start, axis and length of each piece of a line, in the order of a file, and the components that
    /// lie beside each other in it.
    fn pieces(
        &self,
        domain: &GridBox<D>,
        fortran: bool,
        mut f: impl FnMut([i64; D], usize, usize, &[Component]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut line = |start: [i64; D], axis: usize, components: &[Component]| {
            for first in (domain.lo[axis]..domain.hi[axis]).step_by(PIECE) {
                let mut at = start;
                at[axis] = first;
                f(at, axis, PIECE.min((domain.hi[axis] - first) as usize), components)?;
            }
            Ok(())
        };
        if !fortran {
            return domain.rows().try_for_each(|start| line(start, D - 1, self.components));
        }
        // The same order as the rows of the domain turned round.
        let turned = GridBox { lo: turn(domain.lo), hi: turn(domain.hi) };
        for component in self.components {
            turned.rows().try_for_each(|start| line(turn(start), 0, std::slice::from_ref(component)))?;
        }
        Ok(())
    }

    /// Calls `f` with the parts of a piece of a line, cut by regions and components.
    fn spans(&self, start: [i64; D], axis: usize, count: usize, components: &[Component], mut f: impl FnMut(Span<'_>)) {
        let mut piece = GridBox { lo: start, hi: start.map(|x| x + 1) };
        piece.hi[axis] = start[axis] + count as i64;
        for region in self.layout.owners(&piece) {
            let r = &self.layout.regions[region];
            let part = r.valid.intersect(&piece);
            let skip = (part.lo[axis] - start[axis]) as usize;
            for (n, component) in components.iter().enumerate() {
                let of = |coding| Coded { coding, component: component.number };
                let (coded, rounds) = (self.layout.codes().map(of), self.layout.rounds().map(of));
                let (before, size) = match &coded {
                    Some(Coded { coding, .. }) => {
                        (coding.before(component.number).0, coding.code_size(component.number))
                    }
                    None => (component.before, component.scalar.size()),
                };
                let plane = self.storage.base(region).wrapping_add(r.cells * before);
                f(Span {
                    coded,
                    rounds,
                    first: plane.wrapping_add(r.position(part.lo) * size),
                    stride: r.strides[axis],
                    count: part.extent()[axis],
                    offset: skip * components.len() + n,
                    pace: components.len(),
                });
            }
        }
    }
}

/// Consecutive values of one component in one region, and where they are in a buffer.
struct Span<'a> {
    /// How it is coded, if memory holds codes.
    coded: Option<Coded<'a>>,
    /// How, if it holds values that are rounded.
    rounds: Option<Coded<'a>>,
    first: *mut u8,
    stride: usize,
    count: usize,
    /// Position in the buffer of the first value, and the distance to the next.
    offset: usize,
    pace: usize,
}

/// A component that is coded.
struct Coded<'a> {
    coding: &'a Coding,
    component: usize,
}

impl Span<'_> {
    /// Decodes the values into the buffer.
    ///
    /// # Safety
    /// As [`Span::copy`].
    unsafe fn decode(&self, coded: &Coded<'_>, buffer: *mut u8) {
        let (kept, size) = (coded.coding.code_size(coded.component), coded.coding.size(coded.component));
        for n in 0..self.count {
            let mut value = [0u64; 1];
            let from = self.first.wrapping_add(n * self.stride * kept);
            // SAFETY: the caller's promise; one value has 8 bytes at most.
            unsafe {
                coded.coding.decode(coded.component, from, value.as_mut_ptr().cast(), 1);
                let to = buffer.wrapping_add(n * self.pace * size);
                std::ptr::copy_nonoverlapping(value.as_ptr().cast::<u8>(), to, size);
            }
        }
    }

    /// Encodes the values of the buffer; gives how many saturated.
    ///
    /// # Safety
    /// As [`Span::copy`].
    unsafe fn encode(&self, coded: &Coded<'_>, buffer: *const u8) -> u64 {
        let (kept, size) = (coded.coding.code_size(coded.component), coded.coding.size(coded.component));
        let mut saturated = 0;
        for n in 0..self.count {
            let mut value = [0u64; 1];
            // SAFETY: the caller's promise; one value has 8 bytes at most.
            unsafe {
                let from = buffer.wrapping_add(n * self.pace * size);
                std::ptr::copy_nonoverlapping(from, value.as_mut_ptr().cast::<u8>(), size);
                let to = self.first.wrapping_add(n * self.stride * kept);
                saturated += coded.coding.encode(coded.component, value.as_ptr().cast(), to, 1);
            }
        }
        saturated
    }

    /// Rounds the array's values; gives how many saturated.
    ///
    /// # Safety
    /// As [`Span::copy`].
    unsafe fn round(&self, coded: &Coded<'_>) -> u64 {
        let size = coded.coding.size(coded.component);
        let (step, together) = if self.stride == 1 { (self.count.max(1), self.count) } else { (1, 1) };
        let each = (0..self.count).step_by(step).map(|n| self.first.wrapping_add(n * self.stride * size));
        // SAFETY: the caller's promise.
        each.map(|at| unsafe { coded.coding.round(coded.component, at, together) }).sum()
    }

    /// Copies the values from the buffer to the array, or back. `buffer` is that of the first value.
    ///
    /// # Safety
    /// Both hold the values, of the size of `S`.
    unsafe fn copy<S: Copy>(&self, buffer: *mut u8, out: bool) {
        if self.pace == 1 && self.stride == 1 {
            let (from, to) = if out { (self.first, buffer) } else { (buffer, self.first) };
            // SAFETY: the caller's promise; the buffer is not part of the array.
            return unsafe { std::ptr::copy_nonoverlapping(from, to, self.count * size_of::<S>()) };
        }
        let (buffer, first) = (buffer.cast::<S>(), self.first.cast::<S>());
        for n in 0..self.count {
            let (b, a) = (buffer.wrapping_add(n * self.pace), first.wrapping_add(n * self.stride));
            // SAFETY: the caller's promise.
            unsafe {
                if out {
                    b.write_unaligned(a.read());
                } else {
                    a.write(b.read_unaligned());
                }
            }
        }
    }
}

fn turn<const D: usize>(mut at: [i64; D]) -> [i64; D] {
    at.reverse();
    at
}
