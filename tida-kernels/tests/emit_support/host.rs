//! Arrays as a host would lay them out, read by the interpreter and by emitted kernels alike.

use tida_kernels::analysis::analyse;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::{Field, Param, Source};
use tida_kernels::interp::Memory;
use tida_kernels::ir::{Access, Capture, Kernel, Type};
use tida_kernels::plan::auto::Latency;
use tida_kernels::plan::{Dialect, Goal, Math, Plan};
use tida_kernels::scalar::Value;

/// Where the cells of a region lie.
#[derive(Clone, Debug)]
pub struct Region {
    /// The cells held, ghosts included.
    pub lo: Vec<i64>,
    pub hi: Vec<i64>,
    /// Distances between neighbours; the last is 1.
    pub strides: Vec<i64>,
    /// Values in a plane.
    pub plane: i64,
    /// Start in the array's memory, in bytes.
    pub base: usize,
}

/// An argument.
#[derive(Clone, Debug)]
pub struct Grid {
    pub access: Access,
    pub element: ElementType,
    /// The bytes of a cell before each component, and its type.
    pub components: Vec<(usize, ScalarType)>,
    pub regions: Vec<Region>,
    /// Cells that may be read: a region with its ghosts, or the whole array.
    pub lo: Vec<i64>,
    pub hi: Vec<i64>,
    /// Ends of the valid boxes of the regions along each axis; empty unless whole.
    pub ends: Vec<Vec<i64>>,
    pub bytes: Vec<u8>,
}

/// A small generator of numbers.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) ^ (self.0 << 20)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 7) % n
    }
    /// A value for each component of each capture of a kernel.
    pub fn captures(&mut self, kernel: &Kernel) -> Vec<Value> {
        let values = kernel.captures.iter().flat_map(|c| {
            let ty = match &c.ty {
                Type::Array(of, _) => of.scalar().unwrap(),
                ty => ty.scalar().unwrap(),
            };
            (0..c.ty.components()).map(|_| self.value(ty)).collect::<Vec<_>>()
        });
        values.collect()
    }

    /// Mostly ordinary values.
    pub fn value(&mut self, ty: ScalarType) -> Value {
        let small = self.below(7) as i64 - 2;
        match ty {
            ScalarType::F64 => Value::F64(self.below(1 << 30) as f64 / 7e6 - 60.0),
            ScalarType::F32 => Value::F32(self.below(1 << 20) as f32 / 7e3 - 60.0),
            ScalarType::Bool => Value::Bool(self.below(2) == 1),
            ty if ty.is_signed_int() => Value::from_bits(ty, small as u64),
            ty => Value::from_bits(ty, small.unsigned_abs()),
        }
    }
}

/// The bytes of a cell before each component, and its type.
fn components_of(element: ElementType) -> Vec<(usize, ScalarType)> {
    let mut bytes = 0;
    let of = |ty: ScalarType| {
        bytes += ty.size();
        (bytes - ty.size(), ty)
    };
    element.component_types().into_iter().map(of).collect()
}

impl Grid {
    /// Where a component lies, and its type.
    fn place(&self, component: usize, index: &[i64]) -> Option<(usize, ScalarType)> {
        let outside =
            index.iter().zip(&self.lo).any(|(i, lo)| i < lo) || index.iter().zip(&self.hi).any(|(i, hi)| i >= hi);
        if outside {
            return None;
        }
        let mut number = 0;
        for (i, ends) in index.iter().zip(&self.ends) {
            number = number * ends.len() + ends.partition_point(|end| end <= i);
        }
        let r = &self.regions[number];
        let position: i64 = (0..index.len()).map(|d| (index[d] - r.lo[d]) * r.strides[d]).sum();
        let (before, ty) = self.components[component];
        Some((r.base + before * r.plane as usize + position as usize * ty.size(), ty))
    }

