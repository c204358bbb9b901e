//! The chunks of an array, by the crate `zarrs`.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tida::array::Field;
use zarrs::array::{
    Array, ArrayBytes, ArrayMetadata, ArrayMetadataV3, ArraySubset, ArrayToBytesCodecTraits, CodecOptions,
};
use zarrs::filesystem::FilesystemStore;

use super::layout::{Layout, is_in_time};
use super::meta;
use crate::arrays::{ArrayInfo, Cells};
use crate::{Error, Result};

/// How the values of an array are cut into files and packed.
pub(super) struct Chunks {
    /// The store, and the path in it.
    folder: PathBuf,
    path: String,
    array: Array<FilesystemStore>,
    /// The extent of a file, and the same without time.
    grid: Vec<NonZeroU64>,
    in_time: bool,
    file: Vec<usize>,
    /// How many of its axes are those of the array of tida.
    cell_axes: usize,
    /// Bytes of a value, both parts of a complex number.
    size: usize,
    /// A file has the values as they are in memory here, and their checksum.
    is_plain: bool,
}

impl Chunks {
    /// Those of a path of a store.
    pub fn open(folder: &Path, layout: &Layout, path: &str, tried: &str) -> Result<Chunks> {
        Chunks::new(folder, path, layout.array(path, tried)?, tried)
    }

    /// Those of an array of which this is said.
    pub fn new(folder: &Path, path: &str, said: &Value, tried: &str) -> Result<Chunks> {
        let failed = |e: String| {
            let found = format!("that the metadata of {path:?} is not what Zarr 3 allows or tida knows: {e}");
            Error::format(tried, found, "write it by tida or by zarr-python 3, with codecs bytes, zstd and sharding")
        };
        let v3: ArrayMetadataV3 = serde_json::from_value(said.clone()).map_err(|e| failed(e.to_string()))?;
        let store = FilesystemStore::new(folder).map_err(|e| failed(e.to_string()))?;
        let array = Array::new_with_metadata(Arc::new(store), &format!("/{path}"), ArrayMetadata::V3(v3))
            .map_err(|e| failed(e.to_string()))?;
        let in_time = is_in_time(said);
        let size = array.data_type().fixed_size().ok_or_else(|| failed("values of no fixed size".into()))?;
        let grid = said["chunk_grid"]["configuration"]["chunk_shape"].as_array();
        let extents = grid.into_iter().flatten().filter_map(Value::as_u64).filter_map(NonZeroU64::new);
        let grid: Vec<NonZeroU64> = extents.collect();
        if grid.len() != array.dimensionality() {
            return Err(failed("chunks that are not all of one extent".into()));
        }
        let file: Vec<usize> = grid.iter().skip(usize::from(in_time)).map(|n| n.get() as usize).collect();
        let cell_axes = file.len();
        let (folder, path) = (folder.to_path_buf(), path.to_owned());
        let is_plain = cfg!(target_endian = "little") && said["codecs"] == meta::checked();
        Ok(Chunks { folder, path, array, grid, in_time, file, cell_axes, size, is_plain })
    }

    /// Those of a field of an array that is to be written; the store may be there already.
    pub fn of(
        folder: &Path,
        layout: &Layout,
        array: &ArrayInfo,
        field: &Field,
        in_time: bool,
        tried: &str,
    ) -> Result<Chunks> {
        let mut chunks = Chunks::open(folder, layout, &meta::path(&array.name, field), tried)?;
        chunks.check(array, field, in_time, tried)?;
        chunks.cell_axes = array.shape.len();
        Ok(chunks)
    }

    /// Checks that the values are those of a field of an array.
    pub fn check(&self, array: &ArrayInfo, field: &Field, in_time: bool, tried: &str) -> Result<()> {
        let wanted: Vec<u64> = array.shape.iter().chain(field.shape()).map(|n| *n as u64).collect();
        let shape = self.array.shape().get(usize::from(in_time)..).unwrap_or_default();
        let ty = meta::data_type(field.number(), field.is_complex()).unwrap_or_default();
        let here = self.type_name();
        if shape == wanted && here == ty && self.array.dimensionality() == wanted.len() + usize::from(in_time) {
            return Ok(());
        }
        let axis = if in_time { " beside the axis of time" } else { "" };
        let found = format!("{:?} of {here} and shape {:?}", self.path, self.array.shape());
        let advice = format!("use an array whose values are {ty} of shape {wanted:?}{axis}");
        let advice = match shape == wanted {
            true => format!("use an array of tida whose values are {here}, not {ty}"),
            false => advice,
        };
        Err(Error::format(tried, found, advice))
    }

    /// The name of its type in Zarr.
    pub fn type_name(&self) -> String {
        let said = serde_json::to_value(self.array.metadata()).unwrap_or_default();
        said["data_type"].as_str().map_or_else(|| said["data_type"].to_string(), str::to_owned)
    }

