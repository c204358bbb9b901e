//! A padded field and its ghost cells, the plain way.

/// What the ghost cells outside every face hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outside<T> {
    /// The opposite side.
    Periodic,
    /// One value.
    Fixed(T),
    /// The mirror image about the face.
    ReflectEven,
}

/// A field of 1 to 3 axes in one vector, with ghost cells on both sides of each axis. Missing slow axes count one
/// cell and have no ghosts.
#[derive(Clone, Debug)]
pub struct Grid<T> {
    shape: [usize; 3],
    ghost: [usize; 3],
    /// Every cell and ghost, row-major.
    pub data: Vec<T>,
}

impl<T: Copy> Grid<T> {
    /// The field `start`, row-major, with `ghost` ghost cells a side. Ghosts hold any value at first.
    ///
    /// # Panics
    /// If `shape` has no cell or not 1 to 3 axes, or `start` not one value a cell.
    pub fn new(shape: &[usize], ghost: usize, start: &[T]) -> Grid<T> {
        let cells: usize = shape.iter().product();
        assert!((1..=3).contains(&shape.len()) && cells > 0 && start.len() == cells);
        let mut full = [1; 3];
        let mut ghosts = [0; 3];
        full[3 - shape.len()..].copy_from_slice(shape);
        ghosts[3 - shape.len()..].fill(ghost);
        let padded: usize = (0..3).map(|d| full[d] + 2 * ghosts[d]).product();
        let mut grid = Grid { shape: full, ghost: ghosts, data: vec![start[0]; padded] };
        for (row, values) in start.chunks_exact(full[2]).enumerate() {
            let first = grid.position(row / full[1], row % full[1], 0);
            grid.data[first..first + full[2]].copy_from_slice(values);
        }
        grid
    }

    /// Cells on each of three axes, slowest first.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Distance in `data` from one cell to the next along an axis.
    pub fn stride(&self, axis: usize) -> usize {
        (axis + 1..3).map(|d| self.shape[d] + 2 * self.ghost[d]).product()
    }

    /// Place of a cell in `data`.
    pub fn position(&self, k: usize, j: usize, i: usize) -> usize {
        (0..3).zip([k, j, i]).map(|(d, at)| (at + self.ghost[d]) * self.stride(d)).sum()
    }

    /// The cells without ghosts, row-major.
    pub fn cells(&self) -> Vec<T> {
        let [nz, ny, nx] = self.shape;
        (0..nz * ny)
            .flat_map(|row| {
                let first = self.position(row / ny, row % ny, 0);
                &self.data[first..first + nx]
            })
            .copied()
            .collect()
    }

    /// Fills every ghost, axis by axis from the last to the first, each time over the whole width of the other axes.
    pub fn fill_ghosts(&mut self, outside: Outside<T>) {
        for axis in (0..3).rev() {
            let (n, g, stride) = (self.shape[axis], self.ghost[axis], self.stride(axis));
            let line = (n + 2 * g) * stride;
            for block in 0..self.data.len() / line {
                for side in 0..2 {
                    for depth in 0..g {
                        // Coordinates of the ghost and of its source, along the axis, counted from the first ghost.
                        let ghost = if side == 0 { g - 1 - depth } else { g + n + depth };
                        let source = match outside {
                            Outside::Fixed(_) => ghost,
                            Outside::Periodic => g + (ghost + n * g - g) % n,
                            Outside::ReflectEven => {
                                g + if side == 0 { depth.min(n - 1) } else { n - 1 - depth.min(n - 1) }
                            }
                        };
                        for inner in 0..stride {
                            let value = match outside {
                                Outside::Fixed(value) => value,
                                _ => self.data[block * line + source * stride + inner],
                            };
                            self.data[block * line + ghost * stride + inner] = value;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(outside: Outside<i32>) -> Vec<i32> {
        let mut grid = Grid::new(&[2, 3], 1, &[1, 2, 3, 4, 5, 6]);
        grid.fill_ghosts(outside);
        assert_eq!(grid.cells(), [1, 2, 3, 4, 5, 6]);
        grid.data
    }

    #[test]
    fn ghosts_of_each_kind() {
        assert_eq!(filled(Outside::Periodic), [6, 4, 5, 6, 4, 3, 1, 2, 3, 1, 6, 4, 5, 6, 4, 3, 1, 2, 3, 1]);
        assert_eq!(filled(Outside::ReflectEven), [1, 1, 2, 3, 3, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6, 4, 4, 5, 6, 6]);
        assert_eq!(filled(Outside::Fixed(9)), [9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9]);
    }

    #[test]
    fn two_ghosts_deep() {
        let deep = |outside| {
            let mut grid = Grid::new(&[3], 2, &[1, 2, 3]);
            grid.fill_ghosts(outside);
            grid.data
        };
        assert_eq!(deep(Outside::Periodic), [2, 3, 1, 2, 3, 1, 2]);
        assert_eq!(deep(Outside::ReflectEven), [2, 1, 1, 2, 3, 3, 2]);
    }
}