    fn fill(&mut self, rng: &mut Rng) {
        for r in &self.regions {
            let mut at = r.lo.clone();
            'cells: loop {
                let position: i64 = (0..at.len()).map(|d| (at[d] - r.lo[d]) * r.strides[d]).sum();
                for (before, ty) in &self.components {
                    let start = r.base + before * r.plane as usize + position as usize * ty.size();
                    let bits = rng.value(*ty).bits().to_le_bytes();
                    self.bytes[start..start + ty.size()].copy_from_slice(&bits[..ty.size()]);
                }
                for axis in (0..at.len()).rev() {
                    at[axis] += 1;
                    if at[axis] < r.hi[axis] {
                        continue 'cells;
                    }
                    at[axis] = r.lo[axis];
                }
                break;
            }
        }
    }

    /// One region that holds these cells.
    pub fn tiled(access: Access, element: ElementType, lo: &[i64], hi: &[i64], rng: &mut Rng) -> Grid {
        let mut grid = Grid {
            access,
            element,
            components: components_of(element),
            regions: Vec::new(),
            lo: lo.to_vec(),
            hi: hi.to_vec(),
            ends: Vec::new(),
            bytes: Vec::new(),
        };
        grid.add_region(lo, hi, rng);
        grid.fill(rng);
        grid
    }

    fn add_region(&mut self, lo: &[i64], hi: &[i64], rng: &mut Rng) {
        let rank = lo.len();
        let mut strides = vec![1; rank];
        let mut plane = hi[rank - 1] - lo[rank - 1] + rng.below(4) as i64;
        for d in (0..rank - 1).rev() {
            strides[d] = plane;
            plane *= hi[d] - lo[d];
        }
        plane = (plane + 7) / 8 * 8 + 8 * rng.below(3) as i64;
        let base = self.bytes.len() + 64 * rng.below(3) as usize;
        let base = base.next_multiple_of(64);
        let end = base + plane as usize * self.element.bytes();
        let filler = (self.bytes.len()..end).map(|_| 0xEE);
        self.bytes.extend(filler.collect::<Vec<u8>>());
        self.regions.push(Region { lo: lo.to_vec(), hi: hi.to_vec(), strides, plane, base });
    }

    /// A whole array cut into regions, each with a ghost around.
    pub fn whole(element: ElementType, ends: &[Vec<i64>], rng: &mut Rng) -> Grid {
        let rank = ends.len();
        let mut grid = Grid {
            access: Access::All,
            element,
            components: components_of(element),
            regions: Vec::new(),
            lo: vec![0; rank],
            hi: ends.iter().map(|e| *e.last().unwrap()).collect(),
            ends: ends.to_vec(),
            bytes: Vec::new(),
        };
        let count: usize = ends.iter().map(Vec::len).product();
        for n in 0..count {
            let (mut rest, mut lo, mut hi) = (n, vec![0; rank], vec![0; rank]);
            for d in (0..rank).rev() {
                let k = rest % ends[d].len();
                rest /= ends[d].len();
                lo[d] = if k == 0 { 0 } else { ends[d][k - 1] } - 1;
                hi[d] = ends[d][k] + 1;
            }
            grid.add_region(&lo, &hi, rng);
        }
        grid.fill(rng);
        grid
    }

    pub fn table(values: &[Value]) -> Grid {
        let ty = values[0].ty();
        let bytes = values.iter().flat_map(|v| v.bits().to_le_bytes()[..ty.size()].to_vec()).collect();
        let element = ElementType::Scalar(ty);
        let n = values.len() as i64;
        let region = Region { lo: vec![0], hi: vec![n], strides: vec![1], plane: n, base: 0 };
        Grid {
            access: Access::Table,
            element,
            components: components_of(element),
            regions: vec![region],
            lo: vec![0],
            hi: vec![n],
            ends: Vec::new(),
            bytes,
        }
    }

    /// Bytes of what the argument's pointer points to.
    fn unit(&self) -> usize {
        let types = self.element.component_types();
        if types.iter().all(|ty| *ty == types[0]) { types[0].size() } else { 1 }
    }

    /// The words that say where the regions of a whole array lie.
    pub fn words(&self) -> Vec<i64> {
        let mut words: Vec<i64> = self.ends.iter().map(|e| e.len() as i64).collect();
        words.extend(&self.hi);
        words.extend(self.ends.iter().flatten());
        for r in &self.regions {
            words.push((r.base / self.unit()) as i64);
            words.extend(&r.lo);
            words.extend(&r.strides[..r.strides.len() - 1]);
            words.push(r.plane);
        }
        words
    }
}

