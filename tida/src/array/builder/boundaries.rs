//! What lies beyond the faces of an array's domain, for all components or for some.

use std::sync::Arc;

use tida_kernels::element::ScalarType;

use super::spec::{Spec, is_within};
use super::{Side, TileArrayBuilder};
use crate::error::{Error, ErrorKind};
use crate::memory::coding::{component_bits, paths_of_entries};
use crate::memory::element::Element;
use crate::memory::layout::{Boundaries, Boundary, Centering, Kinds, OfComponents};

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    /// The boundary of every face of the domain: what the ghost cells outside hold after
    /// [`fill_ghosts`](crate::TileArray::fill_ghosts). [`Boundary::Open`] by default, as AMReX's `FillBoundary` leaves what
    /// lies outside a domain that is not periodic.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    /// assert_eq!(u.boundaries(), [[Boundary::Periodic; 2]; 2]);
    /// # Ok(()) }
    /// ```
    pub fn boundary(mut self, boundary: Boundary<T>) -> Self {
        self.boundaries = [[boundary; 2]; D];
        self
    }

    /// The boundary of both faces of one axis, counted from 0, the slowest.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let walls = TileArray::<f64, 2>::builder([4, 8]).ghost(1);
    /// let u = walls.boundary(Boundary::ReflectEven).boundary_axis(1, Boundary::Periodic).build(&acc)?;
    /// assert_eq!(u.boundaries(), [[Boundary::ReflectEven; 2], [Boundary::Periodic; 2]]);
    /// # Ok(()) }
    /// ```
    pub fn boundary_axis(self, axis: usize, boundary: Boundary<T>) -> Self {
        self.boundary_face(axis, Side::Low, boundary).boundary_face(axis, Side::High, boundary)
    }

    /// The boundary of one face: an axis, counted from 0, and a side of it.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let builder = TileArray::<f64, 1>::builder([4]).ghost(1);
    /// let u = builder.boundary_face(0, Side::High, Boundary::Fixed(2.0)).build(&acc)?;
    /// assert_eq!(u.boundaries(), [[Boundary::Open, Boundary::Fixed(2.0)]]);
    /// # Ok(()) }
    /// ```
    pub fn boundary_face(mut self, axis: usize, side: Side, boundary: Boundary<T>) -> Self {
        match self.boundaries.get_mut(axis) {
            Some(faces) => faces[side as usize] = boundary,
            None => self.spec.no_axis = Some(axis),
        }
        self
    }

    /// The boundary of some components at one face: of one field of a struct, `"mass"`; of a field of a field,
    /// `"flow.mass"`; or of one entry of an array, `"momentum.1"`, or `"1"` if the element is the array. If the field
    /// has several components, that of all of them. It overrides what [`boundary`](Self::boundary) and the like say,
    /// whatever the order of the calls; of two calls for one component the later counts. AMReX has a `BCRec` for each
    /// component for this.
    ///
    /// [`Boundary::Fixed`] takes a whole element, and uses the values of these components alone.
    ///
    /// A wall reflects a gas: what flows towards the face changes its sign, the rest does not.
    ///
    /// ```
    /// use tida::prelude::*;
    /// #[derive(Clone, Copy, Debug, PartialEq, Element)]
    /// struct Gas {
    ///     mass: f64,
    ///     momentum: [f64; 2],
    /// }
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut gas = TileArray::<Gas, 2>::builder([2, 3])
    ///     .ghost(1)
    ///     .boundary(Boundary::ReflectEven)
    ///     .field_boundary("momentum.0", 0, Side::Low, Boundary::ReflectOdd)
    ///     .field_boundary("momentum.0", 0, Side::High, Boundary::ReflectOdd)
    ///     .field_boundary("momentum.1", 1, Side::Low, Boundary::ReflectOdd)
    ///     .field_boundary("momentum.1", 1, Side::High, Boundary::ReflectOdd)
    ///     .build(&acc)?;
    /// gas.fill_value(Gas { mass: 1.0, momentum: [2.0, 3.0] })?;
    /// gas.fill_ghosts()?;
    /// let mut above = gas.like()?;
    /// for tile in TileIter::new(&gas) {
    ///     compute(&tile, (&mut above, &gas), kernel!(|above, gas, at| above[at] = gas[at - [1, 0]]))?;
    /// }
    /// assert_eq!(above.read_box(above.domain())?[0], Gas { mass: 1.0, momentum: [-2.0, 3.0] });
    /// # Ok(()) }
    /// ```
    ///
    /// Arrays whose components differ at a face run everywhere that other arrays do. But their ghosts are always
    /// filled: kernels do not read the cells instead, as they can where all components are periodic or mirrored.
    ///
    /// # Errors
    /// [`build`](Self::build) refuses a field that the element does not have, and an axis that is periodic for some
    /// components alone.
    pub fn field_boundary(mut self, field: &str, axis: usize, side: Side, boundary: Boundary<T>) -> Self {
        if axis < D {
            self.spec.bounded.push((field.to_owned(), axis, side));
            self.field_boundaries.push(boundary);
        } else {
            self.spec.no_axis = Some(axis);
        }
        self
    }

    /// What lies beyond all faces, for each component.
    ///
    /// # Errors
    /// A boundary that cannot be.
    pub(super) fn boundaries(&self) -> Result<Boundaries<T, D>, Error> {
        let (mut fixed, mut faces, mut others) = (Vec::new(), [[Boundary::Open; 2]; D], Vec::new());
        let mut kind = |boundary: &Boundary<T>| boundary.map(|value| numbered(&mut fixed, component_bits(*value)));
        for (kinds, sides) in faces.iter_mut().zip(&self.boundaries) {
            *kinds = [kind(&sides[0]), kind(&sides[1])];
        }
        for boundary in &self.field_boundaries {
            others.push(kind(boundary));
        }
        let kinds = Arc::new(self.spec.kinds(faces, &others, fixed)?);
        Ok(Boundaries { faces: self.boundaries, others: self.field_boundaries.clone(), kinds })
    }
}

