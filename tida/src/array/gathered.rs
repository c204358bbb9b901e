//! Values of boxes that several places have parts of, on one rank or on several: each packs its part and gives it to
//! who takes the box.

use std::panic::Location;
use std::sync::{Arc, OnceLock};

use super::TileArray;
use super::fields::{Field, fields_of};
use super::host::position;
use super::taken::{BoxView, Held, Piece, Recorded};
use crate::acc::TileAcc;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::node::{Node, Work};
use crate::ranks::{Bytes, Slot, World};
use crate::record::wait::{InKernel, outside_kernels};

/// What its nodes are called.
const NAME: &str = "with_box_later";

/// What is packed, once it is.
type Packed = Arc<OnceLock<Bytes>>;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// The rank that has most of the cells of a box, the first of several; 0 without ranks, and of an array that is
    /// everywhere.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// let u = TileArray::<f64, 2>::builder([64, 64]).build(&acc)?;
    /// assert_eq!(u.rank_of(GridBox::new([0, 0], [8, 64])), acc.rank());
    /// # Ok(()) }
    /// ```
    pub fn rank_of(&self, cells: GridBox<D>) -> usize {
        let rows = |rank: &usize| {
            let own = self.of_rank(*rank, &cells);
            (own.hi[0] - own.lo[0], std::cmp::Reverse(*rank))
        };
        let is_shared = self.is_parted() && !self.is_everywhere();
        if is_shared { (0..self.acc.ranks()).max_by_key(rows).unwrap_or(0) } else { 0 }
    }

    /// The cells that this rank has: a run of planes of the first axis. Without ranks these are all.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::builder().device(Device::Cpu).build()?;
    /// let u = TileArray::<f64, 2>::builder([64, 64]).build(&acc)?;
    /// assert_eq!(u.cells_here(), u.domain());
    /// # Ok(()) }
    /// ```
    pub fn cells_here(&self) -> GridBox<D> {
        let domain = self.layout.domain();
        if self.is_parted() && !self.is_everywhere() { self.of_rank(self.acc.rank(), &domain) } else { domain }
    }

    /// As [`with_box_later`](TileArray::with_box_later), on one of several ranks: all make the call, `take` is called
    /// on this one, and the others give it what they have of the box. There the [`Recorded`] has run when that is sent.
    ///
    /// # Errors
    /// A box that reaches outside the domain.
    #[track_caller]
    pub fn with_box_later_on(
        &self,
        rank: usize,
        cells: GridBox<D>,
        take: impl FnOnce(&BoxView<'_, D>) + Send + 'static,
    ) -> Result<Recorded, Error> {
        if !self.is_parted() {
            return self.with_box_later(cells, take);
        }
        outside_kernels("record that values are taken")?;
        self.check_box("take", &cells)?;
        let recorded = Location::caller();
        let shared = self.shared_call(NAME, recorded);
        if let Some(copy) = self.copy_here() {
            // The rank has all of it.
            return if rank == self.acc.rank() {
                copy.with_box_later(cells, take)
            } else {
                Ok(Recorded::of(&self.acc, Vec::new()))
            };
        }
        let shared = shared.map(|(world, call)| (world.clone(), call, rank));
        Ok(self.gather_later(shared.as_ref(), &cells, take, recorded))
    }

    /// Records that the parts of a box come together, on a rank in a call of this number, or on this one, and that a
    /// closure gets them.
    pub(super) fn gather_later(
        &self,
        shared: Option<&(Arc<World>, u64, usize)>,
        cells: &GridBox<D>,
        take: impl FnOnce(&BoxView<'_, D>) + Send + 'static,
        recorded: &'static Location<'static>,
    ) -> Recorded {
        let here = self.acc.rank();
        let to = shared.map_or(here, |(_, _, rank)| *rank);
        let parts = self.owners().iter().enumerate();
        let parts: Vec<(usize, &TileArray<T, D>, GridBox<D>)> = parts
            .map(|(number, part)| (number, part, part.layout.owned.intersect(cells)))
            .filter(|(_, _, own)| !own.is_empty())
            .collect();
        if to != here {
            let own = parts.iter().filter(|(number, ..)| self.acc.rank_of(*number) == here);
            let sent = own.filter_map(|(number, part, own)| {
                let (world, call, _) = shared?;
                let (packed, node) = part.record_packing(own, recorded);
                let slot = Slot { call: *call, lane: *number as u64 };
                Some((part.acc.clone(), record_sending(&part.acc, (world, to, slot), (packed, node), recorded)))
            });
            return Recorded::of(&self.acc, sent.collect());
        }
        // The place of the first part that is here has the box.
        let home = parts.iter().find(|(number, ..)| self.acc.rank_of(*number) == here);
        let at = home.map_or_else(|| self.acc.places()[0].clone(), |(_, part, _)| part.acc.clone());
        let (mut pieces, mut touches, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for (number, part, own) in &parts {
            let from = self.acc.rank_of(*number);
            if from == here && part.acc.is(&at) {
                let (more, piece) = part.piece(own);
                touches.extend(more);
                pieces.push(piece);
                continue;
            }
            let (packed, node) = match shared.filter(|_| from != here) {
                Some((world, call, _)) => {
                    let slot = Slot { call: *call, lane: *number as u64 };
                    expect_packed(&at, (world, from, slot), own.cells() * T::TYPE.bytes(), recorded)
                }
                None => {
                    let (packed, node) = part.record_packing(own, recorded);
                    (packed, record_handing(&part.acc, &at, &node, recorded))
                }
            };
            pieces.push(Piece { cells: *own, held: Held::Given(packed) });
            after.push(node);
        }
        let home = home.map_or(self, |(_, part, _)| *part);
        let node = home.record_take(&at, (*cells, pieces), (&touches, &after), take, recorded);
        Recorded::of(&self.acc, vec![(at, node)])
    }

    /// Records that a box of this part is packed, field by field.
    fn record_packing(&self, cells: &GridBox<D>, recorded: &'static Location<'static>) -> (Packed, Arc<Node>) {
        let (touches, piece) = self.piece(cells);
        let packed = Packed::default();
        let to = packed.clone();
        let pack = move || {
            let _inside = InKernel::enter();
            let mut bytes = Bytes::new(piece.cells.cells() * T::TYPE.bytes());
            let mut rest = bytes.as_mut_slice();
            for field in fields_of(&T::TYPE) {
                let (own, more) = rest.split_at_mut(piece.cells.cells() * field.bytes());
                piece.copy(&T::TYPE, &field, own, true)?;
                rest = more;
            }
            let _ = to.set(bytes);
            Ok(())
        };
        (packed, self.acc.record_node(NAME, recorded, &touches, &[], Work::Host(Box::new(pack))))
    }

    /// Sets one field of what this rank has of a box; see [`write_box_field`](TileArray::write_box_field).
    ///
    /// # Errors
    /// Those of that call.
    #[track_caller]
    pub(super) fn write_parts_field(&mut self, cells: &GridBox<D>, field: &Field, bytes: &[u8]) -> Result<(), Error> {
        self.start_all()?;
        let extent = cells.extent();
        self.each_part_mut(cells, &mut |part, of| {
            let first = position(cells, &extent, of.lo) * field.bytes();
            part.write_box_field(of, field, &bytes[first..first + of.cells() * field.bytes()])
        })
    }

    /// As [`write_box_field`](TileArray::write_box_field), for a box that this rank has
    /// ([`cells_here`](TileArray::cells_here)); the other ranks do not make the call. Who sets an array so calls
    /// [`set_on_ranks`](TileArray::set_on_ranks) before, on all ranks.
    ///
    /// # Errors
    /// As [`write_box_field`](TileArray::write_box_field); a box of which another rank has a part.
    #[track_caller]
    pub fn write_box_field_here(&mut self, cells: GridBox<D>, field: &Field, bytes: &[u8]) -> Result<(), Error> {
        if !self.is_parted() {
            return self.write_box_field(cells, field, bytes);
        }
        self.check_box("write", &cells)?;
        self.check_box_here(&cells, "set values")?;
        self.check_field(&cells, field, bytes)?;
        self.write_parts_field(&cells, field, bytes)
    }

    /// Says that each rank sets what it has of the array next, by
    /// [`write_box_field_here`](TileArray::write_box_field_here). All ranks make this call.
    #[track_caller]
    pub fn set_on_ranks(&mut self) {
        self.shared_call("set_on_ranks", Location::caller());
        if self.is_parted() {
            self.written_on_ranks(&self.layout.domain());
        }
    }
}

/// Records that what a node packs goes to another rank, or why it does not.
fn record_sending(
    place: &TileAcc,
    (world, to, slot): (&Arc<World>, usize, Slot),
    (packed, node): (Packed, Arc<Node>),
    recorded: &'static Location<'static>,
) -> Arc<Node> {
    let (world, core) = (world.clone(), place.core().clone());
    let work = Work::Sends(Box::new(move |node, failure| {
        let bytes = Arc::into_inner(packed).and_then(OnceLock::into_inner);
        match &failure {
            Some(error) => world.fail(to, slot, error),
            None => world.send(to, slot, vec![Box::new(bytes.unwrap_or_default())]),
        }
        core.finish(node, failure.map_or(Ok(()), Err))
    }));
    place.record_node("with_box_later: send", recorded, &[], &[node], work)
}

/// What another rank sends, and a node that ends when it is there.
fn expect_packed(
    place: &TileAcc,
    (world, from, slot): (&Arc<World>, usize, Slot),
    bytes: usize,
    recorded: &'static Location<'static>,
) -> (Packed, Arc<Node>) {
    let packed = Packed::default();
    let to = packed.clone();
    let node = world.expect(place.core(), (from, slot), vec![Some(bytes)], (NAME, recorded), move |mut pieces| {
        let _ = to.set(pieces.pop().unwrap_or_default());
        Ok(())
    });
    (packed, node)
}

/// A node of a place that ends when a node of another one has ended, as that did.
fn record_handing(from: &TileAcc, to: &TileAcc, node: &Arc<Node>, recorded: &'static Location<'static>) -> Arc<Node> {
    let (there, core) = (to.core().clone(), from.core().clone());
    let arrives = there.expect(NAME, recorded);
    let ends = arrives.clone();
    let work = Work::Shared(Box::new(move |node, failure| {
        there.arrived(&ends, failure.clone().map_or(Ok(()), Err));
        core.finish(node, failure.map_or(Ok(()), Err))
    }));
    from.record_node("with_box_later: hand over", recorded, &[], std::slice::from_ref(node), work);
    arrives
}
