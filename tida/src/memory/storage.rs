//! The memory of an array's regions.

use std::alloc;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::backing::{Backing, Folder};
use super::coding::{Coding, Saturation};
use super::layout::WideLayout;
use super::packed::Apart;
use super::parts::LastCopies;
use super::residence::Residence;
use super::row::{Piece, Row};
use crate::error::{Error, ErrorKind};
use crate::memory::ghosts::owed::OwedGhosts;

/// Memory of every region of one array. Zeros at first, and no page is touched before it is used.
#[derive(Debug)]
pub(crate) struct Storage {
    blocks: Vec<Block>,
    /// Where each region starts in the device's memory, and where the last one ends.
    offsets: Vec<usize>,
    /// How they lie there instead, if they lie in one row.
    row: Option<Arc<Row>>,
    /// The row was asked to be taken apart, and it was.
    leaves_row: AtomicBool,
    apart: AtomicBool,
    residence: Residence,
    owed: OwedGhosts,
    /// The file that has the values in place of the host's memory, if there is one.
    backing: Option<Backing>,
    coding: Option<Arc<Coding>>,
    apart_of_frames: Apart,
    last_copies: LastCopies,
    saturated: Saturated,
}

/// Values that the formats of an array cannot hold.
#[derive(Debug, Default)]
struct Saturated {
    count: AtomicU64,
    /// How many of them a warning has told of.
    told: AtomicU64,
}

/// Memory of one region.
#[derive(Debug)]
struct Block {
    given: Given,
    /// First byte used.
    base: NonNull<u8>,
    /// Bytes used.
    bytes: usize,
}

/// Where a block's addresses come from.
#[derive(Debug)]
enum Given {
    /// There are none: elements without components.
    Nothing,
    /// The allocator, with this layout.
    Memory(NonNull<u8>, alloc::Layout),
    /// The system, so many bytes of pages: zeros, or addresses that nothing may access.
    #[cfg(unix)]
    Pages(NonNull<u8>, usize),
}

// SAFETY: the memory belongs to this value alone; who accesses it through `base` keeps writers apart.
unsafe impl Send for Storage {}
// SAFETY: as above; `&Storage` only gives out addresses.
unsafe impl Sync for Storage {}

/// Bytes of a page of the smallest size.
const PAGE: usize = 4096;
/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;

impl Storage {
    /// One block of `bytes` zeros for each entry of `sizes`, aligned to 128 bytes at least.
    pub(crate) fn new(sizes: impl ExactSizeIterator<Item = usize> + Clone) -> Result<Storage, Error> {
        let total = || sizes.clone().fold(0usize, usize::saturating_add);
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(sizes.len()).map_err(|_| out_of_memory(total(), 0))?;
        let stagger = next_stagger();
        let mut storage = Storage {
            blocks,
            offsets: device_offsets(sizes.clone()),
            row: None,
            leaves_row: AtomicBool::new(false),
            apart: AtomicBool::new(false),
            residence: Residence::default(),
            owed: OwedGhosts::default(),
            backing: None,
            coding: None,
            apart_of_frames: Apart::default(),
            last_copies: LastCopies::default(),
            saturated: Saturated::default(),
        };
        let mut had = 0;
        for bytes in sizes.clone() {
            match Block::new(bytes, stagger) {
                Some(block) => storage.blocks.push(block),
                None => return Err(out_of_memory(total(), had)),
            }
            had += bytes;
        }
        Ok(storage)
    }

