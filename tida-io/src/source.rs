//! Setting arrays from what is read, which is unpacked meanwhile.

use std::sync::mpsc::sync_channel;

use tida::{ErrorKind, TileAcc};

use crate::arrays::{AnyMut, ArrayInfo, Cells, Stored, Target, parts};
use crate::ranks::{agree, one_acc};
use crate::sink::RegionSource;
use crate::{Error, Result};

/// Parts that are read ahead.
const AHEAD: usize = 2;

/// Sets the valid values of arrays, each by its name, from files of any form. All names, shapes and types are checked
/// before the first value is set. A thread of its own reads ahead. [`Store::read`](crate::zarr::Store::read) is this
/// for stores of Zarr.
///
/// # Errors
/// Those of the source; values that an array's format cannot hold.
#[track_caller]
pub fn read(source: &dyn RegionSource, snapshot: Option<u64>, arrays: &mut [(&str, &mut dyn Stored)]) -> Result<()> {
    let acc = acc_of(arrays)?;
    let mut check = || {
        let mut all = Vec::new();
        for (name, array) in arrays.iter_mut() {
            let AnyMut(array) = array.any_mut();
            let info = array.info(name);
            let boxes = parts(&info, &source.check(&info, snapshot)?)?;
            all.push((info, boxes));
        }
        Ok(all)
    };
    let all = agreed(acc.as_ref(), check())?;
    let mut set_all = || {
        let mut done = Ok(());
        for ((_, array), (info, boxes)) in arrays.iter_mut().zip(&all) {
            let AnyMut(array) = array.any_mut();
            array.set_on_ranks();
            // Other ranks set theirs.
            if done.is_ok() {
                done = set(source, snapshot, array, info, boxes);
            }
        }
        done
    };
    agreed(acc.as_ref(), set_all())
}

/// The accelerator of arrays that lie on several ranks, which all read.
///
/// # Errors
/// Arrays of one rank beside arrays of several.
fn acc_of(arrays: &mut [(&str, &mut dyn Stored)]) -> Result<Option<TileAcc>> {
    let of = |(_, array): &mut (&str, &mut dyn Stored)| {
        let AnyMut(array) = array.any_mut();
        array.acc().clone()
    };
    let all: Vec<TileAcc> = arrays.iter_mut().map(of).collect();
    one_acc(all.iter(), "read arrays")?;
    Ok(all.into_iter().next().filter(|acc| acc.ranks() > 1))
}

/// A result, if all ranks have one.
#[track_caller]
fn agreed<T>(acc: Option<&TileAcc>, own: Result<T>) -> Result<T> {
    let Some(acc) = acc else { return own };
    let said = own.as_ref().map(|_| Vec::new()).map_err(Clone::clone);
    agree(acc, said)?;
    own
}

/// As [`read`], for one array and only the cells of a box: the others keep their values.
///
/// # Errors
/// As [`read`]; a box that reaches outside the array.
#[track_caller]
pub fn read_box(
    source: &dyn RegionSource,
    snapshot: Option<u64>,
    (name, array): (&str, &mut dyn Stored),
    cells: &Cells,
) -> Result<()> {
    let AnyMut(array) = array.any_mut();
    let info = array.info(name);
    let acc = Some(array.acc().clone()).filter(|acc| acc.ranks() > 1);
    let part = agreed(acc.as_ref(), source.check(&info, snapshot))?;
    let ends = |d: usize| cells.start[d].checked_add(cells.extent[d]);
    let inside = cells.start.len() == info.shape.len()
        && cells.extent.len() == info.shape.len()
        && (0..info.shape.len()).all(|d| ends(d).is_some_and(|end| end <= info.shape[d]));
    if !inside {
        let tried = format!("read the box of {:?} cells from {:?} on of {name:?}", cells.extent, cells.start);
        let found = format!("an array of shape {:?}", info.shape);
        return Err(Error::new(ErrorKind::OutOfRange, tried, found, "keep the box inside the array"));
    }
    // The parts of the whole array that meet the box, as far as they do.
    let boxes: Vec<Cells> = parts(&info, &part)?.iter().filter_map(|part| part.within(cells)).collect();
    array.set_on_ranks();
    let done = set(source, snapshot, array, &info, &boxes);
    agreed(acc.as_ref(), done)
}

/// The methods by which a source of files sets arrays.
macro_rules! reading_methods {
    ($Source:ident) => {
        impl $Source {
            /// Sets the valid values of arrays, each by its name, from a snapshot. In files of other programs, the
            /// number of the snapshot is the place on the first axis of the array, such as an axis of time. Ghosts have
            /// to be filled afterwards. The arrays may be cut in another way than those that were written.
            ///
            /// All names, shapes and types are checked before the first value is set. If files turn out to be damaged
            /// or missing later, some values are set.
            ///
            /// # Errors
            /// No such snapshot or array; another shape or type; files that are missing or damaged; values that an
            /// array's format cannot hold.
            #[track_caller]
            pub fn read(&self, snapshot: u64, arrays: &mut [(&str, &mut dyn $crate::Stored)]) -> $crate::Result<()> {
                $crate::source::read(self, Some(snapshot), arrays)
            }

            /// As [`read`](Self::read), from arrays that have no axis more than those that are set.
            ///
            /// # Errors
            /// As [`read`](Self::read).
            #[track_caller]
            pub fn load(&self, arrays: &mut [(&str, &mut dyn $crate::Stored)]) -> $crate::Result<()> {
                $crate::source::read(self, None, arrays)
            }

            /// As [`read`](Self::read), or [`load`](Self::load) without a snapshot, for one array and only the cells of
            /// a box: the others keep their values. The array has the shape of the stored one. `start` and `extent`
            /// have one number for each axis.
            ///
            /// # Errors
            /// As [`read`](Self::read); a box that reaches outside the array.
            #[track_caller]
            pub fn read_box(
                &self,
                snapshot: Option<u64>,
                (name, array): (&str, &mut dyn $crate::Stored),
                start: &[usize],
                extent: &[usize],
            ) -> $crate::Result<()> {
                let cells = $crate::Cells { start: start.to_vec(), extent: extent.to_vec() };
                $crate::source::read_box(self, snapshot, (name, array), &cells)
            }
        }
    };
}
pub(crate) use reading_methods;

/// Sets boxes of an array, while the next are read.
#[track_caller]
fn set(
    source: &dyn RegionSource,
    snapshot: Option<u64>,
    array: &mut dyn Target,
    info: &ArrayInfo,
    boxes: &[Cells],
) -> Result<()> {
    // Other ranks read what they have.
    let here = array.here();
    let boxes = &boxes.iter().filter_map(|cells| cells.within(&here)).collect::<Vec<Cells>>();
    let (send, receive) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        let reads = move || {
            for cells in boxes {
                for field in 0..info.fields.len() {
                    let read = source.read(info, field, snapshot, cells);
                    let failed = read.is_err();
                    // If nobody takes them, setting has failed.
                    if send.send((cells, field, read)).is_err() || failed {
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("tida-io".into()).spawn_scoped(scope, reads);
        thread.map_err(|e| Error::io(format!("read {}", source.name()), e))?;
        // One that an array's format cannot hold leaves the others to be set all the same.
        let mut done = Ok(());
        for (cells, field, read) in receive {
            let set = array.set(cells, &info.fields[field], &read?);
            done = done.and(set.map_err(Error::from));
        }
        done
    })
}