    /// Number of values on each axis, that of time too.
    pub fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    /// The extent of a file in cells.
    pub fn cells(&self) -> &[usize] {
        &self.file[..self.cell_axes]
    }

    /// The extent of a file on all axes but the first, if that is one of snapshots.
    pub fn file(&self, in_time: bool) -> Vec<usize> {
        self.grid.iter().skip(usize::from(in_time)).map(|n| n.get() as usize).collect()
    }

    /// Where a box of cells belongs, if its file has the values as they are here and their checksum behind them.
    pub fn plain(&self, snapshot: u64, cells: &Cells) -> Option<PathBuf> {
        (self.is_plain && cells.extent == self.cells()).then(|| self.file_at(&self.place(snapshot, cells)))
    }

    /// The place of a box of cells among the files.
    fn place(&self, snapshot: u64, cells: &Cells) -> Vec<u64> {
        let own = self.file.len() - self.cell_axes;
        let place = cells.start.iter().zip(&self.file).map(|(start, extent)| (start / extent) as u64);
        let time = self.in_time.then_some(snapshot);
        time.into_iter().chain(place).chain(std::iter::repeat_n(0, own)).collect()
    }

    /// Packs the values of a box of cells, which is a file or the part of one that lies in the array; says where they
    /// belong.
    pub fn pack(&self, snapshot: u64, cells: &Cells, bytes: &[u8]) -> Result<(PathBuf, Vec<u8>)> {
        let at = self.place(snapshot, cells);
        match cells.extent == self.cells() {
            true => self.pack_at(&at, bytes),
            false => self.pack_at(&at, &self.padded(&cells.extent, bytes)),
        }
    }

    fn file_at(&self, at: &[u64]) -> PathBuf {
        self.folder.join(self.array.chunk_key(at).as_str())
    }

    /// Packs all values of a file.
    pub fn pack_at(&self, at: &[u64], bytes: &[u8]) -> Result<(PathBuf, Vec<u8>)> {
        let path = self.file_at(at);
        let options = CodecOptions::default().with_concurrent_target(1);
        let (ty, fill) = (self.array.data_type(), self.array.fill_value());
        let packed = self.array.codecs().encode(ArrayBytes::new_flen(bytes), &self.grid, ty, fill, &options);
        let packed = packed.map_err(|e| {
            let (tried, advice) =
                (format!("pack {}", path.display()), "report this as a bug of tida, with the chunks that were chosen");
            Error::format(tried, e.to_string(), advice)
        })?;
        Ok((path, packed.into_owned()))
    }

    /// The values of a whole file of which a part lies in the array.
    fn padded(&self, extent: &[usize], bytes: &[u8]) -> Vec<u8> {
        let own: usize = self.file[self.cell_axes..].iter().product::<usize>() * self.size;
        let mut whole = vec![0; self.cells().iter().product::<usize>() * own];
        let last = extent.len() - 1;
        let row = extent[last] * own;
        for (number, from) in bytes.chunks_exact(row.max(1)).enumerate() {
            let (mut rest, mut at, mut stride) = (number, 0, self.file[last]);
            for d in (0..last).rev() {
                at += rest % extent[d] * stride;
                rest /= extent[d];
                stride *= self.file[d];
            }
            whole[at * own..][..row].copy_from_slice(from);
        }
        whole
    }

    /// The folder of a snapshot's files.
    pub fn folder_of(&self, snapshot: u64) -> PathBuf {
        self.folder.join(&self.path).join("c").join(snapshot.to_string())
    }

    /// The values of a box, in this machine's byte order. `whole`: a file that is missing is an error, and does not
    /// stand for zeros.
    pub fn read(&self, start: &[u64], extent: &[u64], whole: bool) -> Result<Vec<u8>> {
        let tried = || format!("read {:?} of {}", self.path, self.folder.display());
        let subset = ArraySubset::new_with_start_shape(start.to_vec(), extent.to_vec())
            .map_err(|e| Error::format(tried(), e.to_string(), "give as many axes as the array has"))?;
        if whole {
            let chunks = self.array.chunks_in_array_subset(&subset).ok().flatten();
            let lacks = |at: Vec<u64>| Some(self.file_at(&at)).filter(|file| !file.is_file());
            if let Some(file) =
                chunks.and_then(|chunks| (&chunks.indices()).into_iter().find_map(|at| lacks(at.to_vec())))
            {
                let found = format!("no file {}", file.display());
                return Err(Error::format(tried(), found, "take another snapshot, or the store from a copy"));
            }
        }
        let options = CodecOptions::default().with_concurrent_target(1);
        let read = self.array.retrieve_array_subset_opt::<ArrayBytes<'static>>(&subset, &options);
        let bytes = read.map_err(|e| {
            let found = format!("files that are damaged or cut short: {e}");
            Error::format(tried(), found, "take another snapshot, or the store from a copy")
        })?;
        let fixed = bytes.into_fixed().map_err(|e| Error::format(tried(), e.to_string(), "use numbers"))?;
        Ok(fixed.into_owned())
    }
}