    /// The same in a file of a folder: zeros, and no memory of the host.
    ///
    /// # Errors
    /// A disk without room.
    pub(crate) fn backed(
        folder: &Arc<Folder>,
        sizes: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Result<Storage, Error> {
        let backing = Backing::new(folder, sizes.clone())?;
        let mut storage = Storage::new(std::iter::empty())?;
        storage.offsets = device_offsets(sizes.clone());
        for bytes in sizes {
            storage.blocks.push(Block::elsewhere(bytes).ok_or_else(|| out_of_memory(bytes, 0))?);
        }
        storage.backing = Some(backing);
        Ok(storage)
    }

    /// The file that has its values, if they are in one. Then nothing may access what lies at [`base`](Self::base).
    pub(crate) fn backing(&self) -> Option<&Backing> {
        self.backing.as_ref()
    }

    /// The same memory, whose regions lie in a row on a device.
    pub(crate) fn in_row(mut self, row: Option<Arc<Row>>) -> Storage {
        self.row = row;
        self
    }

    /// The same memory, of an array that is coded.
    pub(crate) fn coded(mut self, coding: Option<Arc<Coding>>) -> Storage {
        self.coding = coding;
        self
    }

    /// Whether memory holds values, and what moves between host and device is packed: as codes of
    /// [`coding`](Self::coding), which there is then, and without loss where it has no codecs.
    pub(crate) fn packs(&self) -> bool {
        self.coding.as_ref().is_some_and(|coding| coding.packs())
    }

    /// How it is coded, if it is.
    pub(crate) fn coding(&self) -> Option<&Arc<Coding>> {
        self.coding.as_ref()
    }

    /// How, if memory holds codes.
    pub(crate) fn codes(&self) -> Option<&Arc<Coding>> {
        self.coding.as_ref().filter(|_| !self.packs())
    }

    /// How, if memory holds values that a store rounds.
    pub(crate) fn rounds(&self) -> Option<&Arc<Coding>> {
        self.coding.as_ref().filter(|coding| coding.rounds())
    }

    /// Counts values that saturated as they were written.
    ///
    /// # Errors
    /// Some did, and the array is one of [`Saturation::Error`].
    pub(crate) fn saturate(&self, values: u64, tried: impl FnOnce() -> String) -> Result<(), Error> {
        let Some(coding) = self.coding.as_ref().filter(|_| values > 0) else { return Ok(()) };
        self.saturated.count.fetch_add(values, Ordering::Relaxed);
        if coding.saturation != Saturation::Error {
            return Ok(());
        }
        let formats: Vec<String> = coding.formats.iter().map(|format| format!("`{format}`")).collect();
        let of =
            if formats.iter().all(|format| *format == formats[0]) { formats[0].clone() } else { formats.join(", ") };
        Err(Error::new(
            ErrorKind::OutOfRange,
            tried(),
            format!("{values} values that the format of an array, {of}, cannot hold"),
            "give it a wider range or another format, or build it with `.saturation(Saturation::Warn)`",
        ))
    }

    /// Values that saturated so far.
    pub(crate) fn saturated(&self) -> u64 {
        self.saturated.count.load(Ordering::Relaxed)
    }

    /// Warns of values that saturated since the last warning.
    pub(crate) fn warn(&self) {
        let Some(coding) = &self.coding else { return };
        let saturated = self.saturated();
        if coding.saturation == Saturation::Warn && self.saturated.told.swap(saturated, Ordering::Relaxed) < saturated {
            tracing::warn!(values = saturated, element = %coding.value, "values that the formats of an array cannot hold");
        }
    }

    /// The row, for arrays of the same layout, which share index arithmetic with it.
    pub(crate) fn shared_row(&self) -> Option<Arc<Row>> {
        self.row.clone()
    }

    /// Where regions lie on the device now, if in a row. Only for work that runs.
    pub(crate) fn row(&self) -> Option<&Row> {
        self.row.as_deref().filter(|_| !self.apart.load(Ordering::Relaxed))
    }

    /// Whether regions lie in a row on the device for work that is recorded now.
    pub(crate) fn stays_in_row(&self) -> bool {
        self.row.is_some() && !self.leaves_row.load(Ordering::Relaxed)
    }

    /// Says that work recorded from now on finds regions apart; `true` if they were in a row.
    pub(crate) fn leave_row(&self) -> bool {
        self.row.is_some() && !self.leaves_row.swap(true, Ordering::Relaxed)
    }

    /// Says that regions lie apart. The device has no memory of the array.
    pub(crate) fn take_apart(&self) {
        self.leaves_row.store(true, Ordering::Relaxed);
        self.apart.store(true, Ordering::Relaxed);
    }

    /// The regions as kernels find them on the device, of an array of this layout.
    pub(crate) fn on_device_as<'a>(&'a self, layout: &'a Arc<WideLayout>) -> &'a Arc<WideLayout> {
        self.row().map_or(layout, |row| &row.layout)
    }

    /// A region's bytes on both sides. Of a row its `ghosts` between regions too, or not.
    pub(super) fn pieces(&self, region: usize, ghosts: bool) -> SmallVec<[Piece; 4]> {
        match self.row() {
            Some(row) => row.pieces(region, ghosts),
            None => {
                let (device, bytes) = (self.offsets[region], self.bytes(region));
                smallvec::smallvec![Piece { host: 0, device, bytes }]
            }
        }
    }

    /// Where a value of a region is on the device, in bytes: number `value` of the component of `size` bytes after
    /// `before` others, of which each has `cells` values.
    pub(crate) fn place(&self, region: usize, cells: usize, (before, size): (usize, usize), value: usize) -> usize {
        match self.row() {
            Some(row) => row.place(region, before, size, value),
            None => self.offsets[region] + cells * before + value * size,
        }
    }

    /// Values of a component that both sides have of a region, where the host has `cells`.
    pub(crate) fn cells_of(&self, region: usize, cells: usize) -> usize {
        self.row().map_or(cells, |row| row.cells_of(region))
    }

    /// First byte of a region's first plane.
    pub(crate) fn base(&self, region: usize) -> *mut u8 {
        self.blocks[region].base.as_ptr()
    }

    /// Number of regions.
    pub(crate) fn regions(&self) -> usize {
        self.blocks.len()
    }

    /// Bytes of a region's block.
    pub(crate) fn bytes(&self, region: usize) -> usize {
        self.blocks[region].bytes
    }

    /// Where a region starts in the device's memory, in bytes.
    pub(crate) fn offset(&self, region: usize) -> usize {
        self.row().map_or(self.offsets[region], |row| row.offset(region))
    }

    /// Most bytes that all regions take on the device.
    pub(crate) fn device_bytes(&self) -> usize {
        let apart = self.offsets.last().copied().unwrap_or(0);
        self.row.as_ref().map_or(apart, |row| row.bytes().max(apart))
    }

    pub(super) fn apart_of(&self) -> &Apart {
        &self.apart_of_frames
    }

    pub(super) fn last_copies(&self) -> &LastCopies {
        &self.last_copies
    }

    pub(super) fn owed(&self) -> &OwedGhosts {
        &self.owed
    }

    pub(super) fn residence(&self) -> &Residence {
        &self.residence
    }
}

/// Where each region of an array starts in the device's memory, and where the last one ends: one after the other,
/// aligned to 256 bytes.
pub(crate) fn device_offsets(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut end = 0usize;
    let mut offsets = vec![0];
    for bytes in sizes {
        end = end.saturating_add(bytes.saturating_add(255) / 256 * 256);
        offsets.push(end);
    }
    offsets
}

/// Where in a page the next array starts.
///
/// Arrays that start at the same offset of a page make a load of one wait for the store just done to the other
/// (the CPU compares the low 12 bits first), so successive arrays start as far apart as can be: 0, 2048, 1024, ...
fn next_stagger() -> usize {
    static ARRAYS: AtomicUsize = AtomicUsize::new(0);
    let n = ARRAYS.fetch_add(1, Ordering::Relaxed) as u8;
    ((n.reverse_bits() >> 5) as usize) * (PAGE / 8)
}

impl Block {
    /// A block of values that are in no memory of the host. Its addresses are the array's alone, and nothing may access
    /// them: whoever takes them for memory is stopped, and does not meet what belongs to others.
    fn elsewhere(bytes: usize) -> Option<Block> {
        let (given, base) = pages(bytes, false)?;
        Some(Block { given, base, bytes })
    }