/// All arguments.
#[derive(Clone, Debug)]
pub struct Grids(pub Vec<Grid>);

impl Memory for Grids {
    fn load(&self, arg: usize, component: usize, index: &[i64]) -> Option<Value> {
        let (start, ty) = self.0[arg].place(component, index)?;
        let mut bits = [0; 8];
        bits[..ty.size()].copy_from_slice(&self.0[arg].bytes[start..start + ty.size()]);
        Some(Value::from_bits(ty, u64::from_le_bytes(bits)))
    }

    fn store(&mut self, arg: usize, component: usize, index: &[i64], value: Value) -> bool {
        let Some((start, ty)) = self.0[arg].place(component, index) else { return false };
        self.0[arg].bytes[start..start + ty.size()].copy_from_slice(&value.bits().to_le_bytes()[..ty.size()]);
        true
    }
}

/// A launch: a whole box, and the boxes it is cut into.
#[derive(Clone, Debug)]
pub struct Launch {
    pub captures: Vec<Value>,
    pub grids: Grids,
    pub whole: (Vec<i64>, Vec<i64>),
    pub boxes: Vec<(Vec<i64>, Vec<i64>)>,
}

impl Launch {
    fn row_number(&self, lo: &[i64]) -> i64 {
        let last = lo.len() - 1;
        (0..last).fold(0, |n, d| n * (self.whole.1[d] - self.whole.0[d]) + lo[d] - self.whole.0[d])
    }

    pub fn segments(&self) -> i64 {
        let last = self.whole.0.len() - 1;
        (self.whole.1[last] - 1).div_euclid(64) - self.whole.0[last].div_euclid(64) + 1
    }

    pub fn rows(&self) -> i64 {
        (0..self.whole.0.len() - 1).map(|d| self.whole.1[d] - self.whole.0[d]).product()
    }

    pub fn line(&self) -> i64 {
        let last = self.whole.0.len() - 1;
        self.whole.1[last] - self.whole.0[last]
    }

    /// The words of a box.
    pub fn geometry(&self, source: &Source, plan: &Plan, (lo, hi): &(Vec<i64>, Vec<i64>)) -> Vec<i64> {
        let last = lo.len() - 1;
        let of = |g: u32| {
            let tiled = |n: &usize| matches!(self.grids.0[*n].access, Access::Read | Access::Write);
            let n = (0..self.grids.0.len()).filter(tiled).find(|n| u32::from(plan.groups[*n]) == g).unwrap();
            &self.grids.0[n].regions[0]
        };
        // A box of a launch of several steps is a part of the planes of the whole one.
        let part = [lo[0] - self.whole.0[0], hi[0] - self.whole.0[0]];
        let (lo, hi) = if plan.fused.is_some() { (&self.whole.0, &self.whole.1) } else { (lo, hi) };
        let word = |field: &Field| match *field {
            Field::Extent(d) => hi[d as usize] - lo[d as usize],
            Field::Lo(d) => lo[d as usize],
            // Of the colour 0.
            Field::Colour(d) => {
                let colours = plan.colours.unwrap();
                let sum = if colours.slanted { lo.iter().sum::<i64>() } else { -lo[d as usize] };
                sum.rem_euclid(colours.every(d as usize))
            }
            Field::Base(a) => (self.grids.0[a as usize].regions[0].base / self.grids.0[a as usize].unit()) as i64,
            Field::First(g) => (0..lo.len()).map(|d| (lo[d] - of(g).lo[d]) * of(g).strides[d]).sum(),
            Field::Stride(g, d) => of(g).strides[d as usize],
            Field::Origin(g, d) => of(g).lo[d as usize],
            Field::Plane(g) => of(g).plane,
            Field::BoundLo(a, d) => self.grids.0[a as usize].lo[d as usize],
            Field::BoundHi(a, d) => self.grids.0[a as usize].hi[d as usize],
            Field::FirstRow => self.row_number(lo),
            Field::RowStep(d) => (d as usize + 1..last).map(|e| self.whole.1[e] - self.whole.0[e]).product(),
            Field::Segments => self.segments(),
            Field::FirstSegment => self.whole.0[last].div_euclid(64),
            Field::LineLo => self.whole.0[last],
            Field::LineCells => self.line(),
            Field::PartLo => part[0],
            Field::PartHi => part[1],
        };
        source.geometry.iter().map(word).collect()
    }