/// The number of a fixed value; values of the same bits have the same.
fn numbered(fixed: &mut Vec<Vec<u64>>, bits: Vec<u64>) -> usize {
    fixed.iter().position(|known| *known == bits).unwrap_or_else(|| {
        fixed.push(bits);
        fixed.len() - 1
    })
}

impl<const D: usize> Spec<D> {
    /// The boundaries of all faces, from those that components have which no field names, and those of the fields that
    /// were named.
    ///
    /// # Errors
    /// An axis or a field that there is not; boundaries that cannot be.
    fn kinds(
        &self,
        faces: [[Boundary<usize>; 2]; D],
        others: &[Boundary<usize>],
        fixed: Vec<Vec<u64>>,
    ) -> Result<Kinds<D>, Error> {
        if let Some(axis) = self.no_axis {
            let found = format!("a boundary for axis {axis} of an array of {D} axes");
            return Err(self.error(ErrorKind::Boundary, found, "count axes from 0, the slowest"));
        }
        let paths = paths_of_entries(&self.element);
        let mut boundaries = Kinds { faces, others: Vec::new(), components: paths.len(), fixed };
        for ((field, axis, side), boundary) in self.bounded.iter().zip(others) {
            let within = |path: &String| is_within(path, field);
            let Some(first) = paths.iter().position(within) else {
                let found = format!("a boundary for the field `{field}`");
                let advice = match paths.len() {
                    1 if paths[0].is_empty() => "use `.boundary_face(..)`: it has one component".to_owned(),
                    _ => format!("name one of {}", paths.join(", ")),
                };
                return Err(self.error(ErrorKind::Boundary, found, advice));
            };
            let components = first..first + paths[first..].iter().take_while(|path| within(path)).count();
            let side = *side as usize;
            boundaries.others.push(OfComponents { axis: *axis, side, components, boundary: *boundary });
        }
        for axis in 0..D {
            self.check_axis(axis, &boundaries, &paths)?;
        }
        Ok(boundaries)
    }

    fn check_axis(&self, axis: usize, boundaries: &Kinds<D>, paths: &[String]) -> Result<(), Error> {
        let error = |found: String, advice: &str| {
            Err(self.error(ErrorKind::Boundary, format!("{found} on axis {axis}"), advice))
        };
        let types = self.element.component_types();
        let faces = [0, 1].map(|side| boundaries.of(axis, side));
        let periodic = |face: &[(_, Boundary<usize>)]| face.iter().any(|(_, of)| matches!(of, Boundary::Periodic));
        let periodic = [periodic(&faces[0]), periodic(&faces[1])];
        if periodic[0] != periodic[1] {
            return error("one periodic face".into(), "make both faces of the axis periodic, or neither");
        }
        if periodic[0] && faces.iter().any(|face| face.len() > 1) {
            return error(
                "a periodic boundary of some components alone".into(),
                "make the axis periodic for all components, or for none",
            );
        }
        for (components, boundary) in faces.iter().flatten() {
            let boolean = components.clone().find(|number| types[*number] == ScalarType::Bool);
            let of = boolean.filter(|number| !paths[*number].is_empty());
            let of = of.map_or_else(String::new, |number| format!(", the field `{}`,", paths[number]));
            let use_even = "use even reflection, or another boundary of the field by `.field_boundary(..)`";
            match boundary {
                Boundary::Extrapolate(order) if *order > 1 => {
                    return error(format!("extrapolation of order {order}"), "use order 0 or 1");
                }
                Boundary::Extrapolate(1) if boolean.is_some() => {
                    return error(format!("extrapolation of order 1 of bool{of}"), "use order 0");
                }
                Boundary::ReflectOdd if boolean.is_some() => {
                    let advice = if of.is_empty() { "use even reflection" } else { use_even };
                    return error(format!("odd reflection of bool{of}"), advice);
                }
                Boundary::Extrapolate(1) if self.cells[axis] == 1 && self.centering[axis] == Centering::Cell => {
                    return error("extrapolation of order 1 from one cell".into(), "use order 0 or two cells");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// 0.0 and -0.0 are equal, and not the same value: each component's ghosts have its own.
    #[test]
    fn fixed_values_keep_their_bits() {
        let acc = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
        let builder = TileArray::<[f64; 2], 1>::builder([3]).ghost(1).boundary(Boundary::Fixed([0.0; 2]));
        let mut u = builder.field_boundary("1", 0, Side::Low, Boundary::Fixed([-0.0; 2])).build(&acc).unwrap();
        u.fill_value([1.0; 2]).unwrap();
        u.fill_ghosts().unwrap();
        let bits = |at: i64| u.read_grown_box(0, GridBox::new([at], [at + 1])).unwrap()[0].map(f64::to_bits);
        assert_eq!((bits(-1), bits(3)), ([0, 1 << 63], [0, 0]));
    }
}