    /// Zeroed memory. Much of it comes from the system, whose zeroed pages cost nothing until touched: an allocator
    /// that was given as much back sets what it keeps to zero by hand. Of less the allocator's own zeroed pages are
    /// used. Both take small alignments only, so the base is aligned here.
    fn new(bytes: usize, stagger: usize) -> Option<Block> {
        if bytes == 0 {
            let base = NonNull::<Line>::dangling().cast();
            return Some(Block { given: Given::Nothing, base, bytes });
        }
        // The page of the last byte is the block's alone too: pages are pinned as a whole, and a copy of whoever else
        // would have a part in one fails.
        let (align, stagger, after) = match bytes {
            0..0x4000 => (128, 0, 0),
            0x4000..0x40_0000 => (PAGE, stagger, PAGE),
            _ => (HUGE_PAGE, stagger, PAGE),
        };
        let all = bytes.checked_add(align + stagger + after)?;
        let (owner, given) = if cfg!(unix) && align == HUGE_PAGE { pages(all, true)? } else { zeroed(all)? };
        let skip = given.as_ptr().addr().next_multiple_of(align) - given.as_ptr().addr() + stagger;
        // SAFETY: skip < align + stagger, which the allocation has beyond `bytes`.
        let base = unsafe { given.add(skip) };
        if align == HUGE_PAGE {
            // SAFETY: these bytes belong to the allocation.
            unsafe { ask_for_huge_pages(base, bytes) };
        }
        Some(Block { given: owner, base, bytes })
    }
}

/// Zeros of the allocator.
fn zeroed(bytes: usize) -> Option<(Given, NonNull<u8>)> {
    let layout = alloc::Layout::from_size_align(bytes.max(1), 16).ok()?;
    // SAFETY: the size is not 0.
    let given = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?;
    Some((Given::Memory(given, layout), given))
}

/// Pages of the system for so many bytes: zeros, or addresses that nothing may access.
#[cfg(unix)]
fn pages(bytes: usize, accessed: bool) -> Option<(Given, NonNull<u8>)> {
    let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
    let (access, reserved) = match accessed {
        true => (libc::PROT_READ | libc::PROT_WRITE, 0),
        false => (libc::PROT_NONE, libc::MAP_NORESERVE),
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | reserved;
    // SAFETY: new addresses, which the system chooses.
    let given = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    let base = NonNull::new(given.cast::<u8>()).filter(|_| given != libc::MAP_FAILED)?;
    Some((Given::Pages(base, bytes), base))
}

/// No array lies in a file there, and the allocator has all zeros.
#[cfg(not(unix))]
fn pages(_: usize, _: bool) -> Option<(Given, NonNull<u8>)> {
    None
}

/// Asks for huge pages where the system gives them on request: a sweep over several planes then misses fewer address
/// translations. Only a hint.
///
/// # Safety
/// `bytes` bytes from `base` on belong to the caller.
unsafe fn ask_for_huge_pages(base: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        let start = base.as_ptr().addr().next_multiple_of(PAGE) - base.as_ptr().addr();
        if bytes > start {
            // SAFETY: whole pages of the caller's memory; the advice changes no byte of it.
            unsafe { libc::madvise(base.as_ptr().add(start).cast(), bytes - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (base, bytes);
}

/// Something as aligned as planes are.
#[repr(align(128))]
struct Line;

impl Drop for Storage {
    fn drop(&mut self) {
        self.residence.unpin();
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match self.given {
            Given::Nothing => {}
            // SAFETY: allocated with this layout, and freed once.
            Given::Memory(given, layout) => unsafe { alloc::dealloc(given.as_ptr(), layout) },
            // SAFETY: mapped with these bytes, and given back once.
            #[cfg(unix)]
            Given::Pages(given, bytes) => drop(unsafe { libc::munmap(given.as_ptr().cast(), bytes) }),
        }
    }
}

fn out_of_memory(total: usize, had: usize) -> Error {
    Error::new(
        ErrorKind::Memory,
        format!("allocate {total} bytes for the regions of an array"),
        format!("that the system refused after {had} of them"),
        "use a smaller array or element type, or free other arrays first",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zero_and_aligned() {
        let sizes = [0usize, 1, 128, 0x4000, 0x3f_ffff, 0x40_0000, 5 << 20];
        // Miri looks at each byte.
        let few = if cfg!(miri) { 4 } else { sizes.len() };
        for bytes in sizes.into_iter().take(few) {
            let storage = Storage::new([bytes, bytes].into_iter()).unwrap();
            for region in 0..2 {
                let base = storage.base(region);
                assert_eq!(base.addr() % 128, 0);
                // SAFETY: the block has that many bytes.
                let all = unsafe { std::slice::from_raw_parts_mut(base, bytes) };
                assert!(all.iter().all(|b| *b == 0));
                all.fill(0xff);
            }
        }
    }

    /// Arrays for a moment are made again and again: none may touch its pages, whatever others have left.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn large_blocks_have_no_pages_at_first() {
        const BYTES: usize = 6 << 20;
        let mut between = Vec::new();
        for _ in 0..4 {
            let blocks = [(); 2].map(|()| Block::new(BYTES, 0).unwrap());
            // Keeps an allocator from giving back what lies below.
            between.push(vec![1u8; 300]);
            for block in &blocks {
                let mut resident = vec![0u8; BYTES / PAGE];
                // SAFETY: the block has these pages, and the list an entry for each.
                let code = unsafe { libc::mincore(block.base.as_ptr().cast(), BYTES, resident.as_mut_ptr()) };
                assert_eq!(code, 0);
                assert_eq!(resident.iter().filter(|page| **page & 1 != 0).count(), 0);
                // SAFETY: the block has that many bytes.
                unsafe { block.base.as_ptr().write_bytes(1, BYTES) };
            }
        }
    }

    #[test]
    fn pages_of_what_is_pinned_are_the_blocks_own() {
        for bytes in [0x1_0000usize, 0x1_0001, 0x40_0000, 0x40_0001] {
            for stagger in [0, PAGE / 2] {
                let block = Block::new(bytes, stagger).unwrap();
                let (given, all) = match block.given {
                    Given::Memory(given, layout) => (given, layout.size()),
                    #[cfg(unix)]
                    Given::Pages(given, all) => (given, all),
                    Given::Nothing => panic!("no memory"),
                };
                let (first, end) = (given.addr().get(), given.addr().get() + all);
                let (from, to) = (block.base.addr().get(), block.base.addr().get() + bytes);
                assert!(first <= from / PAGE * PAGE && to.next_multiple_of(PAGE) <= end, "{bytes} {stagger}");
            }
        }
    }

    #[test]
    fn successive_arrays_start_apart() {
        let seen: std::collections::HashSet<_> = (0..8).map(|_| next_stagger()).collect();
        assert!(seen.iter().all(|s| s % 128 == 0 && *s < PAGE));
        assert!(seen.len() >= 2);
    }

    #[test]
    fn too_much_is_an_error() {
        let e = Storage::new([isize::MAX as usize - 64].into_iter()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory);
        assert!(e.tried().contains(&(isize::MAX as usize - 64).to_string()), "{e}");
    }
}