    /// The bytes of a captured value: where each step has its own, those of all steps.
    pub fn capture(&self, kernel: &Kernel, n: u32) -> Vec<u8> {
        let before = components(&kernel.captures[..n as usize]);
        let count = kernel.captures[n as usize].ty.components();
        let sets = self.captures.chunks(components(&kernel.captures));
        let values = sets.flat_map(|set| &set[before..before + count]);
        values.flat_map(|v| v.bits().to_le_bytes()[..v.ty().size()].to_vec()).collect()
    }
}

/// Values that these captures have in all.
fn components(captures: &[Capture]) -> usize {
    captures.iter().map(|capture| capture.ty.components()).sum()
}

/// Every argument with a geometry of its own.
fn separate_groups(kernel: &Kernel) -> Vec<u8> {
    let mut next = 0;
    let number = |access: Access| {
        let tiled = matches!(access, Access::Read | Access::Write);
        next += tiled as u8;
        if tiled { next - 1 } else { 0 }
    };
    kernel.args.iter().map(|arg| arg.access).map(number).collect()
}

/// Every tiled argument's geometry by itself if their layouts differ, else one for all.
pub fn plan(kernel: &Kernel, grids: &Grids, dialect: Dialect, goal: Goal, checked: bool, many: bool) -> Plan {
    let layout = |g: &Grid| (g.regions[0].lo.clone(), g.regions[0].strides.clone(), g.regions[0].plane);
    let tiled: Vec<&Grid> = grids.0.iter().filter(|g| matches!(g.access, Access::Read | Access::Write)).collect();
    let same = tiled.windows(2).all(|w| layout(w[0]) == layout(w[1]));
    let groups = if same { vec![0; kernel.args.len()] } else { separate_groups(kernel) };
    let block = match (goal, kernel.rank) {
        (Goal::Segments(_), _) => [256, 1, 1],
        (_, 1) => [64, 1, 1],
        (_, 2) => [8, 4, 1],
        _ => [8, 2, 2],
    };
    Plan {
        dialect,
        math: Math::Exact,
        goal,
        block,
        many,
        by_value: 0,
        narrow: true,
        joint: false,
        stream: false,
        checked,
        groups,
        march: None,
        side: 1,
        rows: 0,
        fused: None,
        cache: Vec::new(),
        width: 1,
        cells: [1, 1],
        registers: 64,
        latency: Latency::TYPICAL,
        ghosts: Vec::new(),
        along: None,
        colours: None,
    }
}

/// The source for a plan.
pub fn source(kernel: &Kernel, plan: &Plan) -> Source {
    let source = tida_kernels::emit::emit(kernel, &analyse(kernel), plan);
    assert_eq!(source.lines.len(), source.text.lines().count(), "{}", source.text);
    assert!(source.text.contains(&source.entry));
    assert_eq!(source.params.iter().filter(|p| matches!(p, Param::Geometry | Param::Boxes)).count(), 1);
    source
}
